//go:build linux || darwin

package controlplane

import (
	"os"
	"os/exec"
	"syscall"
)

// endWithUs makes the end of a command's context end the command with all its children. On Linux, the end of this
// process also ends the command.
func endWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = processAttributes(true)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// replaceProcess makes this process run another program. It returns only if that fails.
func replaceProcess(program string, args ...string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
