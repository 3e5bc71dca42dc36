package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryTarget is the memory use, in bytes, above which the collector runs more often.
const memoryTarget = 192 << 20

// The heap grows by gcPercent between collections, because most commands end before their memory use matters. If the
// live data is smaller than smallHeap, collections take almost no time, so the heap grows by smallPercent only.
const (
	gcPercent    = 400
	smallHeap    = 12 << 20
	smallPercent = 50
)

// boundMemory limits the memory that very large packages need. Below memoryTarget, only the percentage applies. Above
// it, garbage may use at most half as much memory as live data. The variables GOGC and GOMEMLIMIT take precedence.
func boundMemory() {
	m := memory{percent: os.Getenv("GOGC") == "", limit: os.Getenv("GOMEMLIMIT") == ""}
	m.bound(0)
	m.afterCollection()
}

// memory records which settings of the collector kctrl may change.
type memory struct{ percent, limit bool }

// bound sets the parameters of the collector for a number of live bytes. With a lower limit, the collector would run
// constantly.
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

// afterCollection adjusts the parameters after each garbage collection.
func (m memory) afterCollection() {
	runtime.AddCleanup(new([32]byte), func(m memory) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		m.bound(int64(live[0].Value.Uint64()))
		m.afterCollection()
	}, m)
}
