package lint

import (
	"cmp"
	"errors"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// The codes of findings.
const (
	CodeUnknown       = "unknown-marker"       // no generator supports the marker
	CodeMisplaced     = "misplaced-marker"     // the marker belongs on another kind of declaration
	CodeIgnored       = "ignored-marker"       // the marker is in a place that no generator reads
	CodeArgument      = "marker-argument"      // an argument is unknown, missing or of the wrong type
	CodeValue         = "marker-value"         // an argument has an invalid value
	CodeContradiction = "marker-contradiction" // two markers contradict each other
	CodeDefault       = "marker-default"       // the type or another marker rejects the default
	CodeEnum          = "marker-enum"          // an enum has a duplicate value, or a value of the wrong type
	CodeListMapKey    = "marker-list-map-key"  // the items of the list do not have the field
	CodePath          = "marker-path"          // a JSON path cannot be parsed
	CodeFieldName     = "duplicate-json-name"  // two fields of a struct have the same name in JSON
)

// Finding is one problem with the markers of a project. Its embedded error has the position, the message, the hint and
// the code.
type Finding struct {
	*diagnostic.Error
	// Fatal reports whether the finding affects a generated file. A finding that does not, such as a misspelled marker on
	// a type that no kind uses, is a warning.
	Fatal bool
	// Fix is the edit that repairs the source. It is nil if there are several ways to do so, so that the user must choose.
	Fix *Fix
}

// Fix replaces a part of a file.
type Fix struct {
	File   string // relative to the project, with slashes
	Offset int    // of the first replaced byte
	Length int    // of the replaced text
	Text   string // replacement
}

// report adds a finding at pos.
func (c *checker) report(pos token.Pos, fatal bool, d diagnostic.Error) *Finding {
	d.Pos = diagnostic.Relative(c.program.Dir(), c.program.Fset().Position(pos))
	c.findings = append(c.findings, Finding{Error: &d, Fatal: fatal})
	return &c.findings[len(c.findings)-1]
}

// problem returns an error whose position report sets.
func problem(code, message, hint string) diagnostic.Error {
	return diagnostic.Error{Code: code, Message: message, Hint: hint}
}

func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(diagnostic.ComparePosition(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message))
	})
}

// Join joins the errors of a check and the errors of generators. It omits an error of a generator that has no position,
// or whose position is the line of a reported marker or of its declaration, because both errors have the same cause.
func Join(program *load.Program, wrong, generators error) error {
	if wrong == nil {
		return Once(generators)
	}
	reported := map[token.Position]bool{}
	for _, err := range diagnostic.All(wrong) {
		if d, ok := errors.AsType[*diagnostic.Error](err); ok {
			at := diagnostic.LineOf(err)
			reported[at] = true
			if !slices.Contains([]string{CodeUnknown, CodeArgument, CodeIgnored}, d.Code) {
				at.Line = described(program, at.Filename, at.Line)
				reported[at] = true
			}
		}
	}
	errs := []error{wrong}
	for _, err := range diagnostic.All(generators) {
		d, ok := errors.AsType[*diagnostic.Error](err)
		if ok && d.Pos.Filename != "" && !reported[diagnostic.LineOf(err)] {
			errs = append(errs, err)
		}
	}
	return Once(errors.Join(errs...))
}

// described returns the line of the declaration below a comment, or the line itself.
func described(program *load.Program, file string, number int) int {
	content, err := program.ReadFile(filepath.Join(program.Dir(), filepath.FromSlash(file)))
	if err != nil {
		return number
	}
	lines := strings.Split(string(content), "\n")
	for i := number; i <= len(lines) && i > 0; i++ {
		if text := strings.TrimSpace(lines[i-1]); text != "" && !strings.HasPrefix(text, "//") {
			return i
		}
	}
	return number
}

// Once joins the single errors in err without duplicate messages.
func Once(err error) error {
	seen := map[string]bool{}
	var errs []error
	for _, err := range diagnostic.All(err) {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
