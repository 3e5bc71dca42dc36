package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The exit codes of kctrl.
const (
	exitOK    = 0
	exitError = 1 // the command failed
	exitUsage = 2 // the command line was wrong
	exitDrift = 3 // --check found files out of date

	exitSignal = 128 // plus the number of the signal that ended the command, as in shells
)

// errInterrupted is the error of a command that the user interrupted.
var errInterrupted = errors.New("interrupted")

// stopped reports whether err is only the result of the end of ctx.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// report prints err and returns the exit code. Each single error has one line, with its hint below. If the command line
// selects a format and no result was printed, the errors have this format.
func report(s *streams, command *cobra.Command, err error, format outputFormat) int {
	if err == nil {
		return exitOK
	}
	misused := errors.Is(err, diagnostic.ErrUsage)
	all := diagnostic.All(err)
	for _, e := range all {
		s.problem("", e)
	}
	if misused && !slices.ContainsFunc(all, hinted) {
		help := command.CommandPath() + " --help lists the flags"
		fmt.Fprintf(s.err, "usage: %s\nhint: %s\n", command.UseLine(), help)
		all[len(all)-1] = withHint(all[len(all)-1], help)
	}
	if !s.printed() {
		printFindings(s, command, format, all)
	}
	switch {
	case misused:
		return exitUsage
	case errors.Is(err, diagnostic.ErrDrift) && !s.lost():
		return exitDrift
	}
	return exitError
}

func hinted(err error) bool {
	d, ok := errors.AsType[*diagnostic.Error](err)
	return ok && d.Hint != ""
}

// withHint adds a hint to an error that has none.
func withHint(err error, hint string) error {
	e := diagnostic.Error{Message: err.Error(), Class: diagnostic.ErrUsage, Cause: err}
	if d, ok := errors.AsType[*diagnostic.Error](err); ok {
		e = *d
	}
	e.Hint = hint
	return &e
}

// printFindings prints errors as the result, in the format of the command line. It prints nothing in other
// formats, and in formats that the command lacks.
func printFindings(s *streams, command *cobra.Command, format outputFormat, errs []error) {
	found := make([]finding, len(errs))
	for i, err := range errs {
		found[i] = newFinding(err, severityError)
	}
	var err error
	switch format {
	case outputJSON:
		err = printDiagnostics(s.out, found)
	case outputSARIF:
		if flag := command.Flags().Lookup("output"); flag != nil && flag.Value.Set(string(outputSARIF)) == nil {
			err = printSARIF(s.out, found)
		}
	}
	if err != nil {
		fmt.Fprintf(s.err, "kctrl: %v\n", s.lostResult(err))
	}
}
