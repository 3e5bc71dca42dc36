package figure

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const mebi = 1 << 20

// cpu returns how much of the processors this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

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

// memory returns a line of the kernel's account of this process, such as VmRSS, in MiB.
func memory(line string) (float64, error) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if rest, ok := strings.CutPrefix(scanner.Text(), line+":"); ok {
			kibi, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return float64(kibi) / 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in %s", line, file.Name())
}

// forgetPeak makes VmHWM what VmRSS is now.
func forgetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
