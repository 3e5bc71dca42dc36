package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryTarget is how much memory may be in use before it is worth the time to find what is not needed any more.
const memoryTarget = 256 << 20

// boundMemory makes the garbage collector, which leaves short runs alone, work harder for very large packages: up to
// memoryTarget it has no say, and from there on half of what is needed may be in use besides. A limit of the user's is
// left as it is.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
		afterCollection()
	}
}

// afterCollection sets the limit anew after every garbage collection. A limit that is less than what is needed would keep
// the collector busy all the time.
func afterCollection() {
	runtime.AddCleanup(new([32]byte), func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		needed := int64(live[0].Value.Uint64())
		debug.SetMemoryLimit(max(memoryTarget, needed+needed/2))
		afterCollection()
	}, struct{}{})
}
