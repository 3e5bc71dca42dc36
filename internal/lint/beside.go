package lint

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// Beside joins what is wrong with markers and what generators found wrong in spite of that. Left out is what they say, in
// other words, of a marker or of what it describes, if it means anything there, and what has no position: it follows from
// the rest.
func Beside(program *load.Program, wrong, generators error) error {
	if wrong == nil {
		return once(generators)
	}
	told := map[line]bool{}
	for _, err := range diagnostic.All(wrong) {
		if d, ok := errors.AsType[*diagnostic.Error](err); ok {
			told[line{d.Pos.Filename, d.Pos.Line}] = true
			if !slices.Contains([]string{CodeUnknown, CodeArgument, CodeIgnored}, d.Code) {
				told[line{d.Pos.Filename, described(program, d.Pos.Filename, d.Pos.Line)}] = true
			}
		}
	}
	errs := []error{wrong}
	for _, err := range diagnostic.All(generators) {
		d, ok := errors.AsType[*diagnostic.Error](err)
		if ok && d.Pos.Filename != "" && !told[line{d.Pos.Filename, d.Pos.Line}] {
			errs = append(errs, err)
		}
	}
	return once(errors.Join(errs...))
}

// line is a place where errors are about the same thing.
type line struct {
	file string
	line int
}

// described returns the line of the declaration that a comment on a line stands above, or the line itself.
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

// once joins errors of which some may say the same.
func once(err error) error {
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
