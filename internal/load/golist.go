package load

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// loadModule lists packages of one module, and everything below them.
func (p *Program) loadModule(ctx context.Context, mod source.Module, importPaths []string) ([]*loader.Package, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, noGoCommand(err)
	}
	var flags []string
	if p.tags != nil {
		flags = append(flags, "-tags="+strings.Join(p.tags, ","))
	}
	loaded, err := loader.LoadRootsWithConfig(&packages.Config{
		Context: ctx,
		Dir:     mod.Dir,
		Fset:    p.fset,
		Overlay: p.goOverlay(),
		// They replace the one that the loader has.
		BuildFlags: flags,
		// With cgo, listing packages would compile their C code.
		Env: append(os.Environ(), "CGO_ENABLED=0"),
	}, importPaths...)
	if err != nil {
		return nil, p.listError(ctx, mod.Dir, err)
	}
	return loaded, nil
}

// goOverlay returns the part of the overlay that the go command has to see. It cannot be told that a file is gone, so
// such a file is given a build constraint that nothing meets.
func (p *Program) goOverlay() map[string][]byte {
	gone := []byte("//go:build ignore && !ignore\n\npackage ignore\n")
	overlay := map[string][]byte{}
	for _, pkg := range p.packages {
		for _, name := range pkg.broken {
			overlay[name] = gone
		}
	}
	for name, content := range p.tree.Overlay() {
		base := filepath.Base(name)
		switch {
		case filepath.Ext(name) == ".go" && content == nil:
			overlay[name] = gone
		case filepath.Ext(name) == ".go" || base == "go.mod" || base == "go.sum" || base == "go.work":
			overlay[name] = content
		}
	}
	return overlay
}

// reuseSyntax gives the loaded packages the syntax that was parsed already, and that of files that are not on disk.
func (p *Program) reuseSyntax(roots []*loader.Package) {
	parsed := map[string]*ast.File{}
	for _, pkg := range p.packages {
		for i, name := range pkg.files {
			parsed[name] = pkg.Syntax[i]
		}
	}
	for pkg := range Reachable(roots) {
		known := slices.ContainsFunc(pkg.CompiledGoFiles, func(name string) bool {
			_, planned := p.tree.Overlay()[name]
			return planned || parsed[name] != nil
		})
		if known {
			p.parseInto(pkg, parsed)
		}
	}
}

func (p *Program) parseInto(pkg *loader.Package, parsed map[string]*ast.File) {
	var syntax []*ast.File
	for _, name := range pkg.CompiledGoFiles {
		file := parsed[name]
		if file == nil {
			content, err := p.tree.ReadFile(name)
			if err == nil {
				file, err = parser.ParseFile(p.fset, name, content, parserMode)
			}
			if err != nil {
				pkg.AddError(err)
				return
			}
		}
		syntax = append(syntax, file)
	}
	if known := p.packageIn(filepath.Dir(pkg.CompiledGoFiles[0])); known != nil {
		for i, name := range known.files {
			// The go command, called without cgo, does not list what these import alone.
			if known.cgo[name] && importsAll(pkg, known.Syntax[i]) {
				syntax = append(syntax, known.Syntax[i])
			}
		}
	}
	pkg.Syntax = syntax
}

// importsAll reports whether a package imports all that one of its files does.
func importsAll(pkg *loader.Package, file *ast.File) bool {
	return !slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool {
		imported, _ := strconv.Unquote(spec.Path.Value)
		return pkg.Imports()[imported] == nil
	})
}

// listing is a call of the go command that lists packages: what it could learn from the disk is noted, so that its answer
// is one of the inputs.
type listing struct {
	program *Program
	asked   *resolve.Asked // nil if nobody knows what the go command goes by
}

// beginListing notes what the go command will ask about modules.
func (p *Program) beginListing(dir string) listing {
	return listing{program: p, asked: p.tree.Ask(dir)}
}

// end notes where the listed packages come from. Should a listed package be one that kctrl would not have found, nobody
// knows when it changes.
func (l listing) end(roots []*loader.Package) {
	if l.asked == nil {
		l.program.unknown = true
		return
	}
	for pkg := range Reachable(roots) {
		if !l.note(pkg) {
			l.program.unknown = true
			return
		}
	}
}

