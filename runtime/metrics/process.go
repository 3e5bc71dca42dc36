package metrics

import (
	"os"
	"runtime"
	"runtime/metrics"
)

// RegisterProcess adds the metrics of this process to r, under the names that Prometheus dashboards expect: goroutines,
// memory, garbage collection, start time, and on Linux processor time, resident memory and open files.
func RegisterProcess(r *Registry) {
	r.Gauge("go_info", "Always 1; the label is the Go version.", "version").Set(1, runtime.Version())
	r.GaugeFunc("go_goroutines", "Goroutines that exist.", func() float64 { return float64(runtime.NumGoroutine()) })
	r.GaugeFunc("go_sched_gomaxprocs_threads", "Threads that run Go code at the same time, at most.", func() float64 { return float64(runtime.GOMAXPROCS(0)) })
	r.GaugeFunc("go_memstats_heap_alloc_bytes", "Bytes of heap objects, live or not yet collected.", runtimeMetric("/memory/classes/heap/objects:bytes"))
	r.GaugeFunc("go_memstats_sys_bytes", "Bytes of memory obtained from the operating system.", runtimeMetric("/memory/classes/total:bytes"))
	r.CounterFunc("go_memstats_alloc_bytes_total", "Bytes of heap objects allocated since the start.", runtimeMetric("/gc/heap/allocs:bytes"))
	r.CounterFunc("go_gc_cycles_total_gc_cycles_total", "Garbage collections completed since the start.", runtimeMetric("/gc/cycles/total:gc-cycles"))
	registerProc(r, os.DirFS("/proc"))
}

// runtimeMetric returns a function that reads one of the integers of the standard library's runtime/metrics.
func runtimeMetric(name string) func() float64 {
	return func() float64 {
		sample := []metrics.Sample{{Name: name}}
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return float64(sample[0].Value.Uint64())
	}
}
