//go:build !unix

package simulator

import "os/exec"

// killGroup does nothing: the end of the context kills the program alone.
func killGroup(*exec.Cmd) {}
