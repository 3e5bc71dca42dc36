package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Module is a Go module: its absolute directory and its path.
type Module struct{ Dir, Path string }

// Dir is a directory that a pattern matches.
type Dir struct {
	Dir    string // absolute path
	Module Module
	Files  []string // names of the Go files that belong to the package, sorted
	// Turns are the positions at which controller-gen's loader finds the package.
	Turns []Turn
	// path is the import path by which the package was found, if byPath is set. It takes precedence over the path
	// within the module. It is empty for a directory that contains packages but is not one.
	path   string
	byPath bool
	nested int // the number of its module among those below a pattern, from 1
}

// Turn is a position in a round. controller-gen's loader calls the go command once per round: once for all import
// paths, once for each directory pattern, and once for each module below the directories.
type Turn struct{ Round, Place int }

// ImportPath returns the import path of the package in the directory.
func (f Dir) ImportPath() string {
	if f.byPath {
		return f.path
	}
	rel, _ := filepath.Rel(f.Module.Dir, f.Dir)
	return path.Join(f.Module.Path, filepath.ToSlash(rel))
}

// resolver finds the directories that patterns match.
type resolver struct {
	dir     string
	tree    *Tree
	modules map[string]Module   // by absolute directory; a cache
	ignored map[string][]string // the ignore directives of their go.mod files
	lenient bool
}

