package metrics

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// statLine is the content of /proc/self/stat for a command whose name looks like further fields.
const statLine = "42 (op) S 1 (x) S 1 42 42 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 8 0 5000 1000000 300 " +
	"18446744073709551615\n"

func TestProcessMetricsAreReadFromProc(t *testing.T) {
	r := NewRegistry()
	registerProc(r, fstest.MapFS{
		"self/stat": {Data: []byte(statLine)},
		"self/fd/0": {}, "self/fd/1": {}, "self/fd/2": {},
		"stat": {Data: []byte("cpu 1 2 3\nbtime 1786000000\nprocesses 7\n")},
	})
	got := text(t, r)
	for _, want := range []string{"process_start_time_seconds 1786000050\n", "process_cpu_seconds_total 4\n",
		"process_open_fds 3\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if r.Gauge("process_resident_memory_bytes", "").Value() < 300*4096 {
		t.Errorf("resident memory is wrong in\n%s", got)
	}
}

func TestWithoutProcTheStartTimeIsLeft(t *testing.T) {
	for name, proc := range map[string]fstest.MapFS{
		"none":      {},
		"cut short": {"self/stat": {Data: []byte("42 (op) S 1")}},
		"no btime":  {"self/stat": {Data: []byte(statLine)}, "stat": {}},
	} {
		r := NewRegistry()
		registerProc(r, proc)
		if age := float64(time.Now().Unix()) - r.Gauge("process_start_time_seconds", "").Value(); age < 0 || age > 60 {
			t.Errorf("%s: started %v s ago", name, age)
		}
		if strings.Contains(text(t, r), "process_cpu") {
			t.Errorf("%s: processor time is made up", name)
		}
	}
}

func TestProcessMetricsOfThisProcess(t *testing.T) {
	r := NewRegistry()
	RegisterProcess(r)
	if got := r.Gauge("go_goroutines", "").Value(); got < 1 {
		t.Errorf("%v goroutines", got)
	}
	for _, name := range []string{"go_memstats_heap_alloc_bytes", "go_memstats_sys_bytes", "go_sched_gomaxprocs_threads"} {
		if r.Gauge(name, "").Value() <= 0 {
			t.Errorf("%s is zero", name)
		}
	}
	if !strings.Contains(text(t, r), `go_info{version="go`) {
		t.Error("no Go version")
	}
	if age := time.Since(time.Unix(int64(r.Gauge("process_start_time_seconds", "").Value()), 0)); age < -time.Minute ||
		age > time.Hour {
		t.Errorf("this process started %s ago", age)
	}
}
