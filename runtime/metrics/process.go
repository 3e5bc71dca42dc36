package metrics

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// RegisterProcess adds the metrics of this process to r, under the names that Prometheus dashboards expect: goroutines,
// memory, garbage collection and start time. On Linux, it also adds processor time, resident memory and open files.
func RegisterProcess(r *Registry) {
	r.Gauge("go_info", "Always 1; the label is the Go version.", "version").Set(1, runtime.Version())
	r.GaugeFunc("go_goroutines", "Number of goroutines.", func() float64 { return float64(runtime.NumGoroutine()) })
	r.GaugeFunc("go_sched_gomaxprocs_threads", "Maximum number of threads that run Go code at the same time.",
		func() float64 { return float64(runtime.GOMAXPROCS(0)) })
	r.GaugeFunc("go_memstats_heap_alloc_bytes", "Bytes of heap objects, live or not yet collected.",
		runtimeMetric("/memory/classes/heap/objects:bytes"))
	r.GaugeFunc("go_memstats_sys_bytes", "Bytes of memory obtained from the operating system.",
		runtimeMetric("/memory/classes/total:bytes"))
	r.CounterFunc("go_memstats_alloc_bytes_total", "Bytes of heap objects allocated since the start of the process.",
		runtimeMetric("/gc/heap/allocs:bytes"))
	r.CounterFunc("go_gc_cycles_total_gc_cycles_total", "Garbage collections completed since the start of the process.",
		runtimeMetric("/gc/cycles/total:gc-cycles"))
	registerProc(r, os.DirFS("/proc"))
}

// runtimeMetric returns a function that reads an integer of the standard library's runtime/metrics.
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

// ticksPerSecond is the unit of processor times in /proc. It is the same on every architecture that Go supports.
const ticksPerSecond = 100

// Fields of /proc/self/stat, counted from the first after the command's name, which may contain blanks.
const (
	statUserTicks   = 11
	statSystemTicks = 12
	statStartTicks  = 19
	statPages       = 21
)

var errProcFormat = errors.New("unexpected format")

// registerProc adds the metrics of the proc file system. If there is no such file system, it adds only the start time,
// which is then the time of the call.
func registerProc(r *Registry, proc fs.FS) {
	const startName, startHelp = "process_start_time_seconds", "Start time of the process, as a Unix time in seconds."
	start, err := processStart(proc)
	if err != nil {
		r.Gauge(startName, startHelp).Set(float64(time.Now().Unix()))
		return
	}
	r.Gauge(startName, startHelp).Set(start)
	r.CounterFunc("process_cpu_seconds_total", "CPU time of the process in user and system mode, in seconds.",
		func() float64 {
			fields, _ := statFields(proc, statUserTicks, statSystemTicks)
			return (fields[0] + fields[1]) / ticksPerSecond
		})
	r.GaugeFunc("process_resident_memory_bytes", "Resident memory of the process, in bytes.", func() float64 {
		fields, _ := statFields(proc, statPages)
		return fields[0] * float64(os.Getpagesize())
	})
	r.GaugeFunc("process_open_fds", "Number of open files of the process.", func() float64 {
		entries, _ := fs.ReadDir(proc, "self/fd")
		return float64(len(entries))
	})
}

// processStart returns the start time of this process in seconds since the epoch: boot time plus ticks from boot.
func processStart(proc fs.FS) (float64, error) {
	fields, err := statFields(proc, statStartTicks)
	if err != nil {
		return 0, err
	}
	text, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if boot, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(boot), 64)
			return seconds + fields[0]/ticksPerSecond, err
		}
	}
	return 0, errProcFormat
}

// statFields returns the given fields of self/stat. If it fails, it returns zeros and an error.
func statFields(proc fs.FS, indexes ...int) ([]float64, error) {
	values := make([]float64, len(indexes))
	text, err := fs.ReadFile(proc, "self/stat")
	if err != nil {
		return values, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for i, index := range indexes {
		if index >= len(fields) {
			return values, errProcFormat
		}
		if values[i], err = strconv.ParseFloat(fields[index], 64); err != nil {
			return values, err
		}
	}
	return values, nil
}
