//go:build !linux && !darwin

package controlplane

import (
	"os"
	"os/exec"
)

// endWithUs does nothing: the context of a command ends its process alone here.
func endWithUs(*exec.Cmd) {}

// replaceProcess runs another program with the input and output of this process, and waits for its end.
func replaceProcess(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// identities do not exist where no environment runs.
type identities struct{}
