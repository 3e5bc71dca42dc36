//go:build !linux && !darwin

package controlplane

import (
	"os"
	"os/exec"
)

// endWithUs does nothing. On this system, the end of a command's context ends only the process of the command.
func endWithUs(*exec.Cmd) {}

// replaceProcess runs another program with the input and output of this process, and waits for its end.
func replaceProcess(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// identities is a placeholder on systems that cannot run an environment.
type identities struct{}
