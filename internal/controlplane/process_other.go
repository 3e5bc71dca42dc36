//go:build !linux

package controlplane

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes ties a process to this one's group, or gives it a session of its own.
func processAttributes(attached bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: !attached, Setpgid: attached}
}

// startTime tells a process from another that got the same pid later.
func startTime(pid int) (string, bool) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, start, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strings.TrimSpace(start), err == nil && !strings.HasPrefix(state, "Z")
}
