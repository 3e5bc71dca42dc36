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
	// Step is called before each further build configuration is type-checked for the first time, which can take minutes.
	// It may be nil.
	Step func(message string)
}

// Result has the new files of packages, and the numbers of references.
type Result struct {
	// Sources and Files have the contents of changed files before and after, by absolute path.
	Sources, Files map[string][]byte
	// Before and After have the number of references to each name of controller-runtime, such as "client.Client".
	Before, After map[string]int
	// Dropped are the groups of rules that were not applied to a package, with the reason.
	Dropped []Dropped
	// Configurations are the build configurations besides the default for which the module was type-checked, such as
	// "GOOS=windows" and "-tags=e2e".
	Configurations []string
	// Skipped are files that were not rewritten.
	Skipped []Skipped
}

// Skipped is a file that was not rewritten: a generated file, or a file that was not type-checked.
type Skipped struct {
	File    string `json:"file"` // relative to the module
	Reason  string `json:"reason"`
	Checked bool   `json:"checked"`
}

// Dropped is a group of rules that was not applied to a package, because the result would not compile. An empty group
// means all rules, because the package can be used by a file that was not type-checked.
type Dropped struct {
	Package string `json:"package"`
	Group   string `json:"group"`
	Reason  string `json:"reason"`
}

const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule

// Packages applies groups of rules to the packages that match patterns, such that the whole module compiles with the
// result, including tests, in each build configuration that files of these packages and of their importers need. It
// applies no rules to packages that files can use which compile in no configuration, and does not change generated
// files. If the module does not compile before, Packages returns a *diagnostic.Error.
func Packages(ctx context.Context, m Module, patterns []string, groups []Group) (*Result, error) {
	src, err := m.readSources(ctx)
	if err != nil {
		return nil, err
	}
	named, err := m.names(ctx, src, patterns)
	if err != nil {
		return nil, err
	}
	w := &rewriting{Module: m, sources: src, Result: &Result{Before: map[string]int{}}, packages: map[string]string{}}
	files, err := w.loadBefore(ctx, named)
	if err != nil {
		return nil, err
	}
	w.keep(files, groups)
	if err := w.converge(ctx, files, groups); err != nil {
		return nil, err
	}
	return w.Result, nil
}

// rewriting is the state of a call of Packages.
type rewriting struct {
	Module
	*sources
	*Result
	configurations []configuration    // that are type-checked, the default first
	packages       map[string]string  // by absolute name of a file: its package
	keeps          map[string][]Group // by package: the groups that still apply to it
	unchecked      []*sourceFile
}

// loadBefore type-checks the module, and returns the files of the named packages. It chooses the build configurations
// that the files need.
func (w *rewriting) loadBefore(ctx context.Context, named map[string]bool) (files []*File, err error) {
	users := w.users(named)
	reasons := map[string]string{}
	candidates := []configuration{{}}
	for _, f := range users {
		reasons[f.name] = "no known build includes the file"
		if c, ok := w.configurationOf(f); ok && !slices.Contains(candidates, c) {
			candidates = append(candidates, c)
		}
	}
	for i, c := range candidates {
		if i > 0 && c.file == "" && w.Step != nil {
			w.Step("type-checking the module with " + c.String())
		}
		loaded, err := w.load(ctx, c, nil)
		if err != nil && (i == 0 || ctx.Err() != nil) {
			return nil, err
		}
		broken := firstError(loaded)
		if broken != nil && i == 0 {
			return nil, w.notCompiling("the project does not compile", broken)
		}
		if err != nil || broken != nil {
			reason := ""
			if err != nil {
				reason = err.Error()
			} else {
				reason = w.relative(broken)
			}
			for _, f := range users {
				if own, _ := w.configurationOf(f); own == c {
					reasons[f.name] = strings.TrimPrefix(c.String()+": ", ": ") + reason
				}
			}
			continue
		}
		w.configurations = append(w.configurations, c)
		if i > 0 && c.file == "" {
			w.Configurations = append(w.Configurations, c.String())
		}
		if files, err = w.addFiles(files, loaded, named); err != nil {
			return nil, err
		}
	}
	for _, f := range users {
		if w.packages[f.name] == "" {
			w.unchecked = append(w.unchecked, f)
			w.Skipped = append(w.Skipped, Skipped{File: w.inModule(f.name), Reason: reasons[f.name]})
		}
	}
	return files, nil
}

