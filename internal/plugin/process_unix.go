//go:build unix

package plugin

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own, which ends as a whole when its context does.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
