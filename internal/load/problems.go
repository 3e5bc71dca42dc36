package load

import (
	"cmp"
	"errors"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Problems returns what is wrong with packages that another loader made, as [Program.Problems] does. File names are made
// relative to dir.
func Problems(dir string, roots []*loader.Package) error {
	return (&Program{dir: dir}).Problems(roots)
}

// Problems returns what loaders and generators found wrong with the packages and with all that they import, each
// problem once, joined from *diagnostic.Error. Errors of the type checker count only where a generator could not do
// without the type: no more was checked than output needs.
func (p *Program) Problems(roots []*loader.Package) error {
	reached := Reachable(roots)
	typeErrors := map[line][]packages.Error{}
	for pkg := range reached {
		for _, e := range pkg.Errors {
			if e.Kind == packages.TypeError {
				at := lineOf(e)
				typeErrors[at] = append(typeErrors[at], e)
			}
		}
	}
	seen := map[diagnostic.Error]bool{}
	for pkg := range reached {
		for _, e := range pkg.Errors {
			if e.Kind == packages.TypeError {
				continue
			}
			causes := []packages.Error{e}
			if better := typeErrors[lineOf(e)]; len(better) > 0 && isAboutNoType(e) {
				causes = better
			}
			for _, cause := range causes {
				d := p.problem(cause)
				if d.Pos.Filename == "" {
					d.Pos = p.cyclePosition(reached, cause.Msg)
				}
				seen[*d] = true
			}
		}
	}
	var errs []error
	for _, d := range slices.SortedFunc(maps.Keys(seen), compareProblems) {
		errs = append(errs, &d)
	}
	return errors.Join(errs...)
}

func compareProblems(a, b diagnostic.Error) int {
	return cmp.Or(
		cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line),
		cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Message, b.Message),
	)
}

// line is a place where errors are about the same thing.
type line struct {
	file string
	line int
}

func lineOf(e packages.Error) line {
	pos := parsePosition(e.Pos)
	return line{pos.Filename, pos.Line}
}

// isAboutNoType reports whether a generator says, in its own words, that a type does not exist.
func isAboutNoType(e packages.Error) bool {
	return strings.Contains(e.Msg, "invalid type") || strings.Contains(e.Msg, "unknown type")
}

func (p *Program) problem(e packages.Error) *diagnostic.Error {
	d := &diagnostic.Error{Pos: diagnostic.Relative(p.dir, parsePosition(e.Pos))}
	switch e.Kind {
	case packages.ListError, packages.ParseError:
		d.Message, d.Hint = p.listProblem(e.Msg)
	default:
		d.Message, _ = markers.SplitOffset(diagnostic.OneLine(strings.TrimSpace(e.Msg)))
		d.Message, d.Hint = reword(d.Message)
	}
	if name, undefined := strings.CutPrefix(d.Message, "undefined: "); undefined && p.isOfC(name) {
		d.Message, d.Hint = name+" has types of C, which are not known without a C compiler", "give it types of Go; kctrl gen takes those of C, as controller-gen does"
	}
	return d
}

// isOfC reports whether a type was left out because it needs C.
func (p *Program) isOfC(name string) bool {
	return slices.ContainsFunc(p.packages, func(pkg *Package) bool { return slices.Contains(pkg.ofC, name) })
}

// reword adds to a message of controller-tools or the type checker what to do about it.
func reword(message string) (reworded, hint string) {
	for _, known := range rewordings {
		if strings.Contains(message, known.contains) {
			return cmp.Or(known.message, message), known.hint
		}
	}
	return message, ""
}

// rewordings add to the messages of controller-tools what to do about them.
var rewordings = []struct{ contains, message, hint string }{
	{
		contains: "without JSON tag",
		hint:     "add a tag such as `json:\"name,omitempty\"`, or `json:\"-\"` to leave the field out",
	},
	{
		contains: "found float",
		message:  "floating-point numbers differ between languages and have no place in an API",
		hint:     "use resource.Quantity, a string, or an integer of a smaller unit; or allow floats with crd:allowDangerousTypes=true, which is --crd-allow-dangerous-types of kctrl manifests",
	},
	{
		contains: "is a recursive type",
		hint:     "put +kubebuilder:validation:Schemaless and +kubebuilder:pruning:PreserveUnknownFields on the field, or end the recursion",
	},
	{contains: "undefined: ", hint: "declare the type, or correct its name"},
	{contains: "unknown type", hint: "declare the type, or correct its name"},
	{contains: "+kubebuilder:validation:Type says", hint: "remove the marker, or put it on the type, with a MarshalJSON that writes it so"},
	{contains: "no deep copy can be made", hint: "write the type's DeepCopyInto by hand, or leave it out with +kubebuilder:object:generate=false"},
	{contains: "inline struct types are not supported", hint: "give the struct a name: type X struct { ... }"},
	{contains: "interface type is not supported", hint: "use a concrete type, runtime.RawExtension or apiextensionsv1.JSON"},
	{contains: "no apply configuration can have type", hint: "give the type a name, or leave the field out of the JSON form"},
	{contains: "unsafe.Pointer", hint: "use an integer, or leave the field out of the JSON form"},
	{contains: "are both", hint: "give one of them another kind or +versionName, or take its package out of paths"},
	{contains: "has no storage version", hint: "add // +kubebuilder:storageversion to the type of one version"},
	{contains: "does not serve any version", hint: "remove // +kubebuilder:unservedversion from the type of one version"},
	{contains: "must apply listType to an array", hint: "move the marker to a field whose type is a slice"},
}

// parsePosition reads "file:line:col", "file:line" or "file", as the go command prints it. Anything else has no
// position.
func parsePosition(text string) token.Position {
	var pos token.Position
	name, last, numbered := cutNumber(text)
	if !numbered {
		if filepath.Ext(text) == ".go" {
			pos.Filename = text
		}
		return pos
	}
	pos.Line = last
	if before, line, ok := cutNumber(name); ok {
		name, pos.Line, pos.Column = before, line, last
	}
	pos.Filename = name
	return pos
}

// cutNumber splits a trailing ":number" off.
func cutNumber(text string) (before string, number int, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 {
		return text, 0, false
	}
	number, err := strconv.Atoi(text[i+1:])
	return text[:i], number, err == nil
}
