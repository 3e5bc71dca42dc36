package manager

import (
	"context"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// noLimit is the limit of an unlimited control group of version 1: the largest number of whole pages.
const noLimit = math.MaxInt64 &^ (1<<16 - 1)

// LimitMemory sets the memory limit of the garbage collector to nine tenths of the limit of the process's control
// group, unless $GOMEMLIMIT is set, and logs it.
func LimitMemory(logger *slog.Logger) {
	limitMemory(os.DirFS("/"), os.LookupEnv, debug.SetMemoryLimit, logger)
}

// limitMemory calls set with nine tenths of the control group's limit, so that the garbage collector works harder
// before the kernel kills the process. $GOMEMLIMIT overrides it.
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

// memoryLimit returns the lowest limit of this process's control group and its parents, of version 2 or 1.
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

// smallest returns the lowest number in a file of the directory group or its parents. These directories need not exist:
// a container sees only its own group, as the root.
func smallest(root fs.FS, top, group, file string) int64 {
	limit := int64(noLimit)
	for folder := path.Join("/", group); ; folder = path.Dir(folder) {
		content, err := fs.ReadFile(root, path.Join(top, folder, file))
		if number, parseErr := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil && parseErr == nil &&
			number > 0 {
			limit = min(limit, number)
		}
		if folder == "/" {
			return limit
		}
	}
}

const (
	// trimEvery is the interval of checks, and the minimum interval of collections that a trimmer causes.
	trimEvery = 20 * time.Second
	// quietShare is the fraction of the live heap that a quiet process allocates at most between two checks.
	quietShare = 8
	// spareShare is the fraction of the live heap that must be spare to justify a collection.
	spareShare = 4
	// leastSpare is the minimum spare memory that justifies a collection.
	leastSpare = 4 << 20
)

// heapState is the state of the process's heap, in bytes.
type heapState struct {
	live      uint64 // found by the last collection
	held      uint64 // obtained from the system and not returned, whether used or not
	allocated uint64 // since the process started
}

// trimmer returns memory to the system once the process is quiet. Go keeps memory of a busy period for the next one, up
// to about twice the live heap. An operator is busy for seconds at its start and then quiet for days.
type trimmer struct {
	read func() heapState
	trim func()
}

// TrimMemory returns a runnable that returns memory of a busy period to the system, once the process is quiet.
func TrimMemory() Runnable { return &trimmer{read: readHeap, trim: debug.FreeOSMemory} }

// Run trims until ctx ends. A trim is a collection, so Run trims only when few bytes are allocated, much memory is
// spare, and enough was allocated since the last trim to expect a result.
func (t *trimmer) Run(ctx context.Context) error {
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	last := t.read()
	trimmed := uint64(0) // bytes allocated before the last trim
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := t.read()
		quiet := now.allocated-last.allocated <= now.live/quietShare
		least := max(now.live/spareShare, leastSpare)
		if quiet && now.held > now.live+least && now.allocated-trimmed >= least {
			t.trim()
			now = t.read()
			trimmed = now.allocated
		}
		last = now
	}
}

// NeedLeaderElection returns false, so that it runs on every replica.
func (*trimmer) NeedLeaderElection() bool { return false }

// Name returns the name in logs.
func (*trimmer) Name() string { return "memory trimmer" }

func readHeap() heapState {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	held := samples[1].Value.Uint64() + samples[2].Value.Uint64() + samples[3].Value.Uint64()
	return heapState{live: samples[0].Value.Uint64(), held: held, allocated: samples[4].Value.Uint64()}
}
