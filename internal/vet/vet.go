// Package vet runs the rules of the public package vet on the packages of a module. It loads the packages, and returns
// the findings with positions and the packages that it could not check.
package vet

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/vet"
)

// Options select the packages to check.
type Options struct {
	// Dir is the absolute directory in which the go command runs. File names in results are relative to it.
	Dir string
	// Patterns are package patterns. Empty means "./...".
	Patterns []string
	// Tags are build tags.
	Tags []string
}

// Result is the result of [Run].
type Result struct {
	// Packages is the number of checked packages.
	Packages int
	// Findings are the findings of the rules, ordered by position. Their code is the name of the rule.
	Findings []*diagnostic.Error
	// Problems are errors about the packages that were not checked, each with the reason.
	Problems []error
	// Excluded are the files of checked packages that build constraints exclude and that may use a client.
	Excluded []string
	// Modules are the directories of other modules below Dir, which the patterns do not reach.
	Modules []string
	// Fixes are the suggested fixes of the findings. They do not overlap.
	Fixes []Fix

	loaded []*packages.Package
}

// mode makes go/packages load the matched packages from source, and their dependencies from export data.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

// Run loads and checks packages. It fails if it cannot load them, if no package matches, or if a rule fails.
func Run(ctx context.Context, o Options) (*Result, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, &diagnostic.Error{Message: "no go command in PATH", Hint: "install Go", Cause: err}
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./..."}
	}
	config := &packages.Config{Context: ctx, Dir: o.Dir, Mode: mode, Fset: token.NewFileSet()}
	if len(o.Tags) > 0 {
		config.BuildFlags = []string{"-tags=" + strings.Join(o.Tags, ",")}
	}
	loaded, err := packages.Load(config, o.Patterns...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, diagnostic.GoList(err)
	}
	result := &Result{loaded: loaded}
	if slices.Contains(o.Patterns, "./...") {
		result.Modules = otherModules(o.Dir)
	}
	result.Excluded = excluded(o.Dir, loaded)
	sound := result.sort(o.Dir)
	if len(sound) == 0 && len(result.Problems) == 0 {
		return nil, &diagnostic.Error{
			Message: "no packages to check: " + strings.Join(o.Patterns, " "),
			Hint:    "name packages of a Go module, such as ./...",
		}
	}
	return result, result.analyze(ctx, o.Dir, sound)
}

// sort returns the packages that compile, and records a problem for each of the other packages.
func (r *Result) sort(dir string) []*packages.Package {
	broken := map[string]bool{}
	for _, pkg := range r.loaded {
		if len(pkg.Errors) == 0 {
			continue
		}
		broken[pkg.ID] = true
		r.Problems = append(r.Problems, r.problem(dir, pkg))
	}
	var sound []*packages.Package
	for _, pkg := range r.loaded {
		switch {
		case broken[pkg.ID] || len(pkg.Syntax) == 0:
		case pkg.IllTyped:
			at := token.Position{Filename: relative(dir, pkg.GoFiles[0])}
			why, hint := "it imports a package that does not compile", ""
			if library := r.cause(pkg); library != nil {
				message, advice := explain(library.Errors)
				why, hint = "it depends on "+library.PkgPath+", which does not compile: "+message, advice
			}
			r.Problems = append(r.Problems, &diagnostic.Error{Pos: at, Hint: hint,
				Message: "package " + pkg.PkgPath + " was not checked: " + why})
		default:
			sound = append(sound, pkg)
		}
	}
	return sound
}

// cause returns the deepest dependency of a package that does not compile. It returns nil if one of the dependencies is
// a loaded package that does not compile, because that package has its own problem.
func (r *Result) cause(pkg *packages.Package) (found *packages.Package) {
	own := false
	packages.Visit([]*packages.Package{pkg}, nil, func(dependency *packages.Package) {
		switch {
		case len(dependency.Errors) == 0 || dependency == pkg:
		case slices.Contains(r.loaded, dependency):
			own = true
		case found == nil:
			found = dependency
		}
	})
	if own {
		return nil
	}
	return found
}

// problem returns an error that explains why a package was not checked.
func (r *Result) problem(dir string, pkg *packages.Package) error {
	if e := pkg.Errors[0]; strings.Contains(e.Msg, "does not contain main module") {
		return diagnostic.GoList(errors.New(e.Msg))
	}
	for _, path := range slices.Sorted(maps.Keys(pkg.Imports)) {
		for _, e := range pkg.Imports[path].Errors {
			if d := diagnostic.MissingModule(e.Msg); d != nil && e.Kind == packages.ListError {
				d.Pos, d.Message = position(dir, e.Pos), "package "+pkg.PkgPath+" was not checked: "+d.Message
				return d
			}
		}
	}
	at := position(dir, pkg.Errors[positioned(pkg.Errors)].Pos)
	if at.Filename == "" && len(pkg.GoFiles) > 0 {
		at.Filename = relative(dir, pkg.GoFiles[0])
	}
	message, hint := explain(pkg.Errors)
	if library := r.cause(pkg); library != nil && strings.HasPrefix(message, "could not import ") {
		message, hint = explain(library.Errors)
	}
	return &diagnostic.Error{Pos: at, Message: "package " + pkg.PkgPath + " was not checked: " + message, Hint: hint}
}

