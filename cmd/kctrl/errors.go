package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The exit codes of kctrl.
const (
	exitOK    = 0
	exitError = 1 // the command failed
	exitUsage = 2 // the command line was wrong
	exitDrift = 3 // --check found files out of date

	exitSignal = 128 // and the number of the signal that ended the command, as shells say it
)

// errInterrupted is all there is to say when the user has stopped a command.
var errInterrupted = errors.New("interrupted")

// stopped reports whether err is what became of a command because ctx ended, and not something that is wrong.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// report prints err, one line for each single error with its hint below, and returns the exit code.
func report(s *streams, command *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	hinted := false
	for _, e := range diagnostic.All(err) {
		hinted = s.problem("", e) || hinted
	}
	switch {
	case errors.Is(err, diagnostic.ErrUsage):
		if !hinted {
			fmt.Fprintf(s.err, "usage: %s\nhint: %s --help lists the flags\n", command.UseLine(), command.CommandPath())
		}
		return exitUsage
	case errors.Is(err, diagnostic.ErrDrift):
		return exitDrift
	}
	return exitError
}
