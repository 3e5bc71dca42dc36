package markers

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// collect remembers the values of the markers in all packages, and reports those that have none because their arguments
// are wrong. It returns the errors that keep controller-gen from working too, if the run is lenient.
func (c *checker) collect() []error {
	var kept []error
	for _, pkg := range c.decls.all {
		values, err := c.program.collector.MarkersInPackage(pkg.Package.Package)
		pkg.Package.values = values
		for _, r := range pkg.rescued {
			if values[r.file] != nil {
				values[r.file][r.name] = append(values[r.file][r.name], r.value)
			}
		}
		if err == nil {
			continue
		}
		emits := c.emits(pkg)
		for _, at := range c.broken(pkg, err) {
			c.program.broken = append(c.program.broken, brokenComment{pkg.Package, at.comment})
			f := c.argumentError(at.place, at.definition, errors.Join(at.errs...), emits || c.reaches(at.place))
			if c.program.lenient {
				kept = append(kept, f.Error)
			}
		}
	}
	return kept
}

// emits reports whether a generator may write something for a package.
func (c *checker) emits(pkg *packageDecls) bool {
	return slices.ContainsFunc(pkg.places, func(at place) bool {
		return at.target == markers.DescribesPackage && at.node != nil && c.program.registry.known(at.text)
	}) || slices.ContainsFunc(slices.Collect(maps.Values(pkg.types)), func(t *typeDecl) bool { return c.emitted[t.spec] })
}

// brokenMarker is a marker with what is wrong with its arguments.
type brokenMarker struct {
	place
	definition *markers.Definition
	errs       []error
}

// broken sorts what the collector found in a package by the markers it is about.
func (c *checker) broken(pkg *packageDecls, err error) []*brokenMarker {
	byComment := map[token.Pos]*brokenMarker{}
	for _, at := range pkg.places {
		if at.node != nil {
			byComment[at.comment] = &brokenMarker{place: at, definition: c.program.registry.Lookup(at.text, at.target)}
		}
	}
	var found []*brokenMarker
	for _, single := range flatten(err) {
		positioned, ok := errors.AsType[loader.PositionedError](single)
		if !ok {
			continue
		}
		at := byComment[positioned.Pos]
		if at == nil || at.definition == nil {
			continue
		}
		if at.errs == nil {
			found = append(found, at)
		}
		at.errs = append(at.errs, errors.New(positioned.Error()))
	}
	return found
}

// flatten takes the lists that controller-tools nests errors in apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	list, ok := errors.AsType[loader.ErrList](err)
	if !ok {
		return []error{err}
	}
	var errs []error
	for _, single := range list {
		errs = append(errs, flatten(single)...)
	}
	return errs
}

var (
	unknownArgument = regexp.MustCompile(`^unknown argument "(.*)"$`)
	missingArgument = regexp.MustCompile(`^missing argument "(.*)"$`)
	numberError     = regexp.MustCompile(`^invalid \w+ value: strconv\.(ParseFloat|Atoi): parsing (".*"): `)
	extraArguments  = regexp.MustCompile(`^extra arguments provided: (".*")$`)
)

