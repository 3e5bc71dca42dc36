package figure

import "runtime"

const mebi = 1 << 20

// retained returns the size of the used heap after a garbage collection, in MiB.
func retained() float64 {
	runtime.GC()
	runtime.GC() // frees objects with finalizers and in pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / mebi
}

// allocations returns the total size of all allocations, in MiB.
func allocations() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.TotalAlloc) / mebi
}
