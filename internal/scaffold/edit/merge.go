package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Labels are the names of the sides in conflict markers.
type Labels struct{ Ours, Base, Theirs string }

// Merge returns ours with the changes from base to theirs, line by line, as git merges files. Unlike git, it also
// replaces single lines that ours keeps next to its own changes. If both sides changed the same lines differently, the
// result has all three versions with git's conflict markers, and conflicts has the line of each first marker. Merge
// does not modify its arguments.
func Merge(base, ours, theirs []byte, labels Labels) (merged []byte, conflicts []int) {
	m := &merge{labels: labels, base: linesOf(base), ours: linesOf(ours), theirs: linesOf(theirs)}
	toOurs, toTheirs := matches(m.base, m.ours), matches(m.base, m.theirs)
	at, o, t := 0, 0, 0
	for i := range m.base {
		inOurs, inTheirs := toOurs[i], toTheirs[i]
		if inOurs < o || inTheirs < t {
			continue
		}
		m.region(m.base[at:i], m.ours[o:inOurs], m.theirs[t:inTheirs])
		m.out = append(m.out, m.base[i])
		at, o, t = i+1, inOurs+1, inTheirs+1
	}
	m.region(m.base[at:], m.ours[o:], m.theirs[t:])
	var out bytes.Buffer
	for _, line := range m.out {
		out.WriteString(line)
	}
	return out.Bytes(), m.conflicts
}

// merge is the state of a Merge.
type merge struct {
	labels             Labels
	base, ours, theirs []string
	out                []string
	conflicts          []int
}

// region merges the lines between two lines that match in all three texts.
func (m *merge) region(base, ours, theirs []string) {
	lines, replaced := replaceKept(base, ours, theirs)
	switch {
	case slices.Equal(base, ours), slices.Equal(ours, theirs):
		m.out = append(m.out, theirs...)
	case slices.Equal(base, theirs):
		m.out = append(m.out, ours...)
	case replaced:
		m.out = append(m.out, lines...)
	default:
		m.conflicts = append(m.conflicts, len(m.out)+1)
		m.out = append(m.out, "<<<<<<< "+m.labels.Ours+"\n")
		m.out = append(m.out, whole(ours)...)
		m.out = append(m.out, "||||||| "+m.labels.Base+"\n")
		m.out = append(m.out, whole(base)...)
		m.out = append(m.out, "=======\n")
		m.out = append(m.out, whole(theirs)...)
		m.out = append(m.out, ">>>>>>> "+m.labels.Theirs+"\n")
	}
}

// replaceKept returns ours with the lines that theirs replaces one by one. It reports false if theirs adds or removes
// lines, or if ours does not keep a line that theirs replaces.
func replaceKept(base, ours, theirs []string) (lines []string, ok bool) {
	if len(base) != len(theirs) {
		return nil, false
	}
	lines = slices.Clone(ours)
	for i, at := range matches(base, ours) {
		switch {
		case base[i] == theirs[i]:
		case at < 0:
			return nil, false
		default:
			lines[at] = theirs[i]
		}
	}
	return lines, true
}

// whole adds a line end to the last line, so that a marker can follow.
func whole(lines []string) []string {
	if n := len(lines); n > 0 && lines[n-1][len(lines[n-1])-1] != '\n' {
		lines = slices.Clone(lines)
		lines[n-1] += "\n"
	}
	return lines
}

func linesOf(text []byte) []string {
	var lines []string
	for line := range bytes.Lines(text) {
		lines = append(lines, string(line))
	}
	return lines
}

// matches returns, for each line of a, the index of the matching line in b, or -1. The indexes increase.
func matches(a, b []string) []int {
	at := slices.Repeat([]int{-1}, len(a))
	for _, block := range difflib.NewMatcherWithJunk(a, b, false, nil).GetMatchingBlocks() {
		for i := range block.Size {
			at[block.A+i] = block.B + i
		}
	}
	return at
}

// Conflicts returns the lines on which the complete conflicts in a text begin.
func Conflicts(text []byte) (begin []int) {
	at := 0
	for i, line := range linesOf(text) {
		switch {
		case at == 0 && strings.HasPrefix(line, "<<<<<<< "):
			at = i + 1
		case at > 0 && strings.HasPrefix(line, ">>>>>>> "):
			begin, at = append(begin, at), 0
		}
	}
	return begin
}

// EndedAs returns plain text with the line ends that most lines of file have, and with a byte order mark if file has
// one.
func EndedAs(file, text []byte) []byte {
	if 2*bytes.Count(file, []byte("\r\n")) > bytes.Count(file, []byte("\n")) {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if bytes.HasPrefix(file, byteOrderMark) {
		text = slices.Concat(byteOrderMark, text)
	}
	return text
}

// Plain returns a text with LF line ends and without the byte order mark that some editors add.
func Plain(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, byteOrderMark), []byte("\r\n"), []byte("\n"))
}
