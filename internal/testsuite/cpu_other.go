//go:build !linux

package main

import "os"

// quit is the signal that makes a test binary print its stacks and end. On systems without SIGQUIT, go test kills the
// binary.
var quit = os.Kill

func cpuOf(int) (seconds float64, ok bool) { return 0, false }

func childrenCPU() (seconds float64, ok bool) { return 0, false }
