package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// streams are what a command talks to. Result goes to out, everything else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
	dir      string // the project folder, from -C; "." when not given
}

func newStreams(in io.Reader, out, err io.Writer) *streams {
	return &streams{in: in, out: out, err: err, dir: "."}
}

// printf writes to the result stream.
func (s *streams) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// notice writes a line that is neither a result nor a problem.
func (s *streams) notice(what string) { fmt.Fprintf(s.err, "kctrl: %s\n", what) }

// problem writes a line about an error or, with its prefix, a warning, and its hint below if it has one. It reports
// whether it has.
func (s *streams) problem(prefix string, err error) bool {
	fmt.Fprintf(s.err, "kctrl: %s%v\n", prefix, err)
	d, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || d.Hint == "" {
		return false
	}
	fmt.Fprintf(s.err, "hint: %s\n", d.Hint)
	return true
}

// terminal reports whether w is a terminal, so that progress may be drawn over itself.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
