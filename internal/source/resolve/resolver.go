package resolve

import (
	"go/version"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// Package is one Go package. It is shared, so do not modify it.
type Package struct {
	// Path is the import path. It begins with "vendor/" for the vendored packages of the standard library.
	Path string
	Name string
	Dir  string
	// Standard means that the package is in the standard library. Local means that it is neither there nor in the
	// module cache.
	Standard, Local bool

	module  string // path of the module; empty for the standard library and for vendored packages
	matcher *Matcher
	names   []string // all Go files in Dir
	files   []string
}

// Files returns the Go files that belong to the package, absolute, by name. An error is an [*UnusualError].
func (p *Package) Files() ([]string, error) {
	if p.files != nil {
		return p.files, nil
	}
	for _, name := range p.names {
		h, err := p.matcher.head(p.Dir, name)
		if err != nil {
			return nil, err
		}
		if !h.matches {
			continue
		}
		if h.name != p.Name {
			return nil, unusual("there are several packages in the directory of " + p.Path)
		}
		p.files = append(p.files, filepath.Join(p.Dir, name))
	}
	return p.files, nil
}

// Resolver finds the packages that the packages of one main module import. It is not safe for concurrent use.
type Resolver struct {
	fsys     FS
	env      *Environment
	modules  *modules
	matcher  *Matcher
	packages map[string]*Package // by Path
	names    map[string][]string // Go files by directory
}

// New returns a resolver for the main module in a directory, an absolute path. All errors of this package are
// [*UnusualError].
func New(fsys FS, e *Environment, dir string) (*Resolver, error) {
	if e.listing != nil {
		return nil, e.listing
	}
	if err := e.holdsIn(dir); err != nil {
		return nil, err
	}
	loaded, err := loadModules(fsys, e, dir)
	if err != nil {
		return nil, err
	}
	return &Resolver{fsys: fsys, env: e, modules: loaded, matcher: NewMatcher(fsys, e), packages: map[string]*Package{},
		names: map[string][]string{}}, nil
}

// Import returns the package that an import path in another package refers to.
func (r *Resolver) Import(from *Package, importPath string) (*Package, error) {
	if from.Standard {
		// The standard library has its own copies of its dependencies.
		vendored := "vendor/" + importPath
		if known := r.packages[vendored]; known != nil {
			return known, nil
		}
		if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") {
			return r.load(&Package{Path: vendored, Dir: r.standardDir(vendored), Standard: true})
		}
	}
	found, err := r.Find(importPath)
	switch {
	case err != nil:
		return nil, err
	case found.Name == "main":
		return nil, unusual(importPath + " is a program")
	case !from.Standard && !visible(from.Path, importPath):
		return nil, unusual(importPath + " is internal")
	case r.modules.isMain(from.module) && found.module != "" && r.modules.isImplicit(found.module):
		return nil, unusual("go.mod does not list " + found.module)
	}
	return found, nil
}

// visible reports whether a package may import another one, which may be internal.
func visible(from, importPath string) bool {
	i := strings.LastIndex("/"+importPath+"/", "/internal/")
	if i < 0 {
		return true
	}
	parent := strings.TrimSuffix(importPath[:max(0, i-1)], "/")
	return from == parent || strings.HasPrefix(from, parent+"/")
}

// Find returns the package with an import path, as seen from the main module. It may be a main package.
func (r *Resolver) Find(importPath string) (*Package, error) {
	// Most packages import the same few hundred packages.
	if known := r.packages[importPath]; known != nil {
		return known, nil
	}
	at, err := r.locate(importPath)
	if err != nil {
		return nil, err
	}
	local := !at.standard && !r.env.Immutable(at.dir)
	return r.load(&Package{Path: importPath, Dir: at.dir, Standard: at.standard, Local: local, module: at.module})
}

// location is the directory of a package, and the path of its module.
type location struct {
	dir, module string
	standard    bool
}

func (r *Resolver) locate(importPath string) (location, error) {
	if module.CheckImportPath(importPath) != nil {
		return location{}, unusual("odd import path " + importPath)
	}
	found, err := r.candidates(importPath)
	if err != nil {
		return location{}, err
	}
	// The go command handles zero and several directories, because it has the rules and messages for them.
	if len(found) != 1 {
		return location{}, unusual("not exactly one module has the package " + importPath)
	}
	return found[0], nil
}

func (r *Resolver) standardDir(importPath string) string {
	return filepath.Join(r.env.Root, "src", filepath.FromSlash(importPath))
}

// load determines the name of a package from its first file.
func (r *Resolver) load(p *Package) (*Package, error) {
	p.matcher = r.matcher
	p.names = r.goNames(p.Dir)
	for _, name := range p.names {
		// All files of a package have the same package name, even those whose constraints are undecided.
		if h, err := r.matcher.head(p.Dir, name); h.name != "" && (h.matches || err != nil) {
			p.Name = h.name
			r.packages[p.Path] = p
			return p, nil
		}
	}
	return nil, unusual("no Go files for this platform in " + p.Path)
}

// candidates returns the directories with Go files that an import path may refer to.
func (r *Resolver) candidates(importPath string) ([]location, error) {
	var found []location
	first, _, _ := strings.Cut(importPath, "/")
	if dir := r.standardDir(importPath); !strings.Contains(first, ".") && r.hasGoFiles(dir) {
		found = append(found, location{dir: dir, standard: true})
	}
	for prefix := importPath; prefix != "."; prefix = path.Dir(prefix) {
		_, isSelected := r.modules.selected[prefix]
		if !isSelected && !r.modules.isMain(prefix) {
			continue
		}
		module, err := r.modules.dirOf(prefix)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(module.dir, filepath.FromSlash(strings.TrimPrefix(importPath[len(prefix):], "/")))
		// Modules in the module cache contain no other modules. Directories of the user may.
		if module.local && r.isOtherModule(module.dir, dir) {
			continue
		}
		if r.hasGoFiles(dir) {
			found = append(found, location{dir: dir, module: prefix})
		}
	}
	if v := r.modules.vendored; v != nil && v.has(importPath) {
		if dir := filepath.Join(v.dir, filepath.FromSlash(importPath)); r.hasGoFiles(dir) {
			found = append(found, location{dir: dir})
		}
	}
	return found, nil
}

// isOtherModule reports whether a module begins between root and dir.
func (r *Resolver) isOtherModule(root, dir string) bool {
	for ; dir != root; dir = filepath.Dir(dir) {
		if len(dir) < len(root) || r.fsys.Exists(filepath.Join(dir, "go.mod")) {
			return true
		}
	}
	return false
}

func (r *Resolver) hasGoFiles(dir string) bool { return len(r.goNames(dir)) > 0 }

// goNames returns the names of the Go files in a directory, which need not exist.
func (r *Resolver) goNames(dir string) []string {
	names, known := r.names[dir]
	if !known {
		// An unreadable directory has no package. The go command reports the error.
		names, _ = r.fsys.GoNames(dir)
		r.names[dir] = names
	}
	return names
}

func compareGo(a, b string) int { return version.Compare("go"+a, "go"+b) }

// within reports whether an import path equals parent or is below it. Every path is within "".
func within(importPath, parent string) bool {
	return parent == "" || strings.HasPrefix(importPath, parent) &&
		(len(importPath) == len(parent) || importPath[len(parent)] == '/')
}
