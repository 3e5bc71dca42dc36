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

// noLimit is what control groups of version 1 say when there is none; it is the largest number of whole pages.
const noLimit = math.MaxInt64 &^ (1<<16 - 1)

// LimitMemory tells the garbage collector to keep to nine tenths of the memory that the control group of the process
// may have, unless $GOMEMLIMIT says otherwise, and logs what it has set.
func LimitMemory(logger *slog.Logger) {
	limitMemory(os.DirFS("/"), os.LookupEnv, debug.SetMemoryLimit, logger)
}

// limitMemory tells the garbage collector, by set, to keep to nine tenths of what the control group of the process
// allows, so that it works harder instead of letting the kernel kill the process. $GOMEMLIMIT stands over that.
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

// memoryLimit returns the smallest limit of the control group of this process and of those around it, of version 2 or
// 1.
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

const (
	// trimEvery is how often a trimmer looks, and so the shortest time between two collections that it causes.
	trimEvery = 20 * time.Second
	// quietShare is what part of the live heap a quiet process allocates between two looks at the most.
	quietShare = 8
	// spareShare is what part of the live heap must be spare for giving it back to be worth a collection.
	spareShare = 4
	// leastSpare is what is not worth a collection, however small the heap is.
	leastSpare = 4 << 20
)

// heapState is what the heap of the process looks like, in bytes.
type heapState struct {
	live      uint64 // found by the last collection
	held      uint64 // taken from the system and not given back, whether it is used or not
	allocated uint64 // since the process began
}

// trimmer gives memory back to the system once the process is quiet. Go keeps what a busy time took for the next one,
// up to about twice the live heap, and an operator is busy for seconds at its start and quiet for days.
type trimmer struct {
	read func() heapState
	trim func()
}

// TrimMemory returns a runnable that gives memory back to the system that a busy time took, once little is going on.
func TrimMemory() Runnable { return &trimmer{read: readHeap, trim: debug.FreeOSMemory} }

// Run trims until ctx ends. A trim is a collection, so there is one only when little is allocated, when much is spare,
// and when enough was allocated since the last that it would find something.
func (t *trimmer) Run(ctx context.Context) error {
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	last := t.read()
	trimmed := uint64(0) // what was allocated before the last trim
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

// NeedLeaderElection makes it run on every replica.
func (*trimmer) NeedLeaderElection() bool { return false }

// Name names it in logs.
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
