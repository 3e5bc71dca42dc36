// Command kctrl takes the author of a Kubernetes operator from an empty folder to a running operator: it scaffolds
// projects, generates what Go markers mean, and runs a real control plane to try them on.
//
// This package is the only place that knows command lines, terminals and exit codes. Each command is one file: it
// parses flags into plain options and hands them to a package under internal.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() { os.Exit(runMain()) }

// gcPercent is for commands that are over before memory matters.
const gcPercent = 400

func runMain() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, os.Args[1:], newStreams(os.Stdin, os.Stdout, os.Stderr))
}