// addFiles appends the files of the named packages that are not in files yet: a package, its tests and build
// configurations share files.
func (w *rewriting) addFiles(files []*File, loaded []*packages.Package, named map[string]bool) ([]*File, error) {
	added := map[string]bool{} // by name: whether the file is new and in a named package
	for _, pkg := range loaded {
		for _, name := range pkg.GoFiles {
			if w.packages[name] == "" {
				w.packages[name] = pkg.PkgPath
				added[name] = named[pkg.PkgPath]
			}
		}
		for i, syntax := range pkg.Syntax {
			name := pkg.CompiledGoFiles[i]
			if !added[name] {
				continue
			}
			delete(added, name)
			source, err := os.ReadFile(name)
			if err != nil {
				return nil, diagnostic.AtFile(name, "cannot read", err)
			}
			f := &File{
				Name: name, Syntax: syntax, Fset: pkg.Fset, Package: pkg.Types, Info: pkg.TypesInfo, Source: source,
			}
			uses := f.uses()
			addTo(w.Before, uses)
			if reason := w.whyFixed(name, syntax); reason != "" {
				f.fixed = true
				if len(uses) > 0 {
					w.Skipped = append(w.Skipped, Skipped{w.inModule(name), reason, true})
				}
			}
			files = append(files, f)
		}
	}
	for _, f := range w.files {
		if added[f.name] && f.cgo && f.uses { // the compiler reads another file, which cgo generated
			w.Skipped = append(w.Skipped, Skipped{w.inModule(f.name), "the file uses cgo", true})
		}
	}
	return files, nil
}

// keep determines the groups that apply to each package. No group applies to a package that files can use which are
// not type-checked.
func (w *rewriting) keep(files []*File, groups []Group) {
	w.keeps = map[string][]Group{}
	for _, group := range groups {
		for _, f := range files {
			at := f.Package.Path()
			f.apply([]Group{group})
			if n := len(w.keeps[at]); len(f.edits) > 0 && (n == 0 || w.keeps[at][n-1].Name != group.Name) {
				w.keeps[at] = append(w.keeps[at], group)
			}
		}
	}
	for _, f := range w.unchecked {
		used := w.usedBy(f)
		for _, at := range slices.Sorted(maps.Keys(w.keeps)) {
			if used[strings.TrimSuffix(at, "_test")] {
				w.Dropped = append(w.Dropped, Dropped{at, "", w.inModule(f.name) + " is not type-checked"})
				delete(w.keeps, at)
			}
		}
	}
}

// converge drops groups for packages that do not compile until all packages compile.
func (w *rewriting) converge(ctx context.Context, files []*File, groups []Group) error {
	for {
		w.Sources, w.Files = map[string][]byte{}, map[string][]byte{}
		for _, f := range files {
			f.apply(w.keeps[f.Package.Path()])
			after, err := f.result()
			if err != nil {
				return err
			}
			if !bytes.Equal(after, f.Source) {
				w.Sources[f.Name], w.Files[f.Name] = f.Source, after
			}
		}
		if len(w.Files) == 0 {
			w.After = w.Before
			return nil
		}
		loaded, broken, err := w.check(ctx, groups)
		if err != nil {
			return err
		}
		if broken == nil {
			w.count(loaded, files)
			return nil
		}
		at, ok := w.dropFrom(broken)
		if !ok {
			return w.notCompiling("the rewritten project would not compile, and nothing is written", broken)
		}
		last := len(w.keeps[at]) - 1
		w.Dropped = append(w.Dropped, Dropped{at, w.keeps[at][last].Name, w.relative(broken)})
		w.keeps[at] = w.keeps[at][:last]
	}
}

