package simulate

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// mostOfLine is the number of bytes that messages keeps of a line. It drops the rest.
const mostOfLine = 4 << 10

// messages reads the output of a simulation. It reports the progress and keeps only lines that may explain why the
// program ended, because programs may print much. One goroutine writes to it.
type messages struct {
	progress func(done, planned int)

	line   []byte // incomplete
	first  string
	logged string // the last error that a main function logged before its manager started
	fatal  string // first line of a panic
}

// Write implements io.Writer.
func (m *messages) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		m.line = append(m.line, part[:min(len(part), mostOfLine-len(m.line))]...)
		if ended {
			m.read(strings.TrimSpace(string(m.line)))
			m.line = m.line[:0]
		}
		rest = after
	}
	return len(data), nil
}

func (m *messages) read(line string) {
	var done, planned int
	if n, _ := fmt.Sscanf(line, "%d %d", &done, &planned); n == 2 {
		m.progress(done, planned)
		return
	}
	m.first = cmp.Or(m.first, line)
	if logged, ok := strings.CutPrefix(line, "error: "); ok {
		m.logged = logged
	}
	if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
		m.fatal = cmp.Or(m.fatal, line)
	}
}

// reason returns the line that best explains why the program ended, or "".
func (m *messages) reason() string {
	return cmp.Or(m.fatal, m.logged, m.first, strings.TrimSpace(string(m.line)))
}
