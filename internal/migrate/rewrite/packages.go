package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Module is the module whose packages are rewritten.
type Module struct {
	// Dir is the absolute directory of the module.
	Dir string
	// Overlay has files that are not yet on disk, by absolute path.
	Overlay map[string][]byte
}

// Result has the new files of packages, and the numbers of references.
type Result struct {
	// Sources and Files have the contents of changed files before and after, by absolute path.
	Sources, Files map[string][]byte
	// Before and After have the number of references to each name of controller-runtime, such as "client.Client".
	Before, After map[string]int
	// Dropped are the groups of rules that were not applied to a package, with the reason.
	Dropped []Dropped
}

// Dropped is a group of rules that was not applied to a package, because the result would not compile.
type Dropped struct {
	Package string `json:"package"`
	Group   string `json:"group"`
	Reason  string `json:"reason"`
}

const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule

// Packages applies groups of rules to the packages that match patterns, such that the whole module compiles with the
// result, including tests. If the module does not compile before, Packages returns a *diagnostic.Error.
func Packages(ctx context.Context, m Module, patterns []string, groups []Group) (*Result, error) {
	named, err := m.names(ctx, patterns)
	if err != nil {
		return nil, err
	}
	loaded, err := m.load(ctx, nil)
	if err != nil {
		return nil, err
	}
	if e := firstError(loaded); e != nil {
		return nil, m.notCompiling("the project does not compile", e)
	}
	files, err := filesOf(loaded, named)
	if err != nil {
		return nil, err
	}
	r := &Result{Before: map[string]int{}}
	for _, f := range files {
		addTo(r.Before, f.uses())
	}
	if err := m.converge(ctx, r, files, groups); err != nil {
		return nil, err
	}
	return r, nil
}

// converge drops groups for packages that do not compile until all packages compile.
func (m Module) converge(ctx context.Context, r *Result, files []*File, groups []Group) error {
	keeps := map[string][]Group{} // by package: the groups that still apply to it
	for _, group := range groups {
		for _, f := range files {
			at := f.Package.Path()
			f.apply([]Group{group})
			if n := len(keeps[at]); len(f.edits) > 0 && (n == 0 || keeps[at][n-1].Name != group.Name) {
				keeps[at] = append(keeps[at], group)
			}
		}
	}
	for {
		r.Sources, r.Files = map[string][]byte{}, map[string][]byte{}
		for _, f := range files {
			f.apply(keeps[f.Package.Path()])
			after, err := f.result()
			if err != nil {
				return err
			}
			if !bytes.Equal(after, f.Source) {
				r.Sources[f.Name], r.Files[f.Name] = f.Source, after
			}
		}
		if len(r.Files) == 0 {
			r.After = r.Before
			return nil
		}
		loaded, err := m.load(ctx, r.Files)
		if err != nil {
			return err
		}
		if loaded, err = m.convert(ctx, r, loaded, groups); err != nil {
			return err
		}
		broken := firstError(loaded)
		if broken == nil {
			return m.count(r, loaded, files)
		}
		at, ok := m.dropFrom(broken, files, keeps)
		if !ok {
			return m.notCompiling("the rewritten project would not compile, and nothing is written", broken)
		}
		last := len(keeps[at]) - 1
		r.Dropped = append(r.Dropped, Dropped{at, keeps[at][last].Name, m.relative(broken)})
		keeps[at] = keeps[at][:last]
	}
}

// dropFrom returns the package for which an error drops a group: the package of the file, or the one with the most
// groups.
func (m Module) dropFrom(e *packages.Error, files []*File, keeps map[string][]Group) (string, bool) {
	name, _, _ := strings.Cut(m.relative(e), ":")
	for _, f := range files {
		if m.inModule(f.Name) == name && len(keeps[f.Package.Path()]) > 0 {
			return f.Package.Path(), true
		}
	}
	all := slices.Sorted(maps.Keys(keeps))
	if len(all) == 0 {
		return "", false
	}
	most := slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(len(keeps[a]), len(keeps[b])) })
	return most, len(keeps[most]) > 0
}

// count counts the references that remain.
func (m Module) count(r *Result, loaded []*packages.Package, before []*File) error {
	named := map[string]bool{}
	for _, f := range before {
		named[f.Name] = true
	}
	r.After = map[string]int{}
	seen := map[string]bool{}
	for _, pkg := range loaded {
		for i, syntax := range pkg.Syntax {
			name := pkg.CompiledGoFiles[i]
			if !named[name] || seen[name] {
				continue
			}
			seen[name] = true
			f := &File{Name: name, Syntax: syntax, Fset: pkg.Fset, Package: pkg.Types, Info: pkg.TypesInfo}
			addTo(r.After, f.uses())
		}
	}
	return nil
}

