package simulator

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// logLines are the warnings and errors that the operator has logged. It is safe for concurrent use.
type logLines struct {
	began time.Time

	mu    sync.Mutex
	lines []string
	waits string // the last line about a controller that waits for a kind
	since time.Duration
}

// waiting returns the last line about a controller that waits for a kind, or "" if there is none in the last minutes.
func (l *logLines) waiting() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.began)-l.since > virtual.watch/2 {
		return ""
	}
	return l.waits
}

// maxLines is the maximum number of log lines of a run.
const maxLines = 200

func (l *logLines) add(record slog.Record, attrs []slog.Attr) {
	text := fmt.Sprintf("%s %s", time.Since(l.began), describe(record, attrs))
	if record.Message == "waiting for sources" {
		l.mu.Lock()
		l.waits, l.since = text, time.Since(l.began)
		l.mu.Unlock()
	}
	l.append(text)
}

// describe returns the message and the attributes of a record.
func describe(record slog.Record, attrs []slog.Attr) string {
	var text strings.Builder
	text.WriteString(record.Message)
	for _, a := range attrs {
		if a.Key != "reconcileID" {
			fmt.Fprintf(&text, " %s=%s", a.Key, shorten(a.Value.String()))
		}
	}
	record.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&text, " %s=%s", a.Key, shorten(a.Value.String()))
		return true
	})
	return text.String()
}

// addLine adds a line that a program has printed.
func (l *logLines) addLine(text string) {
	l.append(fmt.Sprintf("%.1fs %s", time.Since(l.began).Seconds(), text))
}

func (l *logLines) append(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < maxLines {
		l.lines = append(l.lines, line)
	}
}

func (l *logLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
