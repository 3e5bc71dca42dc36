package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// processAttributes ties a process to this one, or gives it a session of its own.
func processAttributes(attached bool) *syscall.SysProcAttr {
	if attached {
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

// startTime tells a process from another that got the same pid later: the time it started, in the kernel's ticks.
func startTime(pid int) (string, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is the name in parentheses, which may hold anything.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	const state, start = 0, 19
	if end < 0 || len(fields) <= start || fields[state] == "Z" {
		return "", false
	}
	return fields[start], true
}
