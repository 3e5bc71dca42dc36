//go:build unix

package simulator

import (
	"os/exec"
	"syscall"
)

// killGroup makes the end of the command's context kill the program and its children.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
