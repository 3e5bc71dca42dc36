package simulate

import (
	"fmt"
	"strings"
	"testing"
)

// TestMessagesExplainAnEnd checks that the reason is found in the output of a program, even if the output arrives in
// parts and has lines of any length.
func TestMessagesExplainAnEnd(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for printed, want := range map[string]string{
		"":                                     "",
		"no newline":                           "no newline",
		"3 9\nfirst\nsecond\n":                 "first",
		"started\nerror: no config\nbye\n":     "no config",
		"error: a\npanic: b\n\ngoroutine 1:\n": "panic: b",
		long + "\nerror: after it\n":           "after it",
		long:                                   long[:mostOfLine],
	} {
		var seen []string
		m := &messages{progress: func(done, planned int) { seen = append(seen, fmt.Sprint(done, planned)) }}
		for rest := printed; rest != ""; {
			n := min(len(rest), 1000)
			if written, err := m.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if got := m.reason(); got != want {
			t.Errorf("%.40q: got %.80q, want %.80q", printed, got, want)
		}
		if progressed := len(seen) == 1; progressed != strings.HasPrefix(printed, "3 9") {
			t.Errorf("%.40q: progress %v", printed, seen)
		}
		if cap(m.line) > 2*mostOfLine {
			t.Errorf("%.40q: it keeps %d bytes", printed, cap(m.line))
		}
	}
}
