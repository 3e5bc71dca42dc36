package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryTarget is the memory use in bytes above which garbage is collected more often.
const memoryTarget = 192 << 20

// The heap grows by gcPercent between collections, because most commands end before memory matters. Below smallHeap of
// live data, collections cost almost no time, so the heap grows only half as much.
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

// bound sets the parameters of the collector for a number of live bytes. A lower limit would make it run constantly.
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

// afterCollection adjusts the limit after every garbage collection.
func (m memory) afterCollection() {
	runtime.AddCleanup(new([32]byte), func(m memory) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		m.bound(int64(live[0].Value.Uint64()))
		m.afterCollection()
	}, m)
}
