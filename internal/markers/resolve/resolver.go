package resolve

import (
	"go/version"
	"path"
	"path/filepath"
	"strings"
)

// Package is one Go package. It is shared: do not modify it.
type Package struct {
	// Path is the import path, which begins with "vendor/" for what the standard library has vendored.
	Path string
	Name string
	Dir  string
	// Standard reports whether the package is of the standard library, and Local whether it is neither of that nor in
	// the module cache.
	Standard, Local bool

	matcher *Matcher
	names   []string // of all Go files in Dir
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
			return nil, unusual("there are several packages in the folder of " + p.Path)
		}
		p.files = append(p.files, filepath.Join(p.Dir, name))
	}
	return p.files, nil
}

// Resolver finds the packages that those of one main module import. It belongs to one goroutine.
type Resolver struct {
	fsys     FS
	env      *Environment
	modules  *modules
	matcher  *Matcher
	packages map[string]*Package // by Path
	names    map[string][]string // of Go files, by folder
}

// New returns a resolver for the main module in a folder, an absolute path. All errors of this package are
// [*UnusualError].
func New(fsys FS, e *Environment, dir string) (*Resolver, error) {
	if e.listing != nil {
		return nil, e.listing
	}
	loaded, err := loadModules(fsys, e, dir)
	if err != nil {
		return nil, err
	}
	return &Resolver{fsys: fsys, env: e, modules: loaded, matcher: NewMatcher(fsys, e), packages: map[string]*Package{}, names: map[string][]string{}}, nil
}

// Find returns the package that an import path stands for in a main module. It may be a program.
func (r *Resolver) Find(importPath string) (*Package, error) { return r.find(importPath) }

// Import returns the package that an import in another stands for.
func (r *Resolver) Import(from *Package, importPath string) (*Package, error) {
	if from.Standard {
		vendored := "vendor/" + importPath
		if known := r.packages[vendored]; known != nil {
			return known, nil
		}
		if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") {
			return r.standard(vendored)
		}
	}
	found, err := r.find(importPath)
	switch {
	case err != nil:
		return nil, err
	case found.Name == "main":
		return nil, unusual(importPath + " is a program")
	case !from.Standard && !visible(from.Path, importPath):
		return nil, unusual(importPath + " is internal")
	}
	return found, nil
}

// visible reports whether a package may import another, which may be internal.
func visible(from, importPath string) bool {
	i := strings.LastIndex("/"+importPath+"/", "/internal/")
	if i < 0 {
		return true
	}
	parent := strings.TrimSuffix(importPath[:max(0, i-1)], "/")
	return from == parent || strings.HasPrefix(from, parent+"/")
}

func (r *Resolver) find(importPath string) (*Package, error) {
	if known := r.packages[importPath]; known != nil {
		return known, nil
	}
	first, _, _ := strings.Cut(importPath, "/")
	if !strings.Contains(first, ".") && r.hasGoFiles(r.standardFolder(importPath)) {
		return r.standard(importPath)
	}
	if importPath == "" || path.Clean(importPath) != importPath || strings.HasPrefix(importPath, ".") || strings.HasPrefix(importPath, "/") {
		return nil, unusual("odd import path " + importPath)
	}
	dirs, err := r.candidates(importPath)
	if err != nil {
		return nil, err
	}
	if len(dirs) != 1 {
		return nil, unusual("not exactly one module has the package " + importPath)
	}
	return r.load(&Package{Path: importPath, Dir: dirs[0], Local: !r.env.Immutable(dirs[0])})
}

func (r *Resolver) standardFolder(importPath string) string {
	return filepath.Join(r.env.Root, "src", filepath.FromSlash(importPath))
}

func (r *Resolver) standard(importPath string) (*Package, error) {
	return r.load(&Package{Path: importPath, Dir: r.standardFolder(importPath), Standard: true})
}

// load finds out the name of a package: that in its first file.
func (r *Resolver) load(p *Package) (*Package, error) {
	p.matcher = r.matcher
	p.names = r.goNames(p.Dir)
	for _, name := range p.names {
		// All files have the same name for the package, whether they are for certain or perhaps.
		if h, err := r.matcher.head(p.Dir, name); h.name != "" && (h.matches || err != nil) {
			p.Name = h.name
			r.packages[p.Path] = p
			return p, nil
		}
	}
	return nil, unusual("no Go files for this platform in " + p.Path)
}

// candidates returns the folders with Go files that modules have for an import path.
func (r *Resolver) candidates(importPath string) ([]string, error) {
	var dirs []string
	for prefix := importPath; prefix != "."; prefix = path.Dir(prefix) {
		_, isMain := r.modules.folders[prefix]
		_, isRequired := r.modules.selected[prefix]
		if r.modules.vendored != nil {
			isMain = prefix == r.modules.main[0].Module.Mod.Path
			isRequired = false
		}
		if !isMain && !isRequired {
			continue
		}
		module, err := r.modules.folder(prefix)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(module.dir, filepath.FromSlash(strings.TrimPrefix(importPath[len(prefix):], "/")))
		if module.local && r.isOtherModule(module.dir, dir) {
			continue
		}
		if r.hasGoFiles(dir) {
			dirs = append(dirs, dir)
		}
	}
	if dir, ok := r.modules.vendored[importPath]; ok && r.hasGoFiles(dir) {
		dirs = append(dirs, dir)
	}
	return dirs, nil
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

// goNames returns the names of the Go files in a folder, which need not exist.
func (r *Resolver) goNames(dir string) []string {
	names, known := r.names[dir]
	if !known {
		// A folder that cannot be read has no package, and the go command will say so.
		names, _ = r.fsys.GoNames(dir)
		r.names[dir] = names
	}
	return names
}

func compareGo(a, b string) int { return version.Compare("go"+a, "go"+b) }
