//go:build !unix

package plugin

import "os/exec"

// ownGroup does nothing: the command itself ends when its context does.
func ownGroup(*exec.Cmd) {}
