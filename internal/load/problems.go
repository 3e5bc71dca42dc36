package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// Problems returns the errors in packages of another loader, as [Program.Problems] does. File names are relative to
// dir.
func Problems(dir string, roots []*loader.Package) error {
	placeFound(dir, roots)
	return (&Program{dir: dir}).Problems(roots)
}

// placeFound makes the positions of errors independent of the working directory. The loader of controller-tools runs
// the go command in the directory of each pattern, but does not report the directory. So placeFound searches the
// directories of the packages and their parents for one in which the file exists, and belongs to the package or imports
// it.
func placeFound(dir string, roots []*loader.Package) {
	folders := around(dir, roots)
	for pkg := range Reachable(roots) {
		for i, e := range pkg.Errors {
			pos := diagnostic.ParsePosition(e.Pos)
			if pos.Filename == "" || filepath.IsAbs(pos.Filename) {
				continue
			}
			at := slices.IndexFunc(folders, func(folder string) bool {
				name := filepath.Join(folder, pos.Filename)
				content, err := os.ReadFile(name)
				return err == nil && (filepath.Dir(name) == pkg.Dir || importsOn(content, pos.Line, pkg.PkgPath))
			})
			if at >= 0 {
				pkg.Errors[i].Pos = filepath.Join(folders[at], e.Pos)
			}
		}
	}
}

// around returns the directories of packages and their parents up to dir.
func around(dir string, roots []*loader.Package) []string {
	folders := map[string]bool{dir: true}
	for _, root := range roots {
		for folder := root.Dir; strings.HasPrefix(folder, dir+string(filepath.Separator)); folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

func importsOn(content []byte, line int, importPath string) bool {
	lines := bytes.Split(content, []byte("\n"))
	return line >= 1 && line <= len(lines) && bytes.Contains(lines[line-1], []byte(strconv.Quote(importPath)))
}

// Problems returns the errors that loaders and generators found in the packages and their imports. It joins
// *diagnostic.Error values, without duplicates. It omits errors of the type checker about types that no generator
// needs, because only needed types are checked.
func (p *Program) Problems(roots []*loader.Package) error {
	reached := reachable(withoutRuntime(roots))
	typeErrors := map[token.Position][]packages.Error{}
	var recursive []packages.Error
	for pkg := range reached {
		for _, e := range pkg.Errors {
			if e.Kind == packages.TypeError {
				at := lineOf(e)
				typeErrors[at] = append(typeErrors[at], e)
			}
			if e.Kind == packages.TypeError && strings.Contains(e.Msg, "invalid recursive type") {
				recursive = append(recursive, e)
			}
		}
	}
	found := map[diagnostic.Error]packages.ErrorKind{}
	for pkg := range reached {
		for _, e := range pkg.Errors {
			if e.Kind == packages.TypeError {
				continue
			}
			causes := []packages.Error{e}
			if better := typeErrors[lineOf(e)]; len(better) > 0 && isAboutNoType(e) {
				causes = better
			} else if len(recursive) > 0 && isAboutNoType(e) {
				causes = recursive // report recursive types at their declaration, not at their use
			} else if named := unimported(e); named != "" {
				causes = append(naming(pkg, named), e)[:1]
			}
			for _, cause := range causes {
				d := p.problem(cause)
				if d.Pos.Filename == "" {
					d.Pos = p.cyclePosition(reached, cause.Msg)
				}
				found[*d] = cause.Kind
			}
		}
	}
	var errs []error
	var missing []string
	for _, d := range slices.SortedFunc(maps.Keys(found), compareProblems) {
		if found[d] == packages.ListError {
			if slices.Contains(missing, d.Message) {
				continue // several files import the package
			}
			missing = append(missing, d.Message)
		}
		errs = append(errs, &d)
	}
	return errors.Join(errs...)
}

// Reported reports whether a generator found an error in a package.
func Reported(pkg *loader.Package) bool {
	return slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind != packages.TypeError })
}

// withoutRuntime separates the packages of a bundled runtime from all other packages, if there are any. The project's
// go.mod requires only the modules of the runtime packages that the project imports, so errors of other runtime
// packages do not count.
func withoutRuntime(roots []*loader.Package) (others, runtime []*loader.Package) {
	for _, pkg := range roots {
		if strings.HasPrefix(pkg.PkgPath, "github.com/kctrl-dev/kctrl/") {
			runtime = append(runtime, pkg)
		} else {
			others = append(others, pkg)
		}
	}
	if len(others) == 0 {
		return runtime, nil
	}
	return others, runtime
}

func compareProblems(a, b diagnostic.Error) int {
	return cmp.Or(diagnostic.ComparePosition(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message))
}

// lineOf returns the file and the line of an error. Errors at one line have the same cause.
func lineOf(e packages.Error) token.Position {
	pos := diagnostic.ParsePosition(e.Pos)
	pos.Column = 0
	return pos
}

