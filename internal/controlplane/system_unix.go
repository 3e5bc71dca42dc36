//go:build linux || darwin

package controlplane

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock reports whether it locked a file. Closing the file unlocks it.
func tryLock(file *os.File) bool { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

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