// argumentError reports what is wrong with the arguments of one marker: that which comes first, from which others may
// follow, or else all that are missing.
func (c *checker) argumentError(at place, definition *markers.Definition, err error, fatal bool) *Finding {
	var first string
	var missing []string
	for _, line := range strings.Split(joinLines(flatten(err)), "\n") {
		message, _ := splitOffset(line)
		if m := missingArgument.FindStringSubmatch(message); m != nil {
			missing = append(missing, m[1])
		} else if first == "" {
			first = line
		}
	}
	if first == "" {
		slices.Sort(missing)
		d := diagnostic.Error{Code: CodeArgument, Hint: exampleHint(definition)}
		d.Message = fmt.Sprintf("+%s: missing argument%s %s", definition.Name, plural(missing), strings.Join(missing, ", "))
		if definition.AnonymousField() {
			d.Message = fmt.Sprintf("+%s: missing value", definition.Name)
		}
		return c.report(at.pos, fatal, d)
	}
	message, column := splitOffset(first)
	d := diagnostic.Error{Code: CodeArgument, Hint: exampleHint(definition)}
	offset := 0
	if column > 0 {
		offset = argumentsOf(at.text, definition) + column - 1
	}
	switch m := unknownArgument.FindStringSubmatch(message); {
	case m != nil:
		offset = max(0, argumentName(at.text, m[1]))
		d.Hint = argumentHint(definition, m[1])
	case numberError.MatchString(message):
		kind := "a number"
		if numberError.FindStringSubmatch(message)[1] == "Atoi" {
			kind = "an integer"
		}
		message = fmt.Sprintf("want %s, got %s", kind, numberError.FindStringSubmatch(message)[2])
		offset = valueOffset(at.text)
	case definition.Empty() && extraArguments.MatchString(message):
		message = "wants no value, got " + extraArguments.FindStringSubmatch(message)[1]
	default:
		message = wantedTypes.Replace(message)
	}
	d.Message = fmt.Sprintf("+%s: %s", definition.Name, oneLine(message))
	if offset >= len(at.text) {
		offset = 0
	}
	return c.report(at.pos+token.Pos(offset), fatal, d)
}

// wantedTypes rewords what the parser of the library says of types.
var wantedTypes = strings.NewReplacer(
	"expected integer or float,", "want a number,", "expected integer,", "want an integer,", "expected float,", "want a number,",
	"expected true or false,", "want true or false,",
)

func joinLines(errs []error) string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func plural(names []string) string {
	if len(names) == 1 {
		return ""
	}
	return "s"
}

// exampleHint shows how a marker is written.
func exampleHint(definition *markers.Definition) string {
	if help, ok := helpOf(definition.Name); ok {
		return "for example " + help.example
	}
	return ""
}

// argumentsOf returns where in text, a marker, the arguments begin: behind "=", or, where they have names, behind the
// name of the marker.
func argumentsOf(text string, definition *markers.Definition) int {
	if named := len("+" + definition.Name + ":"); strings.HasPrefix(text, "+"+definition.Name+":") && !definition.AnonymousField() {
		return named
	}
	return valueOffset(text)
}

// valueOffset returns where in text, a marker, its value begins.
func valueOffset(text string) int { return strings.IndexByte(text, '=') + 1 }

// argumentName returns where in text, a marker, the argument with the given name stands, or -1. What is in quotes is no
// argument.
func argumentName(text, name string) int {
	var quote byte
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\' && quote == '"':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '`':
			quote = b
		case b == ':' || b == ',':
			rest := strings.TrimLeft(text[i+1:], " ")
			if after, ok := strings.CutPrefix(rest, name); ok && strings.HasPrefix(strings.TrimLeft(after, " "), "=") {
				return len(text) - len(rest)
			}
		}
	}
	return -1
}

// argumentValue returns where in text, a marker, the value of an argument begins; the begin of the marker without one.
func argumentValue(text, name string) int {
	at := argumentName(text, name)
	if at < 0 {
		return 0
	}
	return at + valueOffset(text[at:])
}

// argumentHint names the argument that was meant, or all there are.
func argumentHint(definition *markers.Definition, wrong string) string {
	names := slices.Sorted(maps.Keys(definition.FieldNames))
	near := slices.MinFunc(names, func(a, b string) int {
		return diagnostic.Slips(strings.ToLower(wrong), strings.ToLower(a)) - diagnostic.Slips(strings.ToLower(wrong), strings.ToLower(b))
	})
	if diagnostic.Slips(strings.ToLower(wrong), strings.ToLower(near)) <= 2 {
		return "write " + near + "="
	}
	return "the arguments are " + strings.Join(names, ", ")
}

var argumentOffset = regexp.MustCompile(`^(.*) \(at (?:<input>:?)?(?:1:(\d+))?\)$`)

// splitOffset takes the column in the arguments, counted from 1, off a message of the marker parser. Without one it
// returns 0.
func splitOffset(message string) (string, int) {
	m := argumentOffset.FindStringSubmatch(message)
	if m == nil {
		return message, 0
	}
	column, _ := strconv.Atoi(m[2])
	return m[1], column
}
