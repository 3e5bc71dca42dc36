// Package process reads the resource usage of processes from the kernel.
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

// CPU returns the user and system time of this process.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// CPUOf returns the user and system time of another process.
func CPUOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(data), ") ") // skips the name, which may contain spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("the account of process %d has %d fields", pid, len(fields))
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // unit of /proc/PID/stat
	return time.Duration(user+system) * tick, err
}

// Lines of /proc/PID/status.
const (
	Resident = "VmRSS" // now
	Peak     = "VmHWM" // maximum so far
)

// Memory returns a line of /proc/PID/status in MiB. PID 0 means this process.
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

// ForgetPeak resets the peak of this process to its current resident memory.
func ForgetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
