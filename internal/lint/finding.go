package lint

import (
	"cmp"
	"errors"
	"go/token"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The codes of findings.
const (
	CodeUnknown       = "unknown-marker"       // no generator knows the marker
	CodeMisplaced     = "misplaced-marker"     // the marker describes something else than what it stands on
	CodeIgnored       = "ignored-marker"       // the marker stands where nobody looks
	CodeArgument      = "marker-argument"      // an argument is unknown, missing or of the wrong type
	CodeValue         = "marker-value"         // an argument has a value that can never be right
	CodeContradiction = "marker-contradiction" // two markers cannot both hold
	CodeDefault       = "marker-default"       // a default is refused by the other markers or by the type
	CodeEnum          = "marker-enum"          // an enum repeats a value, or has one of the wrong type
	CodeListMapKey    = "marker-list-map-key"  // a key of a list is no field of its items
	CodePath          = "marker-path"          // a JSON path cannot be parsed
	CodeFieldName     = "duplicate-json-name"  // two fields of a struct have the same name in JSON
)

// Finding is one thing that is wrong with the markers of a project. Its embedded error has the position, the message,
// the hint and the code.
type Finding struct {
	*diagnostic.Error
	// Fatal reports whether the finding is about something that a generator writes. Others, such as a misspelt marker on
	// a type that no kind is made of, are worth a warning.
	Fatal bool
	// Fix mends the source, where there is only one way to. Nil means that the user has to decide.
	Fix *Fix
}

// Fix replaces a part of a file.
type Fix struct {
	File   string // relative to the project, with slashes
	Offset int    // of the first byte that is replaced
	Length int    // of what is replaced
	Text   string // what comes in its place
}

// report adds what is wrong at pos to the findings of a package.
func (c *checker) report(pos token.Pos, fatal bool, d diagnostic.Error) *Finding {
	d.Pos = diagnostic.Relative(c.program.Dir(), c.program.Fset().Position(pos))
	c.findings = append(c.findings, Finding{Error: &d, Fatal: fatal})
	return &c.findings[len(c.findings)-1]
}

// joinOnce joins errors of which some may be the same.
func joinOnce(errs []error) error {
	seen := map[error]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		known := seen[err]
		seen[err] = true
		return known
	})...)
}

func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Offset, b.Pos.Offset),
			cmp.Compare(a.Message, b.Message),
		)
	})
}
