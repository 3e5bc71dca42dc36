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

// noLimit is the limit that an unlimited control group of version 1 reports: the largest number of whole pages.
const noLimit = math.MaxInt64 &^ (1<<16 - 1)

// LimitMemory sets the memory limit of the garbage collector to nine tenths of the limit of the process's control
// group, unless $GOMEMLIMIT is set, and logs it.
func LimitMemory(logger *slog.Logger) {
	limitMemory(os.DirFS("/"), os.LookupEnv, debug.SetMemoryLimit, logger)
}

// limitMemory implements LimitMemory. With the limit, collections become frequent before the kernel kills the process.
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

// memoryLimit returns the lowest memory limit of the process's control group, of version 1 or 2, and its parents.
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
	// trimEvery is the interval between checks, and the minimum interval between collections that a trimmer causes.
	trimEvery = 20 * time.Second
	// quietShare defines a quiet process: between two checks, it allocates at most 1/quietShare of the live heap.
	quietShare = 8
	// spareShare defines how much memory must be spare to justify a collection: at least 1/spareShare of the live heap.
	spareShare = 4
	// leastSpare is the minimum spare memory that justifies a collection.
	leastSpare = 4 << 20
)

// heapState is the state of the process's heap, in bytes.
type heapState struct {
	live      uint64 // found by the last collection
	held      uint64 // obtained from the system and not returned, in use or not
	allocated uint64 // since the process started
}

// trimmer returns memory to the system when the process is quiet. After a busy period, Go keeps up to about twice the
// live heap for the next busy period, but an operator is busy for seconds at its start and then quiet for days.
type trimmer struct {
	read func() heapState
	trim func()
}

// TrimMemory returns a runnable that returns unused memory to the operating system after a busy period of the process.
func TrimMemory() Runnable { return &trimmer{read: readHeap, trim: debug.FreeOSMemory} }

// Run trims until ctx ends. Each trim is a garbage collection. Therefore Run trims only when the process allocates
// little, much memory is spare, and the process has allocated enough since the last trim for a trim to have an effect.
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

func (*trimmer) NeedLeaderElection() bool { return false }
func (*trimmer) Name() string             { return "memory trimmer" }

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
