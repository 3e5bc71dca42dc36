package migrate

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// What is left to do in Go code has a comment above it, which says why.

// Mark begins the comments above what could not be rewritten.
const Mark = "// kctrl:migrate: "

// putNotes puts each note on a line of its own before the one that it is in.
func putNotes(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		var seen []string
		for {
			before, rest, found := strings.Cut(line, noteBegin)
			if !found {
				break
			}
			reason, after, _ := strings.Cut(rest, noteEnd)
			line = before + after
			if !slices.Contains(seen, reason) {
				seen = append(seen, reason)
				out.WriteString(indent + Mark + reason + "\n")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// markBroken puts such a comment above each line that does not compile, and did before, but for generated files: what is left in these is
// left in what they are generated from.
func (m *migration) markBroken(files []*file) error {
	for _, f := range files {
		reasons := map[int][]string{} // by line
		for _, l := range m.report.Left {
			if l.Broken && l.File == f.name && !m.brokenBefore[f.name] && l.Line > 0 {
				line := beginOf(f.source, l.Line)
				reasons[line] = append(reasons[line], l.Reason)
			}
		}
		if len(reasons) == 0 || ast.IsGenerated(f.syntax) {
			continue
		}
		text, err := m.plan.Read(f.name)
		if err != nil {
			return err
		}
		var out strings.Builder
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
			ending := line[len(strings.TrimRight(line, "\r\n")):]
			for _, reason := range reasons[n] {
				out.WriteString(indent + Mark + reason + ending)
				m.report.Lines++
			}
			out.WriteString(line)
		}
		if err := m.plan.Edit(f.name, formattedAs(text, []byte(out.String()))); err != nil {
			return err
		}
	}
	m.relocate()
	return nil
}

// formattedAs formats the text of a file if it was formatted before.
func formattedAs(before, after []byte) []byte {
	if formatted, err := format.Source(before); err != nil || !bytes.Equal(formatted, before) {
		return after
	}
	formatted, err := format.Source(after)
	if err != nil {
		return after
	}
	return formatted
}

// beginOf returns the line above which a comment about a line may be: the first one of a text over several lines that it is in.
func beginOf(source []byte, line int) int {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		begin := file.Line(pos)
		if kind == token.EOF || begin >= line {
			return line
		}
		if begin+strings.Count(text, "\n") >= line && kind != token.SEMICOLON {
			return beginOf(source, begin)
		}
	}
}

// relocate gives what was left the line that it is on now.
func (m *migration) relocate() {
	lines := map[string][]string{}
	for i := range m.report.Left {
		l := &m.report.Left[i]
		if l.Rewritten {
			continue
		}
		if lines[l.File] == nil {
			text, err := m.plan.Read(l.File)
			if err != nil {
				continue
			}
			lines[l.File] = strings.Split(string(text), "\n")
		}
		at := slices.IndexFunc(lines[l.File], func(line string) bool { return strings.TrimSpace(line) == Mark+l.Reason })
		if at >= 0 {
			l.Line = at + 2
			lines[l.File][at] = "" // the next one of the same reason is another
		}
	}
}
