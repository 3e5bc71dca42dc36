package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// streams are the input and output of a command. The result goes to out, everything else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
	dir      string // the project directory, from -C; "." by default
}

// newStreams returns streams that record whether a result could be written.
func newStreams(in io.Reader, out, err io.Writer) *streams {
	return &streams{in: in, out: &resultWriter{to: out}, err: err, dir: "."}
}

// resultWriter writes the result and records the first error, so that callers need not check errors.
type resultWriter struct {
	to    io.Writer
	wrote bool  // a result was written
	err   error // first error of to
}

// Write writes p to the underlying writer.
func (w *resultWriter) Write(p []byte) (int, error) {
	w.wrote = w.wrote || len(p) > 0
	n, err := w.to.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// printed reports whether a result was written.
func (s *streams) printed() bool {
	out, ok := s.out.(*resultWriter)
	return ok && out.wrote
}

// lost reports whether writing the result failed.
func (s *streams) lost() bool {
	out, ok := s.out.(*resultWriter)
	return ok && out.err != nil
}

// checkResult returns the error of a command, joined with an error if writing its result failed.
func (s *streams) checkResult(err error) error {
	if !s.lost() {
		return err
	}
	cause := s.out.(*resultWriter).err
	if err == nil || errors.Is(err, cause) {
		return s.lostResult(cause)
	}
	return errors.Join(err, s.lostResult(cause))
}

// lostResult returns the error for a result that could not be written.
func (s *streams) lostResult(err error) error {
	return diagnostic.Because(err, "cannot write to standard output: "+diagnostic.PlainCause(err),
		"free space in its destination, or redirect it")
}

// printf writes formatted text to the result.
func (s *streams) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// notice writes a line of information to err.
func (s *streams) notice(what string) { fmt.Fprintf(s.err, "kctrl: %s\n", what) }

// problem writes a line with the prefix and an error to err, followed by the hint of the error. Warnings have the
// prefix "warning: ".
func (s *streams) problem(prefix string, err error) {
	fmt.Fprintf(s.err, "kctrl: %s%s\n", prefix, diagnostic.OneLine(err.Error()))
	if d, ok := errors.AsType[*diagnostic.Error](err); ok && d.Hint != "" {
		fmt.Fprintf(s.err, "hint: %s\n", diagnostic.OneLine(d.Hint))
	}
}

// terminal reports whether w is a terminal, on which progress can be redrawn.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