var unimportedPackage = regexp.MustCompile(`^use of unimported package "(.*)"$`)

// unimported returns the name in controller-tools' error about a package that is not imported. This error has no
// position.
func unimported(e packages.Error) string {
	if m := unimportedPackage.FindStringSubmatch(e.Msg); m != nil {
		return m[1]
	}
	return ""
}

// naming returns the type checker's errors that contain a name.
func naming(pkg *loader.Package, name string) []packages.Error {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	return slices.DeleteFunc(slices.Clone(pkg.Errors), func(e packages.Error) bool {
		return e.Kind != packages.TypeError || !word.MatchString(e.Msg)
	})
}

// isAboutNoType reports whether an error of a generator is about a missing type.
func isAboutNoType(e packages.Error) bool {
	return strings.Contains(e.Msg, "invalid type") || strings.Contains(e.Msg, "unknown type")
}

func (p *Program) problem(e packages.Error) *diagnostic.Error {
	d := &diagnostic.Error{Pos: diagnostic.Relative(p.dir, diagnostic.ParsePosition(e.Pos))}
	switch e.Kind {
	case packages.ListError, packages.ParseError:
		d.Message, d.Hint = p.listProblem(e.Msg)
	default:
		d.Message, _ = markers.SplitOffset(diagnostic.OneLine(strings.TrimSpace(e.Msg)))
		d.Message, d.Hint = reword(d.Message)
	}
	if name, undefined := strings.CutPrefix(d.Message, "undefined: "); undefined && p.isOfC(name) {
		d.Message, d.Hint = name+" has types of C, which require a C compiler",
			"use types of Go; kctrl gen accepts types of C, as controller-gen does"
	}
	return d
}

// isOfC reports whether a type is missing because its declaration uses cgo.
func (p *Program) isOfC(name string) bool {
	return slices.ContainsFunc(p.packages, func(pkg *Package) bool { return slices.Contains(pkg.ofC, name) })
}

// reword returns a clearer message and a hint for a message of controller-tools or the type checker.
func reword(message string) (reworded, hint string) {
	for _, known := range rewordings {
		if strings.Contains(message, known.contains) {
			return cmp.Or(known.message, message), known.hint
		}
	}
	return message, ""
}

// rewordings are clearer messages and hints for messages of controller-tools.
var rewordings = []struct{ contains, message, hint string }{
	{
		contains: "without JSON tag",
		hint:     "add a tag such as `json:\"name,omitempty\"`, or `json:\"-\"` to omit the field",
	},
	{
		contains: "found float",
		message:  "floating-point numbers differ between languages, so APIs do not use them",
		hint: "use resource.Quantity, a string, or an integer of a smaller unit; or allow floats with " +
			"crd:allowDangerousTypes=true, which is --crd-allow-dangerous-types of kctrl manifests",
	},
	{
		contains: "to an array value, found array",
		message:  "markers for items apply to a list without a name, and the type of the field is a list with a name",
		hint:     "write them at the type of the list, or use a type such as []string in the field",
	},
	{
		contains: "is a recursive type",
		hint: "put +kubebuilder:validation:Schemaless and +kubebuilder:pruning:PreserveUnknownFields on the field, or " +
			"end the recursion",
	},
	{contains: "invalid recursive type", hint: "make one of the fields a pointer, a list or a map"},
	{contains: "undefined: ", hint: "declare the type, or correct its name"},
	{contains: "unknown type", hint: "declare the type, or correct its name"},
	{contains: "+kubebuilder:validation:Type declares",
		hint: "remove the marker, or put it on the type, with a MarshalJSON that writes that type"},
	{contains: "cannot generate a deep copy", hint: "write the type's DeepCopyInto by hand, or omit it with " +
		"+kubebuilder:object:generate=false"},
	{contains: "inline struct types are not supported", hint: "give the struct a name: type X struct { ... }"},
	{contains: "interface type is not supported",
		hint: "use a concrete type, runtime.RawExtension or apiextensionsv1.JSON"},
	{contains: "no apply configuration can have type", hint: "give the type a name, or omit the field with `json:\"-\"`"},
	{contains: "unsafe.Pointer", hint: "use an integer, or omit the field with `json:\"-\"`"},
	{contains: "are both", hint: "give one of them another kind or +versionName, or take its package out of paths"},
	{contains: "the field is written inline", hint: "give it a name in its JSON tag"},
	{contains: "has no storage version", hint: "add // +kubebuilder:storageversion to the type of one version"},
	{contains: "does not serve any version", hint: "remove // +kubebuilder:unservedversion from the type of one version"},
	{contains: "must apply listType to an array", hint: "move the marker to a field whose type is a slice"},
}

var listPosition = regexp.MustCompile(`^(\S+\.(?:go|mod|sum|work)):(\d+)(?::(\d+))?: (.*)$`)

