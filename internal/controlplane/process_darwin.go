package controlplane

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes gives a process its own process group if attached is set, and otherwise its own session.
func processAttributes(attached bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: !attached, Setpgid: attached}
}

// processOf returns the process that has a pid now, if it belongs to the instance in dir.
func processOf(dir string, pid int) (Process, bool) {
	if pid <= 0 {
		return Process{}, false
	}
	found, err := listProcesses(dir, "-p", strconv.Itoa(pid))
	if err != nil || len(found) != 1 {
		return Process{}, false
	}
	return found[0], true
}

// processesOf returns the processes of the instance in dir, in start order.
func processesOf(dir string) ([]Process, error) {
	found, err := listProcesses(dir, "-ax")
	return inStartOrder(found), err
}

// startFields is the number of words in a start time in the output of ps, such as Sun Nov 22 02:31:49 2026.
const startFields = 5

// listProcesses lists processes with ps. ps prints an argument with spaces as several words, so partOfLine searches the
// whole line for a flag.
func listProcesses(dir string, which ...string) ([]Process, error) {
	args := append([]string{"-ww", "-o", "pid=,stat=,lstart=,command="}, which...)
	out, err := exec.Command("ps", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Process
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) <= 2+startFields || strings.HasPrefix(fields[1], "Z") {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		name := partOfLine(dir, strings.TrimSpace(line))
		if err == nil && name != "" {
			start := strings.Join(fields[2:2+startFields], " ")
			found = append(found, Process{Name: name, PID: pid, Start: start, Log: logOf(dir, name)})
		}
	}
	return found, nil
}

// partOfLine is like partOf for a command line in one string.
func partOfLine(dir, line string) string {
	for _, part := range parts {
		if strings.Contains(line+" ", " "+part.flag(dir)+" ") {
			return part.name
		}
	}
	return ""
}
