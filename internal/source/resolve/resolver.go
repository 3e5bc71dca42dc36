package resolve

import (
	"go/version"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
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

// Root returns the package that an import path stands for when a user names it.
func (r *Resolver) Root(importPath string) (*Package, error) {
	if err := NewPattern(importPath).checkImports(); err != nil {
		return nil, err
	}
	found, err := r.find(importPath)
	if err != nil {
		return nil, err
	}
	if found.Standard || !r.isMain(importPath) && !visible(r.modules.main[0].Module.Mod.Path, importPath) {
		return nil, unusual(importPath + " is not for everybody")
	}
	return found, nil
}

// isMain reports whether an import path begins with that of a main module.
func (r *Resolver) isMain(importPath string) bool {
	return slices.ContainsFunc(r.modules.main, func(file *modfile.File) bool { return within(importPath, file.Module.Mod.Path) })
}

// within reports whether an import path is another one, or below it.
func within(importPath, parent string) bool {
	return strings.HasPrefix(importPath, parent) && (len(importPath) == len(parent) || importPath[len(parent)] == '/')
}

// Tree is a folder, and the import path that its package has or would have.
type Tree struct{ Dir, Path string }

// Trees returns where the packages are that a pattern may match. All of a tree is one module, as far as no other begins in
// it, or a vendor folder. Which patterns are left to the go command is said in the documentation of the package.
func (r *Resolver) Trees(p Pattern) ([]Tree, error) {
	if err := p.checkImports(); err != nil {
		return nil, err
	}
	base := p.Base()
	if !r.isMain(base) && !visible(r.modules.main[0].Module.Mod.Path, base+"/x") {
		return nil, unusual(base + " is internal")
	}
	if r.modules.vendored != nil {
		return r.vendoredTrees(p)
	}
	for modulePath := range r.modules.graph {
		_, selected := r.modules.selected[modulePath]
		above, below := p.touches(modulePath)
		if !selected && !r.isMain(modulePath) && (above || below) {
			return nil, unusual("go.mod does not say whether " + modulePath + " counts")
		}
	}
	known := maps.Clone(r.modules.selected)
	for _, file := range r.modules.main {
		known[file.Module.Mod.Path] = ""
	}
	var trees []Tree
	for modulePath := range known {
		found, err := r.treesOf(modulePath, p)
		if err != nil {
			return nil, err
		}
		trees = append(trees, found...)
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Dir, b.Dir) })
	return trees, nil
}

// treesOf returns the tree that a pattern may match in a module, if there is one.
func (r *Resolver) treesOf(modulePath string, p Pattern) ([]Tree, error) {
	above, below := p.touches(modulePath)
	if !below && !above {
		return nil, nil
	}
	module, err := r.modules.folder(modulePath)
	if err != nil {
		return nil, err
	}
	tree := Tree{module.dir, modulePath}
	if above {
		base := p.Base()
		tree = Tree{filepath.Join(module.dir, filepath.FromSlash(strings.TrimPrefix(base[len(modulePath):], "/"))), base}
	}
	if !r.fsys.IsFolder(tree.Dir) || module.local && r.isOtherModule(module.dir, tree.Dir) {
		return nil, nil
	}
	return []Tree{tree}, nil
}

// vendoredTrees returns the trees of the main module, and of its vendor folder, which has the packages of all others.
func (r *Resolver) vendoredTrees(p Pattern) ([]Tree, error) {
	trees, err := r.treesOf(r.modules.main[0].Module.Mod.Path, p)
	if err != nil {
		return nil, err
	}
	base := p.Base()
	if base == "" {
		return nil, unusual(p.text + " may match all of the vendor folder")
	}
	if dir := filepath.Join(r.modules.mainDirs[0], "vendor", filepath.FromSlash(base)); r.fsys.IsFolder(dir) {
		trees = append(trees, Tree{dir, base})
	}
	return trees, nil
}

// Vendored returns the import path of the package in a folder, if packages come from the vendor folder and this one is
// below it.
func (r *Resolver) Vendored(dir string) (importPath string, ok bool) {
	if r.modules.vendored == nil {
		return "", false
	}
	rel, err := filepath.Rel(filepath.Join(r.modules.mainDirs[0], "vendor"), dir)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
}

// isHidden reports whether the go command passes over folders with a name.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"
}

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
