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

// CPUOf is the same of another process.
func CPUOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(data), ") ") // what follows the name, which may have spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("the account of process %d has %d fields", pid, len(fields))
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // which is that of the kernel's accounts
	return time.Duration(user+system) * tick, err
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
