package diagnostic

import (
	"bytes"
	"errors"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

var (
	yamlLine  = regexp.MustCompile(`\bline (\d+): `)
	yamlField = regexp.MustCompile(`^field (.+) not found in type \S+$`)
	yamlType  = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `.*`)? into (\\S+)$")
	// yamlCountsFromZero matches errors whose line number is one too low: all errors except scanner errors.
	yamlCountsFromZero = regexp.MustCompile(`^did not find expected (node content|key|',' or|'-' indicator|<)`)
	yamlTwice          = regexp.MustCompile(`^mapping key (".*") already defined at line (\d+)$`)
)

// YAML returns the errors that the YAML parser found in a file, joined, each as an *Error. If the file contains git
// conflict markers, YAML returns only that error. The parser reports lines without columns.
func YAML(file string, content []byte, err error, hint string) error {
	if conflict := conflictIn(file, content, hint); conflict != nil {
		return conflict
	}
	var errs []error
	for text := range strings.Lines(err.Error()) {
		if len(errs) == enoughErrors {
			errs = append(errs, &Error{Pos: token.Position{Filename: file}, Message: "more lines than these are not valid YAML",
				Hint: hint, Cause: err})
			break
		}
		text = strings.TrimSpace(text)
		text = strings.TrimPrefix(strings.TrimPrefix(text, "error converting YAML to JSON: "), "yaml: ")
		if text == "" || text == "unmarshal errors:" {
			continue
		}
		pos := token.Position{Filename: file, Line: 1}
		if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
			pos.Line, _ = strconv.Atoi(text[m[2]:m[3]])
			text = text[:m[0]] + text[m[1]:]
			if yamlCountsFromZero.MatchString(text) {
				pos.Line = min(pos.Line+1, len(bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))))
			}
		}
		errs = append(errs, &Error{Pos: pos, Message: "not valid YAML: " + plainYAML(text), Hint: hint, Cause: err})
	}
	return errors.Join(errs...)
}

// enoughErrors limits the errors for one file.
const enoughErrors = 10

// plainYAML replaces names of Go types in a message of the parser.
func plainYAML(text string) string {
	if m := yamlField.FindStringSubmatch(text); m != nil {
		return "unknown field " + Quote(m[1])
	}
	if m := yamlTwice.FindStringSubmatch(text); m != nil {
		return m[1] + " is given twice, first in line " + m[2]
	}
	if m := yamlType.FindStringSubmatch(text); m != nil {
		return "want " + yamlKind(m[2]) + ", got " + yamlKind(m[1])
	}
	return OneLine(text)
}

// yamlKind returns the word for a tag or a Go type.
func yamlKind(name string) string {
	switch {
	case name == "seq", strings.HasPrefix(name, "[]"):
		return "a list"
	case name == "str", name == "string":
		return "a text"
	case name == "int", name == "float", strings.HasPrefix(name, "int"), strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "bool"):
		return "true or false"
	case name == "null":
		return "nothing"
	}
	return "a mapping"
}

// conflictIn returns an error at the first git conflict marker in a file, or nil.
func conflictIn(file string, content []byte, hint string) error {
	for i, line := range bytes.Split(content, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			return &Error{
				Pos:     token.Position{Filename: file, Line: i + 1, Column: 1},
				Message: "has the markers of a merge conflict",
				Hint:    hint,
			}
		}
	}
	return nil
}