// positioned returns the index of the first error with a position, or 0. Some errors have no position, such as the
// compiler's output that the go command reports.
func positioned(all []packages.Error) int {
	return max(0, slices.IndexFunc(all, func(e packages.Error) bool { return strings.Contains(e.Pos, ".go:") }))
}

// explain returns the error of a package that a user can act on, and a hint.
func explain(all []packages.Error) (message, hint string) {
	i := slices.IndexFunc(all, func(e packages.Error) bool { return strings.Contains(e.Msg, "C compiler") })
	if i < 0 {
		i = positioned(all)
	}
	message = strings.TrimSpace(all[i].Msg)
	if _, last, found := strings.Cut(message, "\n"); found && strings.HasPrefix(message, "# ") {
		message = strings.TrimSpace(last) // the go command names the package first
	}
	message = strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(message)
	switch {
	case strings.Contains(message, "build constraints exclude all Go files"):
		hint = "select files with --tags"
	case strings.Contains(message, "C compiler") || strings.Contains(message, "cgo"):
		hint = "install a C compiler, or set CGO_ENABLED=0 if the package has files without cgo"
	}
	return message, hint
}

// position parses "file:line:col".
func position(dir, text string) token.Position {
	at := diagnostic.ParsePosition(text)
	if at.Filename != "" && !filepath.IsAbs(at.Filename) {
		at.Filename = filepath.Join(dir, at.Filename)
	}
	at.Filename = relative(dir, at.Filename)
	return at
}

func relative(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(name)
}

// analyze runs the rules.
func (r *Result) analyze(ctx context.Context, dir string, sound []*packages.Package) error {
	checked := map[*packages.Package]bool{}
	for _, pkg := range sound {
		checked[pkg] = true
	}
	for _, pkg := range sound { // facts come from packages with source
		for path, imported := range pkg.Imports {
			if !checked[imported] {
				delete(pkg.Imports, path)
			}
		}
	}
	r.Packages = len(sound)
	if len(sound) == 0 {
		return nil
	}
	graph, err := check(ctx, sound)
	if err != nil {
		return err
	}
	var errs []error
	for _, action := range graph.Roots {
		if action.Err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", action, action.Err))
		}
		for _, d := range action.Diagnostics {
			r.add(dir, action.Package.Fset, d)
		}
	}
	slices.SortFunc(r.Findings, func(a, b *diagnostic.Error) int {
		return strings.Compare(sortKey(a), sortKey(b))
	})
	return errors.Join(errs...)
}

// check runs the analyzers. If the context ends, it returns at once, and the analyzers run until the process ends,
// because package checker cannot interrupt them.
func check(ctx context.Context, sound []*packages.Package) (*checker.Graph, error) {
	type outcome struct {
		graph *checker.Graph
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		graph, err := checker.Analyze(vet.Analyzers, sound, nil)
		done <- outcome{graph, err}
	}()
	select {
	case o := <-done:
		return o.graph, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func sortKey(e *diagnostic.Error) string {
	return fmt.Sprintf("%s:%08d:%08d:%s", e.Pos.Filename, e.Pos.Line, e.Pos.Column, e.Message)
}

func (r *Result) add(dir string, set *token.FileSet, d analysis.Diagnostic) {
	at := set.Position(d.Pos)
	at.Filename = relative(dir, at.Filename)
	r.Findings = append(r.Findings, &diagnostic.Error{Pos: at, Message: d.Message, Code: d.Category})
	if len(d.SuggestedFixes) > 0 {
		r.addFix(dir, set, d.SuggestedFixes[0])
	}
}

// excluded returns the files that build constraints exclude and that import a client or a controller library.
func excluded(dir string, loaded []*packages.Package) []string {
	var files []string
	for _, pkg := range loaded {
		for _, name := range pkg.IgnoredFiles {
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && usesClient(name) {
				files = append(files, relative(dir, name))
			}
		}
	}
	slices.Sort(files)
	return files
}

// usesClient reports whether a file imports one of clients.
func usesClient(name string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool {
		path := strings.Trim(spec.Path.Value, `"`)
		return slices.ContainsFunc(clients, func(client string) bool { return strings.HasPrefix(path, client+"/") })
	})
}

// clients are the modules whose packages send requests to the API server.
var clients = []string{"github.com/kctrl-dev/kctrl/runtime", "sigs.k8s.io/controller-runtime", "k8s.io/client-go"}

// otherModules returns the directories below dir that contain a go.mod file.
func otherModules(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		base := entry.Name()
		if entry.IsDir() && name != dir && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
			slices.Contains([]string{"vendor", "testdata", "node_modules", "third_party"}, base)) {
			return filepath.SkipDir
		}
		if base == "go.mod" && filepath.Dir(name) != dir {
			found = append(found, relative(dir, filepath.Dir(name)))
		}
		return nil
	})
	return found
}
