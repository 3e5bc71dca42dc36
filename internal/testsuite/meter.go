package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// meter attributes the CPU time of a test binary to its tests. It uses the lines that the binary prints when tests
// begin, pause and end. Tests that run at the same time share the time equally.
type meter struct {
	pid     atomic.Int64 // pid of the test binary; 0 before it runs
	line    []byte       // the last, incomplete line
	out     io.Writer
	last    float64 // CPU seconds at the last event
	read    time.Time
	running []string           // running tests, without paused tests; a test precedes its subtests
	costs   map[string]float64 // CPU seconds, by test with at most one subtest
}

// through returns a writer that copies the output of the test binary to out, and measures the tests.
func (m *meter) through(out io.Writer) io.Writer {
	m.out = out
	return m
}

func (m *meter) Write(b []byte) (int, error) {
	for chunk := range bytes.Lines(b) {
		m.line = append(m.line, chunk...)
		if bytes.HasSuffix(m.line, []byte("\n")) {
			m.observe(strings.TrimLeft(string(m.line), "\x16 "))
			m.line = m.line[:0]
		}
	}
	return m.out.Write(b)
}

// observe handles a line such as "=== RUN   TestA/b" or "--- PASS: TestA/b (0.01s)".
func (m *meter) observe(line string) {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "===" && words[0] != "---" {
		return
	}
	name := words[2]
	switch words[1] {
	case "RUN", "CONT":
		m.attribute()
		m.running = append(m.running, name)
	case "PAUSE", "PASS:", "FAIL:", "SKIP:":
		m.attribute()
		m.drop(name)
	}
}

func (m *meter) drop(name string) {
	if i := slices.Index(m.running, name); i >= 0 {
		m.running = slices.Delete(m.running, i, i+1)
	}
}

// attribute adds the time since the last event to the running tests.
func (m *meter) attribute() {
	if time.Since(m.read) < 5*time.Millisecond { // a clock tick is 10 ms
		return
	}
	m.read = time.Now()
	now, ok := cpuOf(int(m.pid.Load()))
	if !ok {
		return
	}
	var leaves []string
	for _, name := range m.running {
		if !m.hasSubtest(name) {
			leaves = append(leaves, name)
		}
	}
	for _, name := range leaves {
		m.costs[unit(name)] += (now - m.last) / float64(len(leaves))
	}
	m.last = now
}

func (m *meter) hasSubtest(name string) bool {
	return slices.ContainsFunc(m.running, func(other string) bool { return strings.HasPrefix(other, name+"/") })
}

// unit returns the test to which the limit applies: a test function, or one of its subtests.
func unit(name string) string {
	parts := strings.SplitN(name, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

// all returns the cost of a package, and of its tests.
func (m *meter) all(whole cost) []cost {
	costs := []cost{whole}
	for test, cpu := range m.costs {
		if cpu >= 0.1 {
			costs = append(costs, cost{Step: whole.Step, Package: whole.Package, Test: test, CPU: cpu})
		}
	}
	return costs
}