// loaderPrefix matches the beginning of errors of controller-tools' loader, with the directory of the go command.
var loaderPrefix = regexp.MustCompile(`^load packages in root "([^"]*)": (?s:err: )?`)

// ListError returns an error that explains why the go command, which controller-tools' loader ran in dir, listed no
// packages. File names are relative to dir.
func ListError(ctx context.Context, dir string, err error) error {
	return (&Program{dir: dir}).listError(ctx, dir, err)
}

// listError returns an error that explains why the go command, which ran in dir, listed no packages.
func (p *Program) listError(ctx context.Context, dir string, err error) error {
	text := err.Error()
	if m := loaderPrefix.FindStringSubmatch(text); m != nil {
		dir, text = m[1], text[len(m[0]):]
	}
	text = diagnostic.GoOutput(text)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(text, exec.ErrNotFound.Error()):
		return noGoCommand(err)
	}
	if d := p.fileProblem(dir, text, err); d != nil {
		return d
	}
	d := &diagnostic.Error{Cause: err}
	d.Message, d.Hint = p.listProblem(text)
	d.Message = "go list: " + d.Message
	return d
}

func noGoCommand(cause error) error {
	return &diagnostic.Error{
		Message: "go command not found",
		Hint:    "install Go from https://go.dev/dl, or add its bin directory to PATH",
		Cause:   cause,
	}
}

// fileProblem returns the error about a file, such as go.mod, in the output of the go command, which ran in dir. It
// returns nil if the output is not about a file.
func (p *Program) fileProblem(dir, text string, cause error) *diagnostic.Error {
	first, _, _ := strings.Cut(text, "\n")
	m := listPosition.FindStringSubmatch(first)
	if m == nil {
		return nil
	}
	name := m[1]
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	d := &diagnostic.Error{Pos: diagnostic.InProject(p.dir, name), Cause: cause}
	d.Pos.Line, _ = strconv.Atoi(m[2])
	d.Pos.Column, _ = strconv.Atoi(m[3])
	d.Message, d.Hint = (&Program{}).listProblem(m[4])
	d.Hint = cmp.Or(d.Hint, fileHint(filepath.Base(m[1]), d.Message))
	return d
}

// fileHint returns the hint for a file that the go command cannot parse.
func fileHint(name, message string) string {
	for _, conflict := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if strings.Contains(message, conflict) {
			return "resolve the merge conflict in " + name
		}
	}
	if filepath.Ext(name) == ".go" {
		return ""
	}
	return "correct the line, or restore " + name + " from version control"
}

var missingPackage = regexp.MustCompile(`no required module provides package ([^;:\s]+)`)

// listProblem returns the message and the hint for an error of the go command. The first line of the error contains the
// cause, and the other lines contain the chain of imports to it.
func (p *Program) listProblem(text string) (message, hint string) {
	if m := missingPackage.FindStringSubmatch(text); m != nil {
		if message, hint, ok := p.missingOwn(m[1]); ok {
			return message, hint
		}
	}
	return diagnostic.GoProblem(text)
}

// missingOwn returns a message and a hint that explain why the go command does not find a package in a loaded module.
func (p *Program) missingOwn(importPath string) (message, hint string, ok bool) {
	for _, pkg := range p.packages {
		if pkg.PkgPath == importPath {
			return "go.work does not use the module " + pkg.folder.Module.Path, "run go work use ., or set GOWORK=off", true
		}
		if strings.HasPrefix(importPath, pkg.folder.Module.Path+"/") {
			message, hint = "no package "+importPath, "create its directory, or correct the import path"
		}
	}
	return message, hint, message != ""
}

var importStack = regexp.MustCompile(`import cycle not allowed: import stack: \[([^\]]*)\]`)

// cyclePosition returns the position of the first import in an import cycle that the go command reports.
func (p *Program) cyclePosition(packages map[*loader.Package]bool, message string) token.Position {
	m := importStack.FindStringSubmatch(message)
	if m == nil {
		return token.Position{}
	}
	stack := strings.Fields(m[1])
	// The imports before the cycle lead to it and are not part of it.
	for len(stack) > 1 && stack[0] != stack[len(stack)-1] {
		stack = stack[1:]
	}
	if len(stack) < 2 {
		return token.Position{}
	}
	for pkg := range packages {
		if pkg.PkgPath == stack[0] {
			return diagnostic.Relative(p.dir, importPosition(pkg, stack[1]))
		}
	}
	return token.Position{}
}

// importPosition returns the position of the first import of importPath in the files of a package.
func importPosition(pkg *loader.Package, importPath string) token.Position {
	fset := token.NewFileSet()
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, spec := range file.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); imported == importPath {
				return fset.Position(spec.Path.Pos())
			}
		}
	}
	return token.Position{}
}
