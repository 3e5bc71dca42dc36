package load

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

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
	return d
}

var missingPackage = regexp.MustCompile(`no required module provides package ([^;\s]+)`)

// listProblem rewords an error of the go command: its first line says it, the others how the command got there.
func (p *Program) listProblem(text string) (message, hint string) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first, _, _ = strings.Cut(first, "; to add")
	message = diagnostic.OneLine(strings.TrimSuffix(strings.TrimPrefix(first, "go: "), ":"))
	if m := missingPackage.FindStringSubmatch(text); m != nil {
		if message, hint, ok := p.missingOwn(m[1]); ok {
			return message, hint
		}
	}
	if strings.Contains(text, "does not contain main module") {
		message = "no go.mod file: this is not a Go module"
	}
	return message, listHint(text)
}

// missingOwn says why the go command finds no package in a module that was loaded.
func (p *Program) missingOwn(importPath string) (message, hint string, ok bool) {
	for _, pkg := range p.packages {
		if pkg.PkgPath == importPath {
			return "go.work does not use the module " + pkg.module.Path, "run go work use ., or set GOWORK=off", true
		}
		if strings.HasPrefix(importPath, pkg.module.Path+"/") {
			message, hint = "there is no package "+importPath, "create its folder, or correct the import path"
		}
	}
	return message, hint, message != ""
}

// listHint says what to do about an error of the go command.
func listHint(text string) string {
	for _, known := range []struct{ contains, hint string }{
		{"missing go.sum entry", "run go mod tidy"},
		{"no required module provides package", "run go mod tidy"},
		{"updates to go.mod needed", "run go mod tidy"},
		{"module lookup disabled", "run go mod download where the module proxy can be reached"},
		{"dial tcp", "run go mod download where the module proxy can be reached"},
		{"inconsistent vendoring", "run go mod vendor"},
		{"vendor/modules.txt", "run go mod vendor"},
		{"import cycle", "move what both packages need into a third"},
		{"is not in std", "correct the import path, or run go get for its module"},
		{"not one of the workspace modules", "run go work use ., or set GOWORK=off"},
		{"does not contain modules listed in go.work", "run go work use ., or set GOWORK=off"},
		{"does not contain main module", "run kctrl in the folder of a Go module, name it with -C, or start one with go mod init"},
		{"listed in go.work file", "correct the use line in go.work, or set GOWORK=off"},
		{"requires go >=", "install that version of Go, or lower the one that go.mod asks for"},
	} {
		if strings.Contains(text, known.contains) {
			return known.hint
		}
	}
	return ""
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
	{contains: "are both", hint: "give one of them another kind or +versionName, or take its package out of paths"},
	{contains: "has no storage version", hint: "add // +kubebuilder:storageversion to the type of one version"},
	{contains: "does not serve any version", hint: "remove // +kubebuilder:unservedversion from the type of one version"},
	{contains: "must apply listType to an array", hint: "move the marker to a field whose type is a slice"},
}
