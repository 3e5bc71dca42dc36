package resolve

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Root returns the folder of the package that an import path stands for when a user names it: it may be a program, or
// internal to another module.
func (r *Resolver) Root(importPath string) (dir string, err error) {
	if err := NewPattern(importPath).checkImports(); err != nil {
		return "", err
	}
	at, err := r.locate(importPath)
	if m := r.modules; err == nil && at.module != "" && m.work == nil && m.requirementsOf(m.main[0]).pruning == pruned && m.isImplicit(at.module) {
		err = unusual("go.mod does not list " + at.module)
	}
	return at.dir, err
}

// Tree is a folder, and the import path that its package has or would have.
type Tree struct{ Dir, Path string }

// Trees returns where the packages are that a pattern may match. A tree ends where another module begins in it. Its packages
// are those that [Resolver.Root] finds in their folders; where it does not, only the go command knows what is wrong.
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
		if !r.fsys.IsFolder(v.dir) {
			return nil, unusual("there is no vendor folder")
		}
		trees = append(trees, r.below(Tree{v.dir, ""}, p.Base())...)
	}
	slices.SortFunc(trees, func(a, b Tree) int { return strings.Compare(a.Dir, b.Dir) })
	return slices.Compact(trees), nil
}

// readGraphFor makes all modules known whose packages a pattern may match. A go.mod that lists all modules of which packages
// are imported does not list all that count here.
func (r *Resolver) readGraphFor(p Pattern) error {
	m := r.modules
	if m.graph != nil {
		return nil
	}
	known := maps.Clone(m.known)
	for v := range m.replaced {
		known[v.Path] = true // folders are not in go.sum
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

// standardTrees returns what a pattern may match in the standard library and among the programs that come with it.
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
	// What is in a vendor folder of a module is not of the module; the folder itself may be.
	base, _, _ := strings.Cut(p.Base()+"/", "/vendor/")
	trees := r.below(Tree{module.dir, modulePath}, strings.TrimSuffix(base, "/"))
	return slices.DeleteFunc(trees, func(tree Tree) bool { return module.local && r.isOtherModule(module.dir, tree.Dir) }), nil
}

// below returns the part of a tree that is in the folder base: none if the go command passes over it or one above it.
func (r *Resolver) below(tree Tree, base string) []Tree {
	if base != tree.Path && within(base, tree.Path) {
		rest := strings.TrimPrefix(base[len(tree.Path):], "/")
		if slices.ContainsFunc(strings.Split(rest, "/"), isHidden) {
			return nil
		}
		tree = Tree{filepath.Join(tree.Dir, filepath.FromSlash(rest)), base}
	}
	if !r.fsys.IsFolder(tree.Dir) {
		return nil
	}
	return []Tree{tree}
}

// VendorFolder returns the vendor folder that packages come from, if there is one.
func (r *Resolver) VendorFolder() (dir string, ok bool) {
	if r.modules.vendored == nil {
		return "", false
	}
	return r.modules.vendored.dir, true
}

// IsVendored reports whether modules.txt lists a package: without it, the package has no folder that can be named.
func (r *Resolver) IsVendored(importPath string) bool {
	return r.modules.vendored != nil && r.modules.vendored.packages[importPath]
}

// isHidden reports whether the go command passes over folders with a name.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata"
}
