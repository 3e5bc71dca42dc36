//go:build unix

package simulator

import (
	"os/exec"
	"syscall"
)

// killGroup makes the end of the context kill a program with its children.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
