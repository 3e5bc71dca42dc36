//go:build !unix

package simulator

import "os/exec"

// killGroup does nothing, so the end of the context kills only the program and not its children.
func killGroup(*exec.Cmd) {}