// note notes what the go command has to know about one package. It reports false if that cannot be known.
func (l listing) note(pkg *loader.Package) bool {
	if slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind != packages.TypeError }) {
		return false
	}
	if pkg.PkgPath == "unsafe" {
		return true
	}
	if len(pkg.GoFiles) == 0 || !slices.Equal(pkg.GoFiles, pkg.CompiledGoFiles) {
		// What cgo makes depends on the C compiler.
		return false
	}
	l.asked.Package(pkg.PkgPath)
	dir, tree := filepath.Dir(pkg.GoFiles[0]), l.program.tree
	if !tree.Notes(dir) {
		return true
	}
	names, err := tree.GoFiles(dir)
	if err != nil || len(names) != len(pkg.GoFiles) {
		return false
	}
	for i, name := range names {
		name = filepath.Join(dir, name)
		if pkg.GoFiles[i] != name {
			return false
		}
		if _, err := tree.ReadFile(name); err != nil {
			return false
		}
	}
	tree.NoteGoFiles(dir)
	return true
}

var listPosition = regexp.MustCompile(`^(\S+\.(?:go|mod|sum|work)):(\d+)(?::(\d+))?: (.*)$`)

// loaderPrefix is what controller-tools' loader begins its errors with: the folder that the go command ran in.
var loaderPrefix = regexp.MustCompile(`^load packages in root "([^"]*)": (?s:err: )?`)

// ListError says why the go command, called by the loader of controller-tools for a folder, could not list packages at all.
// File names are made relative to that folder.
func ListError(ctx context.Context, dir string, err error) error {
	return (&Program{dir: dir}).listError(ctx, dir, err)
}

// listError says why the go command, called in a folder, could not list packages at all.
func (p *Program) listError(ctx context.Context, dir string, err error) error {
	text := err.Error()
	if m := loaderPrefix.FindStringSubmatch(text); m != nil {
		dir, text = m[1], text[len(m[0]):]
	}
	if before, printed, ok := strings.Cut(text, "stderr: "); ok {
		text = cmp.Or(strings.TrimSpace(printed), strings.TrimSuffix(strings.TrimSpace(before), ":"))
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(text, exec.ErrNotFound.Error()):
		return noGoCommand(err)
	}
	text = withoutHeading(text)
	if d := p.fileProblem(dir, text, err); d != nil {
		return d
	}
	d := &diagnostic.Error{Cause: err}
	d.Message, d.Hint = p.listProblem(text)
	d.Message = "go list: " + d.Message
	return d
}

// noGoCommand says that there is no go command.
func noGoCommand(cause error) error {
	return &diagnostic.Error{
		Message: "the go command was not found",
		Hint:    "install Go from https://go.dev/dl, or add its bin folder to PATH",
		Cause:   cause,
	}
}

// fileProblem says what the go command, run in a folder, has found wrong with a file such as go.mod, by the text that it
// printed. It returns nil if the text says nothing of a file.
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

// withoutHeading removes a line such as "go: errors parsing go.mod:", which is followed by what is wrong.
func withoutHeading(text string) string {
	if first, rest, more := strings.Cut(text, "\n"); more && strings.HasSuffix(first, ":") {
		return rest
	}
	return text
}

// fileHint says what to do about a file that the go command cannot parse.
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
		{"reading http", "run go mod download where the module proxy has that version, or correct it in go.mod"},
		{"inconsistent vendoring", "run go mod vendor"},
		{"vendor/modules.txt", "run go mod vendor"},
		{"import cycle", "move what both packages need into a third"},
		{"is not in std", "correct the import path, or run go get for its module"},
		{"not one of the workspace modules", "run go work use ., or set GOWORK=off"},
		{"does not contain modules listed in go.work", "run go work use ., or set GOWORK=off"},
		{"does not contain main module", "run kctrl in the folder of a Go module, name it with -C, or start one with go mod init"},
		{"listed in go.work file", "correct the use line in go.work, or set GOWORK=off"},
		{"-mod=", "correct -mod in GOFLAGS"},
		{"directory not found", "name folders that exist, such as paths=./api/v1 or paths=./..., or Go packages"},
		{"chdir ", "name folders that exist, such as paths=./api/v1 or paths=./..., or Go packages"},
		{"requires go >=", "install that version of Go, or lower the one that go.mod asks for"},
	} {
		if strings.Contains(text, known.contains) {
			return known.hint
		}
	}
	return ""
}

var importStack = regexp.MustCompile(`import cycle not allowed: import stack: \[([^\]]*)\]`)

// cyclePosition returns where an import cycle, as the go command reports it, begins: the first import in it.
func (p *Program) cyclePosition(packages map[*loader.Package]bool, message string) token.Position {
	m := importStack.FindStringSubmatch(message)
	if m == nil {
		return token.Position{}
	}
	stack := strings.Fields(m[1])
	// What comes before the cycle led to it, and is not to blame.
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

// importPosition returns where a package imports another: in the first of its files that does.
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
