package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
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

// warnf writes a line that is not a result, such as a warning.
func (s *streams) warnf(format string, args ...any) {
	fmt.Fprintf(s.err, "kctrl: "+format+"\n", args...)
}

// terminal reports whether w is a terminal, so that progress may be drawn over itself.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
