package figure

import "runtime"

const mebi = 1 << 20

// retained returns the MiB of the heap that are in use after a collection.
func retained() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held on to
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / mebi
}

// allocations returns the MiB that were ever allocated.
func allocations() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.TotalAlloc) / mebi
}