// dropFrom returns the package for which an error drops a group: the package of the file, or the one with the most
// groups. It prefers packages that the package of the file imports.
func (w *rewriting) dropFrom(e *packages.Error) (string, bool) {
	name, _, _ := strings.Cut(w.relative(e), ":")
	own := w.packages[filepath.Join(w.Dir, filepath.FromSlash(name))]
	if len(w.keeps[own]) > 0 {
		return own, true
	}
	imported := w.reachable(strings.TrimSuffix(own, "_test"))
	rank := func(pkg string) int {
		if n := len(w.keeps[pkg]); n > 0 && imported[pkg] {
			return n + 100
		}
		return len(w.keeps[pkg])
	}
	all := slices.Sorted(maps.Keys(w.keeps))
	if len(all) == 0 {
		return "", false
	}
	most := slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return most, len(w.keeps[most]) > 0
}

// count counts the references that remain.
func (r *Result) count(loaded []*packages.Package, before []*File) {
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
}

func addTo(sum, counts map[string]int) {
	for name, n := range counts {
		sum[name] += n
	}
}

// config returns a configuration for go/packages.
func (m Module) config(ctx context.Context, c configuration, mode packages.LoadMode) *packages.Config {
	config := &packages.Config{
		Context: ctx, Mode: mode, Dir: filepath.Join(m.Dir, filepath.FromSlash(c.dir)), Tests: true, Overlay: m.Overlay,
		Fset: token.NewFileSet(),
		Env:  append(os.Environ(), c.env()...),
	}
	if c.tags != "" {
		config.BuildFlags = []string{c.tags}
	}
	return config
}

// names returns the import paths of the packages that match patterns, including packages that the default configuration
// excludes.
func (m Module) names(ctx context.Context, s *sources, patterns []string) (map[string]bool, error) {
	named, missing := map[string]bool{}, map[string]packages.Error{}
	for _, c := range s.namingConfigurations() {
		list, err := packages.Load(m.config(ctx, c, packages.NeedName|packages.NeedFiles), patterns...)
		if err != nil {
			return nil, loadError(ctx, err)
		}
		for _, pkg := range list {
			if len(pkg.Errors) > 0 && len(pkg.GoFiles) == 0 {
				missing[pkg.PkgPath] = pkg.Errors[0]
			} else {
				named[pkg.PkgPath] = true
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(missing)) {
		if !named[pkg] {
			return nil, &diagnostic.Error{
				Message: "cannot find the package " + pkg + ": " + oneLine(missing[pkg].Msg),
				Hint:    "name packages of the module, such as ./internal/controller or ./...",
				Class:   diagnostic.ErrUsage,
			}
		}
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
func (m Module) load(ctx context.Context, c configuration, files map[string][]byte) ([]*packages.Package, error) {
	config := m.config(ctx, c, loadMode)
	config.Overlay = map[string][]byte{}
	maps.Copy(config.Overlay, m.Overlay)
	maps.Copy(config.Overlay, files)
	loaded, err := packages.Load(config, cmp.Or(c.file, "./..."))
	if err != nil {
		return nil, loadError(ctx, err)
	}
	if len(loaded) == 0 { // for example, on an unknown platform
		return nil, loadError(ctx, errors.New("the go command lists no packages"))
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

// firstError returns the first error in a list of packages or in their dependencies. It prefers errors whose positions
// are in the files themselves, because the go command's errors contain the names of temporary copies of overlay files.
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
	if i := slices.IndexFunc(list, func(pkg *packages.Package) bool { return pkg.IllTyped }); first == nil && i >= 0 {
		first = &packages.Error{Msg: "a dependency of " + list[i].PkgPath + " does not compile"}
		packages.Visit(list[i:i+1], nil, func(pkg *packages.Package) { // dependencies first
			if len(pkg.Errors) > 0 {
				first = &pkg.Errors[0]
			}
		})
	}
	if first != nil && strings.HasPrefix(first.Msg, "could not import") {
		packages.Visit(list, nil, func(pkg *packages.Package) {
			i := slices.IndexFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind == packages.ListError })
			if i >= 0 && strings.HasPrefix(first.Msg, "could not import") {
				first = &pkg.Errors[i] // the reason
			}
		})
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
			return strings.TrimSuffix(line, "; to add:")
		}
	}
	return strconv.Quote(message)
}
