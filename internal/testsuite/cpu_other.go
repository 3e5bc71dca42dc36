//go:build !linux

package main

import "os"

// quit is the signal that ends a test binary with its stacks. On systems without SIGQUIT, go test kills it.
var quit = os.Kill

func cpuOf(int) (seconds float64, ok bool) { return 0, false }

func childrenCPU() (seconds float64, ok bool) { return 0, false }
