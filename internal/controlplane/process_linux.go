package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes makes the kernel kill a process when this one dies if attached is set, and otherwise gives it its
// own session.
func processAttributes(attached bool) *syscall.SysProcAttr {
	if attached {
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

// processOf returns the process that has a pid now, if it belongs to the instance in dir.
func processOf(dir string, pid int) (Process, bool) {
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || pid <= 0 {
		return Process{}, false
	}
	name := partOf(dir, strings.Split(string(command), "\x00"))
	start, running := startTime(pid)
	return Process{Name: name, PID: pid, Start: start, Log: logOf(dir, name)}, name != "" && running
}

// processesOf returns the processes of the instance in dir, in start order.
func processesOf(dir string) ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, ok := processOf(dir, pid); ok {
			found = append(found, p)
		}
	}
	return inStartOrder(found), nil
}

// startTime returns the start time of a process in clock ticks since boot. It distinguishes the process from a later
// one with the same pid.
func startTime(pid int) (string, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is the command name in parentheses, which may contain spaces and parentheses.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	const state, start = 0, 19
	if end < 0 || len(fields) <= start || fields[state] == "Z" {
		return "", false
	}
	return fields[start], true
}