func addTo(sum, counts map[string]int) {
	for name, n := range counts {
		sum[name] += n
	}
}

// config returns a configuration for go/packages.
func (m Module) config(ctx context.Context, mode packages.LoadMode) *packages.Config {
	return &packages.Config{
		Context: ctx, Mode: mode, Dir: m.Dir, Tests: true, Overlay: m.Overlay, Fset: token.NewFileSet(), Env: os.Environ(),
	}
}

// names returns the import paths of the packages that match patterns.
func (m Module) names(ctx context.Context, patterns []string) (map[string]bool, error) {
	list, err := packages.Load(m.config(ctx, packages.NeedName|packages.NeedFiles), patterns...)
	if err != nil {
		return nil, loadError(ctx, err)
	}
	named := map[string]bool{}
	for _, pkg := range list {
		if len(pkg.Errors) > 0 && len(pkg.GoFiles) == 0 {
			return nil, &diagnostic.Error{
				Message: "cannot find the package " + pkg.PkgPath + ": " + oneLine(pkg.Errors[0].Msg),
				Hint:    "name packages of the module, such as ./internal/controller or ./...",
				Class:   diagnostic.ErrUsage,
			}
		}
		named[pkg.PkgPath] = true
	}
	if len(named) == 0 {
		return nil, &diagnostic.Error{
			Message: "no Go packages match " + strings.Join(patterns, " "),
			Hint:    "name packages of the module, such as ./internal/controller or ./...", Class: diagnostic.ErrUsage,
		}
	}
	return named, nil
}

// load loads all packages of the module. The contents in files replace those on disk.
func (m Module) load(ctx context.Context, files map[string][]byte) ([]*packages.Package, error) {
	config := m.config(ctx, loadMode)
	config.Overlay = map[string][]byte{}
	maps.Copy(config.Overlay, m.Overlay)
	maps.Copy(config.Overlay, files)
	loaded, err := packages.Load(config, "./...")
	if err != nil {
		return nil, loadError(ctx, err)
	}
	slices.SortFunc(loaded, func(a, b *packages.Package) int { return cmp.Compare(a.ID, b.ID) })
	return loaded, nil
}

func loadError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &diagnostic.Error{
		Message: "cannot load the packages: " + oneLine(err.Error()),
		Hint:    "go build ./... must succeed before kctrl migrate code", Cause: err,
	}
}

// firstError returns the first error in a list of packages. It prefers errors whose positions are in the files
// themselves, because the go command's errors contain the names of temporary copies of overlay files.
func firstError(list []*packages.Package) *packages.Error {
	var first *packages.Error
	for _, pkg := range list {
		for _, e := range pkg.Errors {
			if e.Kind == packages.TypeError {
				return &e
			}
			if first == nil {
				first = &e
			}
		}
	}
	return first
}

func (m Module) notCompiling(what string, e *packages.Error) error {
	return &diagnostic.Error{
		Message: what + ": " + m.relative(e),
		Hint:    "go vet ./... lists all errors; repair them, then run the command again",
		Cause:   errors.New(e.Msg),
	}
}

// relative returns the message of an error, after its position relative to the module if it has one.
func (m Module) relative(e *packages.Error) string {
	if e.Pos == "" || e.Pos == "-" {
		return strings.TrimPrefix(oneLine(e.Msg), "./") // the compiler's errors begin with the position
	}
	return m.inModule(e.Pos) + ": " + oneLine(e.Msg)
}

// inModule returns an absolute path or position relative to the module, with slashes.
func (m Module) inModule(name string) string {
	return filepath.ToSlash(strings.TrimPrefix(name, m.Dir+string(filepath.Separator)))
}

// oneLine returns the first line of a message that is not one of the go command's headings.
func oneLine(message string) string {
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return strconv.Quote(message)
}

// filesOf returns the files of the named packages, without duplicates: a package and its tests share files.
func filesOf(loaded []*packages.Package, named map[string]bool) ([]*File, error) {
	var files []*File
	seen := map[string]bool{}
	for _, pkg := range loaded {
		if !named[pkg.PkgPath] {
			continue
		}
		for i, syntax := range pkg.Syntax {
			name := pkg.CompiledGoFiles[i]
			if seen[name] || filepath.Ext(name) != ".go" || !slices.Contains(pkg.GoFiles, name) {
				continue // cgo generated the file
			}
			seen[name] = true
			source, err := os.ReadFile(name)
			if err != nil {
				return nil, diagnostic.AtFile(name, "cannot read", err)
			}
			files = append(files, &File{
				Name: name, Syntax: syntax, Fset: pkg.Fset, Package: pkg.Types, Info: pkg.TypesInfo, Source: source,
			})
		}
	}
	return files, nil
}
