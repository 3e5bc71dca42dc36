package lint

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

// checkArguments reports markers with invalid arguments. In a lenient run, it returns these findings as errors, because
// controller-gen also fails for them.
func (c *checker) checkArguments() []error {
	var kept []error
	for _, pkg := range c.decls.all {
		emits := c.emits(pkg)
		for _, at := range pkg.Markers {
			if !at.Counts() || at.Err == nil {
				continue
			}
			f := c.argumentError(at, emits || c.reaches(at))
			if c.config.Lenient {
				kept = append(kept, f.Error)
			}
		}
	}
	return kept
}

// emits reports whether a generator may write output for a package.
func (c *checker) emits(pkg *packageDecls) bool {
	return slices.ContainsFunc(pkg.Markers, func(at markers.Marker) bool {
		return at.Target == ctmarkers.DescribesPackage && at.Node != nil &&
			(at.Definition != nil || markers.IsInsertionPoint(at.Text))
	}) || slices.ContainsFunc(pkg.all, func(t *typeDecl) bool { return c.emitted[t.spec] })
}

// linesOf returns the lines of the errors in the nested lists of controller-tools.
func linesOf(err error) []string {
	list, ok := errors.AsType[loader.ErrList](err)
	if !ok {
		return strings.Split(err.Error(), "\n")
	}
	var lines []string
	for _, single := range list {
		lines = append(lines, linesOf(single)...)
	}
	return lines
}

var (
	unknownArgument = regexp.MustCompile(`^unknown argument "(.*)"$`)
	missingArgument = regexp.MustCompile(`^missing argument "(.*)"$`)
	numberError     = regexp.MustCompile(`^invalid \w+ value: strconv\.(ParseFloat|Atoi): parsing (".*"): `)
	extraArguments  = regexp.MustCompile(`^extra arguments provided: (".*")$`)
)

// argumentError reports the first invalid argument of a marker, because it may cause further errors. If there is none,
// argumentError reports all missing arguments.
func (c *checker) argumentError(at markers.Marker, fatal bool) *Finding {
	definition := at.Definition
	var first string
	var missing []string
	for _, line := range linesOf(at.Err) {
		message, _ := markers.SplitOffset(line)
		if m := missingArgument.FindStringSubmatch(message); m != nil {
			missing = append(missing, m[1])
		} else if first == "" {
			first = line
		}
	}
	d := diagnostic.Error{Code: CodeArgument, Hint: markers.ExampleHint(definition)}
	if first == "" {
		slices.Sort(missing)
		text := "missing argument " + missing[0]
		switch {
		case definition.AnonymousField():
			text = "missing value"
		case len(missing) > 1:
			text = "missing arguments " + strings.Join(missing, ", ")
		}
		d.Message = fmt.Sprintf("+%s: %s", definition.Name, text)
		return c.report(at.Pos, fatal, d)
	}
	message, column := markers.SplitOffset(first)
	offset := 0
	if column > 0 {
		offset = markers.ArgumentsOffset(at.Text, definition) + column - 1
	}
	unknown, wrong := unknownArgument.FindStringSubmatch(message), numberError.FindStringSubmatch(message)
	extra := extraArguments.FindStringSubmatch(message)
	switch {
	case unknown != nil:
		offset = max(0, markers.ArgumentOffset(at.Text, unknown[1]))
		d.Hint = argumentHint(definition, unknown[1])
	case wrong != nil:
		kind := "a number"
		if wrong[1] == "Atoi" {
			kind = "an integer"
		}
		message = fmt.Sprintf("want %s, got %s", kind, wrong[2])
		offset = markers.ValueOffset(at.Text)
	case definition.Empty() && extra != nil:
		message = "takes no value, but got " + extra[1]
	default:
		message = wantedTypes.Replace(message)
	}
	d.Message = fmt.Sprintf("+%s: %s", definition.Name, diagnostic.OneLine(message))
	if offset >= len(at.Text) {
		offset = 0
	}
	return c.report(at.Pos+token.Pos(offset), fatal, d)
}

// wantedTypes replaces the wording of controller-tools' parser in messages about types.
var wantedTypes = strings.NewReplacer(
	"expected integer or float,", "want a number,", "expected integer,", "want an integer,", "expected float,",
	"want a number,",
	"expected true or false,", "want true or false,",
)

// argumentHint returns a hint for an unknown argument. It suggests the argument with the nearest name, or lists all
// arguments.
func argumentHint(definition *ctmarkers.Definition, wrong string) string {
	names := slices.Sorted(maps.Keys(definition.FieldNames))
	if near := nearest(wrong, names); near != "" {
		return near + "="
	}
	return "the arguments are " + strings.Join(names, ", ")
}
