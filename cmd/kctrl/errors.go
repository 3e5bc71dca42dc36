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
	exitUsage = 2 // the command line was invalid
	exitDrift = 3 // a check found drift or a breaking change

	exitSignal = 128 // added to the number of the signal that ended the command, as in shells
)

// errInterrupted is the error of a command that the user interrupted.
var errInterrupted = errors.New("interrupted")

// stopped reports whether err only means that ctx has ended.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// report prints err and returns the exit code. It prints each of the joined errors on its own line, followed by its
// hint. If the command line selects a format and no result was printed, report also prints the errors to standard
// output in this format.
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

// printFindings prints errors as the result of the command, in JSON or SARIF. It prints nothing for other formats, and
// nothing in SARIF if the command does not support it.
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
