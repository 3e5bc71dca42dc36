package manager

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

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

// trimmer gives memory back to the system once the process is quiet. Go keeps what a busy time took for the next one, up
// to about twice the live heap, and an operator is busy for seconds at its start and quiet for days.
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
