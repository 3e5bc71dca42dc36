package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	if got := median([]time.Duration{9, 1, 5}); got != 5 {
		t.Errorf("median is %d, want 5", got)
	}
}

func TestResidentMemory(t *testing.T) {
	bytes, err := residentMemory(os.Getpid())
	if err != nil || bytes < 1<<20 || bytes > 1<<32 {
		t.Errorf("resident memory is %d, %v", bytes, err)
	}
	if _, err := residentMemory(1 << 30); err == nil {
		t.Error("a process that does not exist has memory")
	}
}

func TestTableHasRatios(t *testing.T) {
	var out strings.Builder
	printTable(&out,
		figures{coldBuild: 20 * time.Second, packages: 300, binary: 10 << 20, idle: 20 << 20},
		figures{coldBuild: 80 * time.Second, packages: 1000, binary: 50 << 20, idle: 40 << 20})
	for _, row := range []string{
		"| cold build, s | 20.0 | 80.0 | 0.25 |", "| packages in `go list -deps` | 300 | 1000 | 0.30 |",
		"| stripped binary, MiB | 10.0 | 50.0 | 0.20 |", "| idle RSS, MiB | 20.0 | 40.0 | 0.50 |",
	} {
		if !strings.Contains(out.String(), row+"\n") {
			t.Errorf("no row %s in:\n%s", row, out.String())
		}
	}
}
