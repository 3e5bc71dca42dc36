package load

import (
	"context"
	"go/ast"
	"go/parser"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	if p.vendorsOlder(mod.Dir) {
		flags = append(flags, "-mod=readonly")
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
	placeErrors(mod.Dir, loaded)
	return loaded, nil
}

// vendorsOlder reports whether a module, or the workspace that it is in, has vendored what a go.mod requires that is planned to change: the
// go command then refuses to look at what is vendored, and nobody can vendor for a go.mod that is not on disk yet.
func (p *Program) vendorsOlder(dir string) bool {
	changes := false
	for name := range p.tree.Overlay() {
		base := filepath.Base(name)
		changes = changes || base == "go.mod" || base == "go.work"
	}
	for changes {
		if _, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return false
}

// placeErrors says where errors of packages are from anywhere: the go command does from the folder that it ran in.
func placeErrors(dir string, roots []*loader.Package) {
	for pkg := range Reachable(roots) {
		for i, e := range pkg.Errors {
			if pos := parsePosition(e.Pos); pos.Filename != "" && !filepath.IsAbs(pos.Filename) {
				pkg.Errors[i].Pos = filepath.Join(dir, e.Pos)
			}
		}
	}
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
