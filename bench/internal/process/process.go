// Package process asks the kernel what a process has used.
package process

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// CPU returns how much of the processors this process has used: user and system time.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// The lines of the kernel's account of the memory of a process.
const (
	Resident = "VmRSS" // now
	Peak     = "VmHWM" // the most that was resident so far
)

// Memory returns a line of the account of a process, in MiB. The process 0 is this one.
func Memory(pid int, line string) (float64, error) {
	path := "/proc/self/status"
	if pid != 0 {
		path = fmt.Sprintf("/proc/%d/status", pid)
	}
	file, err := os.Open(path)
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

// ForgetPeak makes the peak of this process what is resident now.
func ForgetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
