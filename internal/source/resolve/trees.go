package resolve

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Root returns the directory of the package with an import path from the user. It may be a main package, or internal to
// another module.
func (r *Resolver) Root(importPath string) (dir string, err error) {
	if err := NewPattern(importPath).checkImports(); err != nil {
		return "", err
	}
	at, err := r.locate(importPath)
	if m := r.modules; err == nil && at.module != "" && m.work == nil && m.requirementsOf(m.main[0]).pruning == pruned &&
		m.isImplicit(at.module) {
		err = unusual("go.mod does not list " + at.module)
	}
	return at.dir, err
}

// Tree is a directory, and the import path of a package in it.
type Tree struct{ Dir, Path string }

// Trees returns the directories that contain all packages that a pattern may match. A tree ends at the directories of
// other modules. Its packages are those that [Resolver.Root] finds. For other directories, only the go command knows
// the error.
func (r *Resolver) Trees(p Pattern) ([]Tree, error) {
	if err := p.checkImports(); err != nil {
		return nil, err
	}
	trees := r.standardTrees(p)
	known := map[string]bool{}
	for _, file := range r.modules.main {
		known[file.Module.Mod.Path] = true
	}
	if r.modules.vendored == nil {
		if err := r.readGraphFor(p); err != nil {
			return nil, err
		}
		for modulePath := range r.modules.selected {
			known[modulePath] = true
		}
	}
	for modulePath := range known {
		found, err := r.treesOf(modulePath, p)
		if err != nil {
			return nil, err
		}
		trees = append(trees, found...)
	}
	if v := r.modules.vendored; v != nil {
		if !r.fsys.IsDir(v.dir) {
			return nil, unusual("there is no vendor directory")
		}
		trees = append(trees, r.below(Tree{v.dir, ""}, p.Base())...)
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Dir, b.Dir) })
	return slices.Compact(trees), nil
}

// readGraphFor reads the requirement graph if a pattern may match packages of a module that go.mod does not list. A
// pruned go.mod lists only the modules of imported packages.
func (r *Resolver) readGraphFor(p Pattern) error {
	m := r.modules
	if m.graph != nil {
		return nil
	}
	known := maps.Clone(m.known)
	for v := range m.replaced {
		known[v.Path] = true // replacements by directories are not in go.sum
	}
	for path := range known {
		_, listed := m.selected[path]
		above, below := p.touches(path)
		if listed || m.isMain(path) || !above && !below {
			continue
		}
		g, err := m.readGraph()
		if err != nil {
			return err
		}
		return m.selectFrom(g)
	}
	return nil
}

// standardTrees returns the trees of the standard library and of the commands of the toolchain that a pattern may
// match.
func (r *Resolver) standardTrees(p Pattern) []Tree {
	if first, _, slash := strings.Cut(p.prefix(), "/"); slash && strings.Contains(first, ".") {
		return nil
	}
	root := filepath.Join(r.env.Root, "src")
	trees := r.below(Tree{root, ""}, p.Base())
	if above, below := p.touches("cmd"); above || below {
		trees = append(trees, r.below(Tree{filepath.Join(root, "cmd"), "cmd"}, p.Base())...)
	}
	return trees
}

// treesOf returns the tree of a module that a pattern may match, if any.
func (r *Resolver) treesOf(modulePath string, p Pattern) ([]Tree, error) {
	above, below := p.touches(modulePath)
	if !below && !above {
		return nil, nil
	}
	module, err := r.modules.dirOf(modulePath)
	if err != nil {
		return nil, err
	}
	// Packages below a vendor directory are not part of the module, but the directory itself may be a package.
	base, _, _ := strings.Cut(p.Base()+"/", "/vendor/")
	trees := r.below(Tree{module.dir, modulePath}, strings.TrimSuffix(base, "/"))
	return slices.DeleteFunc(trees, func(tree Tree) bool { return module.local && r.isOtherModule(module.dir, tree.Dir) }),
		nil
}

// below returns the part of a tree in the directory base. It returns nothing if the go command ignores base or one of
// its parents.
func (r *Resolver) below(tree Tree, base string) []Tree {
	if base != tree.Path && within(base, tree.Path) {
		rest := strings.TrimPrefix(base[len(tree.Path):], "/")
		if slices.ContainsFunc(strings.Split(rest, "/"), isHidden) {
			return nil
		}
		tree = Tree{filepath.Join(tree.Dir, filepath.FromSlash(rest)), base}
	}
	if !r.fsys.IsDir(tree.Dir) {
		return nil
	}
	return []Tree{tree}
}

// VendorDir returns the vendor directory that provides packages, if any.
func (r *Resolver) VendorDir() (dir string, ok bool) {
	if r.modules.vendored == nil {
		return "", false
	}
	return r.modules.vendored.dir, true
}

// IsVendored reports whether modules.txt lists a package. For other packages, no directory can be returned.
func (r *Resolver) IsVendored(importPath string) bool {
	return r.modules.vendored != nil && r.modules.vendored.packages[importPath]
}

// isHidden reports whether the go command ignores directories with this name.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata"
}
