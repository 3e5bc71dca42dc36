//go:build linux || darwin

package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// Progress tells a person what takes so long. The zero value tells nobody.
type Progress struct {
	// Out gets the lines.
	Out io.Writer
	// Live draws a line over itself as things go on, which is for terminals.
	Live bool
}

// Step says that something begins or has ended.
func (p Progress) Step(what string) {
	if p.Out != nil {
		fmt.Fprintf(p.Out, "kctrl: %s\n", what)
	}
}

// update draws over the last update.
func (p Progress) update(what string) {
	if p.Out != nil && p.Live {
		fmt.Fprintf(p.Out, "\r\x1b[Kkctrl: %s", what)
	}
}

// clear removes the last update.
func (p Progress) clear() {
	if p.Out != nil && p.Live {
		fmt.Fprint(p.Out, "\r\x1b[K")
	}
}

// packageCounter reads what go build -v prints, a package a line, and keeps the end of it.
type packageCounter struct {
	progress Progress
	began    time.Time
	count    int
	tail     bytes.Buffer // the last lines, at most tailSize bytes before each write
}

const tailSize = 8 << 10

// Write counts lines.
func (c *packageCounter) Write(p []byte) (int, error) {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	c.count += bytes.Count(p, []byte("\n"))
	if c.tail.Len() > tailSize {
		c.tail.Reset()
	}
	c.tail.Write(p)
	lines := bytes.Fields(bytes.TrimSpace(p))
	if len(lines) > 0 {
		c.progress.update(fmt.Sprintf("%s, %d packages, %s", time.Since(c.began).Round(time.Second), c.count, lines[len(lines)-1]))
	}
	return len(p), nil
}
