package manager

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// noLimit is what control groups of version 1 say when there is none; it is the largest number of whole pages.
const noLimit = math.MaxInt64 &^ (1<<16 - 1)

// LimitMemory tells the garbage collector to keep to nine tenths of the memory that the control group of the process may
// have, unless $GOMEMLIMIT says otherwise, and logs what it has set.
func LimitMemory(logger *slog.Logger) {
	limitMemory(os.DirFS("/"), os.LookupEnv, debug.SetMemoryLimit, logger)
}

// limitMemory tells the garbage collector, by set, to keep to nine tenths of what the control group of the process allows,
// so that it works harder instead of letting the kernel kill the process. $GOMEMLIMIT stands over that.
func limitMemory(root fs.FS, env lookup, set func(int64) int64, logger *slog.Logger) {
	if value, _ := env("GOMEMLIMIT"); value != "" {
		return
	}
	allowed, found := memoryLimit(root)
	if !found {
		return
	}
	limit := allowed / 10 * 9
	set(limit)
	logger.Info("memory limit set", "bytes", limit, "cgroup", allowed)
}

// memoryLimit returns the smallest limit of the control group of this process and of those around it, of version 2 or 1.
func memoryLimit(root fs.FS) (limit int64, found bool) {
	content, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	limit = noLimit
	for line := range strings.Lines(string(content)) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case id == "0" && controllers == "":
			limit = min(limit, smallest(root, "sys/fs/cgroup", group, "memory.max"))
		case strings.Contains(","+controllers+",", ",memory,"):
			limit = min(limit, smallest(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
		}
	}
	return limit, limit < noLimit
}

// smallest returns the smallest number in a file of the folder group or above it. The folders themselves need not be
// there: a container sees only its own group, as the top.
func smallest(root fs.FS, top, group, file string) int64 {
	limit := int64(noLimit)
	for folder := path.Join("/", group); ; folder = path.Dir(folder) {
		content, err := fs.ReadFile(root, path.Join(top, folder, file))
		if number, parseErr := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil && parseErr == nil && number > 0 {
			limit = min(limit, number)
		}
		if folder == "/" {
			return limit
		}
	}
}
