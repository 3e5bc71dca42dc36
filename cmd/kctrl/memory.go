package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryTarget is how much memory may be in use before it is worth the time to find what is not needed any more.
const memoryTarget = 192 << 20

// The garbage collector lets the heap grow by gcPercent of what is needed, as most commands are over before memory
// matters. As long as less than smallHeap is needed, finding that takes next to no time, and the heap grows by half as
// little as usual.
const (
	gcPercent    = 400
	smallHeap    = 12 << 20
	smallPercent = 50
)

// boundMemory limits the memory of very large packages: below memoryTarget the collector has no limit, and above it may
// keep half of the live heap as garbage. GOGC and GOMEMLIMIT take precedence.
func boundMemory() {
	m := memory{percent: os.Getenv("GOGC") == "", limit: os.Getenv("GOMEMLIMIT") == ""}
	m.bound(0)
	m.afterCollection()
}

// memory has the settings of the collector that kctrl may change.
type memory struct{ percent, limit bool }

// bound sets what the collector goes by when so many bytes are needed. A limit that is less would keep it busy all the
// time.
func (m memory) bound(needed int64) {
	if m.percent {
		percent := gcPercent
		if needed < smallHeap {
			percent = smallPercent
		}
		debug.SetGCPercent(percent)
	}
	if m.limit {
		debug.SetMemoryLimit(max(memoryTarget, needed+needed/2))
	}
}

// afterCollection sets the limit again after every garbage collection.
func (m memory) afterCollection() {
	runtime.AddCleanup(new([32]byte), func(m memory) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		m.bound(int64(live[0].Value.Uint64()))
		m.afterCollection()
	}, m)
}