// Dirs returns the directories that match any of the patterns, which are relative to dir. The result is sorted by path
// and has no duplicates. A lenient search includes the modules below, and skips trees without Go packages if other
// patterns match packages. It returns the patterns of the skipped trees as passed.
func (t *Tree) Dirs(dir string, patterns []string, lenient bool) (found []Dir, passed, err error) {
	r := &resolver{dir: dir, tree: t, modules: map[string]Module{}, ignored: map[string][]string{}, lenient: lenient}
	seen := map[string]int{}
	if r.lenient {
		// As in controller-gen, a package that an import path and a directory pattern match gets the given import path.
		patterns = slices.Clone(patterns)
		slices.SortStableFunc(patterns, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	}
	last, place := len(patterns), 0
	for i, pattern := range patterns {
		matched, err := r.match(pattern)
		if r.lenient && errors.Is(err, errNoPackages) {
			passed = errors.Join(passed, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		nested := last
		for _, f := range matched {
			turn := Turn{Place: place}
			switch {
			case f.nested > 0: // modules below trees come after all patterns
				turn.Round = nested + f.nested
			case rank(pattern) > 0:
				turn.Round = i + 1
			}
			last, place = max(last, turn.Round), place+1
			at, known := seen[f.Dir]
			if !known {
				at, seen[f.Dir] = len(found), len(found)
				found = append(found, f)
			}
			found[at].Turns = append(found[at].Turns, turn)
		}
	}
	if len(found) == 0 {
		return nil, nil, passed
	}
	slices.SortFunc(found, func(a, b Dir) int { return strings.Compare(a.Dir, b.Dir) })
	return found, passed, nil
}

// errNoPackages is the cause of the error about a tree without Go packages.
var errNoPackages = errors.New("no Go packages")

func rank(pattern string) int {
	if isImportPath(pattern) {
		return 0
	}
	return 1
}

// match returns the directories with Go files that a pattern matches.
func (r *resolver) match(pattern string) ([]Dir, error) {
	if r.lenient && isImportPath(pattern) {
		return r.matchImport(pattern)
	}
	folders := resolve.NewPattern(filepath.ToSlash(pattern))
	if r.lenient && folders.IsTree() && !strings.HasSuffix(pattern, "/...") && pattern != "..." {
		return nil, patternError(pattern, "\"...\" matches directories and follows a slash",
			"write "+strings.TrimRight(pattern, "./")+"/...")
	}
	dir, err := r.dirOf(pattern, filepath.ToSlash(pattern))
	if err != nil {
		return nil, err
	}
	folders = resolve.NewPattern(filepath.ToSlash(dir))
	dir, below := filepath.FromSlash(folders.Base()), folders.IsTree()
	if !r.tree.IsDir(dir) {
		if r.tree.Exists(dir) {
			return nil, patternError(pattern, "is a file", "name its directory")
		}
		return nil, patternError(pattern, "there is no such directory",
			"name a directory of the project, such as ./api/v1 or ./...")
	}
	mod, err := r.moduleFor(dir)
	if err != nil {
		return nil, err
	}
	start := Dir{Dir: dir, Module: mod}
	if rel, err := filepath.Rel(mod.Dir, dir); err == nil && strings.HasPrefix(filepath.ToSlash(rel)+"/", "vendor/") {
		return r.matchVendored(pattern, start, folders)
	}
	found, err := r.matchingTree(start, folders)
	if err == nil && below && r.lenient {
		err = r.walkModules(dir, &found)
	}
	if err == nil && len(found) == 0 {
		return nil, noPackages(pattern, below)
	}
	return found, err
}

// noPackages returns the error about a directory pattern without matches.
func noPackages(pattern string, below bool) error {
	unmatched := patternError(pattern, "no Go package there", "name a directory with Go files, or a tree such as ./...")
	if below {
		unmatched.Cause = errNoPackages
	}
	return unmatched
}

// matchingTree returns the directories with Go files at start that a pattern of directories matches.
func (r *resolver) matchingTree(start Dir, folders resolve.Pattern) ([]Dir, error) {
	return r.matching(start, folders.IsTree(), func(f Dir) bool {
		return !folders.IsTree() || folders.Matches(filepath.ToSlash(f.Dir))
	})
}

// matching returns the directories with Go files at start that a pattern matches. If below is set, it includes the
// directories below start in the same module, except those that go.mod ignores.
func (r *resolver) matching(start Dir, below bool, matches func(Dir) bool) ([]Dir, error) {
	var found []Dir
	err := r.walk(start, below, &found)
	// Record all directories that were read, because the question does not contain the pattern.
	r.tree.noteDirs(start.Dir, below, found, err)
	return slices.DeleteFunc(found, func(f Dir) bool { return !matches(f) || below && r.isIgnored(f) }), err
}

// isIgnored reports whether go.mod excludes a directory from patterns.
func (r *resolver) isIgnored(f Dir) bool {
	rel, err := filepath.Rel(f.Module.Dir, f.Dir)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	inside := "/" + filepath.ToSlash(rel) + "/"
	return slices.ContainsFunc(r.ignored[f.Module.Dir], func(ignored string) bool {
		if atRoot, ok := strings.CutPrefix(ignored, "./"); ok {
			return strings.HasPrefix(inside, "/"+strings.Trim(atRoot, "/")+"/")
		}
		return strings.Contains(inside, "/"+strings.Trim(ignored, "/")+"/")
	})
}

// matchVendored returns the directories that a pattern matches in the vendor directory of a module. They have the
// import paths of the vendored packages.
func (r *resolver) matchVendored(pattern string, start Dir, folders resolve.Pattern) ([]Dir, error) {
	if !r.lenient {
		return nil, patternError(pattern, "is a vendor directory: its packages belong to other projects",
			"name a directory of the project, such as ./api/v1 or ./...")
	}
	packages, err := r.tree.Resolver(start.Module.Dir)
	if err != nil {
		return nil, err
	}
	vendor, ok := packages.VendorDir()
	rel, err := filepath.Rel(vendor, start.Dir)
	if !ok || err != nil || !filepath.IsLocal(rel) {
		return nil, &resolve.UnusualError{Reason: pattern + " is in a vendor directory that provides no packages"}
	}
	if start.byPath = true; rel != "." {
		start.path = filepath.ToSlash(rel)
	}
	found, err := r.matchingTree(start, folders)
	for _, f := range found {
		if !packages.IsVendored(f.path) {
			return nil, &resolve.UnusualError{Reason: f.path + " is not listed in vendor/modules.txt"}
		}
	}
	if err == nil && len(found) == 0 {
		return nil, noPackages(pattern, folders.IsTree())
	}
	return found, err
}

// moduleFor returns the module that a directory belongs to. It returns an error if the go command would find another
// go.mod in the directory than in the directory of the module: controller-gen runs the go command there.
func (r *resolver) moduleFor(dir string) (Module, error) {
	mod, err := r.moduleOf(dir)
	if err == nil && r.lenient && r.tree.environment != nil && !r.tree.environment.ModFileIn(dir, mod.Dir) {
		err = &resolve.UnusualError{Reason: "-modfile is relative to another directory"}
	}
	return mod, err
}

// isImportPath reports whether the go command treats a pattern as an import path.
func isImportPath(pattern string) bool {
	return !strings.HasPrefix(pattern, ".") && !filepath.IsAbs(pattern)
}

// matchImport returns the directories of the packages that an import path, or a tree of import paths, matches. It
// returns an [*resolve.UnusualError] if only the go command can find them.
func (r *resolver) matchImport(pattern string) ([]Dir, error) {
	mod, err := r.moduleFor(r.dir)
	if err != nil {
		return nil, err
	}
	packages, err := r.tree.Resolver(mod.Dir)
	if err != nil {
		return nil, err
	}
	imports := resolve.NewPattern(pattern)
	var trees []resolve.Tree
	if imports.IsTree() {
		trees, err = packages.Trees(imports)
	} else if dir, failed := packages.Root(pattern); failed == nil {
		trees = []resolve.Tree{{Dir: dir, Path: pattern}}
	} else {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	var found []Dir
	for _, tree := range trees {
		start := Dir{Dir: tree.Dir, Module: mod, path: tree.Path, byPath: true}
		matched, err := r.matching(start, imports.IsTree(), func(f Dir) bool { return imports.Matches(f.ImportPath()) })
		if err != nil {
			return nil, err
		}
		for _, f := range matched {
			if dir, err := packages.Root(f.ImportPath()); err != nil || dir != f.Dir {
				return nil, &resolve.UnusualError{Reason: f.ImportPath() + " is not the package of " + f.Dir}
			}
		}
		found = append(found, matched...)
	}
	if len(found) == 0 && !imports.IsTree() {
		return nil, &resolve.UnusualError{Reason: pattern + " has no Go files for this platform"}
	}
	if len(found) == 0 {
		unmatched := patternError(pattern, "no Go package there", "name a package of a module that go.mod requires")
		unmatched.Cause = errNoPackages
		return nil, unmatched
	}
	return found, nil
}

// bundled are the modules that kctrl writes into third_party. Nothing is generated from them, and the module versions
// that they require need not be in the module cache, because the project builds them with its own versions.
var bundled = []string{"github.com/kctrl-dev/kctrl", "sigs.k8s.io/controller-runtime"}

// walkModules adds the directories of all modules below dir, except bundled ones.
func (r *resolver) walkModules(dir string, found *[]Dir) error {
	modules, err := r.tree.modulesBelow(dir)
	r.tree.note(AskModules, dir, answerNames(modules, err))
	if err != nil {
		return diagnostic.Unreadable(r.dir, dir, err)
	}
	if e := r.tree.environment; len(modules) > 0 && e != nil && e.ModFile(dir) != filepath.Join(dir, "go.mod") {
		return &resolve.UnusualError{Reason: "-modfile replaces the go.mod of several modules"}
	}
	for i, name := range modules {
		mod, err := r.moduleOf(name)
		if err != nil {
			return err
		}
		if slices.Contains(bundled, mod.Path) {
			continue
		}
		matched, err := r.matching(Dir{Dir: name, Module: mod}, true, func(Dir) bool { return true })
		if err != nil {
			return err
		}
		for _, f := range matched {
			f.nested = i + 1
			*found = append(*found, f)
		}
	}
	return nil
}

// modulesBelow returns the directories of the modules that begin below a directory on disk, including hidden ones.
func (t *Tree) modulesBelow(dir string) ([]string, error) {
	entries, err := t.entries(dir)
	if err != nil {
		return nil, err
	}
	var modules []string
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		sub := filepath.Join(dir, entry.Name())
		inside, err := t.entries(sub)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(inside, func(e fs.DirEntry) bool { return e.Name() == "go.mod" && !e.IsDir() }) {
			modules = append(modules, sub)
		}
		below, err := t.modulesBelow(sub)
		if err != nil {
			return nil, err
		}
		modules = append(modules, below...)
	}
	return modules, nil
}

// dirOf returns the absolute path of the directory that base, a pattern without its dots, starts at.
func (r *resolver) dirOf(pattern, base string) (string, error) {
	dir := filepath.FromSlash(path.Clean(base))
	if base == "" {
		dir = "."
	}
	if mod, err := r.moduleOf(r.dir); err == nil {
		if rest, ok := strings.CutPrefix(path.Clean(base)+"/", mod.Path+"/"); ok {
			dir = filepath.Join(mod.Dir, filepath.FromSlash(rest))
		}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.dir, dir)
	}
	if rel, err := filepath.Rel(r.dir, dir); err != nil || !filepath.IsLocal(rel) {
		return "", patternError(pattern, "outside the project", "name a directory of the project, such as ./api/v1 or ./...")
	}
	return dir, nil
}

// walk adds f and, if below is set, the directories below it in its module.
func (r *resolver) walk(f Dir, below bool, found *[]Dir) error {
	files, err := r.tree.GoFiles(f.Dir)
	if err != nil {
		return diagnostic.Unreadable(r.dir, f.Dir, err)
	}
	if f.Files = files; len(files) > 0 && (f.path != "" || !f.byPath) {
		*found = append(*found, f)
	}
	if !below {
		return nil
	}
	_, folders, err := r.tree.List(f.Dir)
	if err != nil {
		return diagnostic.Unreadable(r.dir, f.Dir, err)
	}
	for _, name := range folders {
		sub := Dir{Dir: filepath.Join(f.Dir, name), Module: f.Module, byPath: f.byPath}
		if f.byPath {
			sub.path = path.Join(f.path, name)
		}
		hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata"
		if hidden || r.tree.isFile(filepath.Join(sub.Dir, "go.mod")) {
			continue
		}
		// A directory named vendor may be a package. The directories below it are not part of the module.
		if err := r.walk(sub, name != "vendor", found); err != nil {
			return err
		}
	}
	return nil
}

// moduleOf returns the module that a directory belongs to.
func (r *resolver) moduleOf(dir string) (Module, error) {
	if mod, ok := r.modules[dir]; ok {
		return mod, nil
	}
	name := filepath.Join(dir, "go.mod")
	if !r.tree.Exists(name) {
		if _, err := r.tree.ReadFile(name); errors.Is(err, regular.ErrNotRegular) {
			return Module{}, diagnostic.Unreadable(r.dir, name, err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Module{}, &diagnostic.Error{
				Message: "no go.mod file: this is not a Go module",
				Hint:    "run kctrl in the directory of a project, name it with -C, or start one with kctrl init",
				Cause:   os.ErrNotExist,
			}
		}
		return r.moduleOf(parent)
	}
	if r.tree.environment != nil {
		name = r.tree.environment.ModFile(dir)
	}
	content, err := r.tree.ReadFile(name)
	if err != nil {
		return Module{}, diagnostic.Unreadable(r.dir, name, err)
	}
	mod := Module{Dir: dir, Path: modfile.ModulePath(content)}
	if mod.Path == "" {
		return Module{}, diagnostic.At(diagnostic.InProject(r.dir, name), "no module line",
			"begin the file with: module example.com/name")
	}
	r.modules[dir] = mod
	if file, err := modfile.ParseLax(name, content, nil); err == nil {
		for _, ignore := range file.Ignore {
			r.ignored[dir] = append(r.ignored[dir], ignore.Path)
		}
	}
	return mod, nil
}

func patternError(pattern, message, hint string) *diagnostic.Error {
	return diagnostic.Usage(fmt.Sprintf("path %q: %s", pattern, message), hint)
}
