package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

const quit = syscall.SIGQUIT

// cpuOf returns the CPU seconds of a process and of its children that have ended.
func cpuOf(pid int) (seconds float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return 0, false
	}
	const ticksPerSecond = 100            // USER_HZ, the same on all architectures that Go runs on
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseFloat(string(field), 64)
		if err != nil {
			return 0, false
		}
		seconds += ticks / ticksPerSecond
	}
	return seconds, true
}

// childrenCPU returns the CPU seconds of all processes for which this one waited, and of the processes for which those
// waited.
func childrenCPU() (seconds float64, ok bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		return 0, false
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, true
}
