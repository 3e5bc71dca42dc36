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

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// loadModule runs the go command to list packages of one module and all their imports.
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
		// BuildFlags replaces the flags that the loader sets.
		BuildFlags: flags,
		// With cgo enabled, the go command would compile the C code of the listed packages.
		Env: append(os.Environ(), "CGO_ENABLED=0"),
	}, importPaths...)
	if err != nil {
		return nil, p.listError(ctx, mod.Dir, err)
	}
	placeErrors(mod.Dir, loaded)
	return loaded, nil
}

// vendorsOlder reports whether the vendor directory of a module or its workspace does not match a go.mod that the plan
// changes. The go command then rejects the vendor directory, and go mod vendor cannot update it until the go.mod is
// written to disk.
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

// placeErrors makes the file names in errors independent of the working directory. The go command reports names
// relative to the directory in which it runs.
func placeErrors(dir string, roots []*loader.Package) {
	for pkg := range Reachable(roots) {
		for i, e := range pkg.Errors {
			if pos := diagnostic.ParsePosition(e.Pos); pos.Filename != "" && !filepath.IsAbs(pos.Filename) {
				pkg.Errors[i].Pos = filepath.Join(dir, e.Pos)
			}
		}
	}
}

// goOverlay returns the part of the overlay that the go command needs. An overlay of the go command cannot delete a
// file, so goOverlay gives a deleted file a build constraint that is never satisfied.
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

// reuseSyntax sets the syntax of the loaded packages to the syntax that is already parsed, and to the syntax of files
// in the overlay.
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
			// With cgo disabled, the go command does not list packages that only files with cgo import.
			if known.cgo[name] && importsAll(pkg, known.Syntax[i]) {
				syntax = append(syntax, known.Syntax[i])
			}
		}
	}
	pkg.Syntax = syntax
}

func importsAll(pkg *loader.Package, file *ast.File) bool {
	return !slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool {
		imported, _ := strconv.Unquote(spec.Path.Value)
		return pkg.Imports()[imported] == nil
	})
}

// noteListed records the inputs of a run of the go command that listed packages: the module files, which are in asked,
// and the directories of the packages. It returns false if the inputs are unknown: if asked is nil, or if kctrl itself
// resolves a listed package differently.
func (p *Program) noteListed(asked *resolve.Asked, roots []*loader.Package) bool {
	if asked == nil {
		return false
	}
	for pkg := range Reachable(roots) {
		if slices.ContainsFunc(pkg.Errors, isListError) || pkg.PkgPath != "unsafe" && !p.noteFiles(asked, pkg) {
			return false
		}
	}
	return true
}

func isListError(e packages.Error) bool { return e.Kind != packages.TypeError }

// noteFiles records the files of a listed package. It returns false if they are unknown.
func (p *Program) noteFiles(asked *resolve.Asked, pkg *loader.Package) bool {
	if len(pkg.GoFiles) == 0 || !slices.Equal(pkg.GoFiles, pkg.CompiledGoFiles) {
		// The output of cgo depends on the C compiler.
		return false
	}
	asked.Package(pkg.PkgPath)
	dir := filepath.Dir(pkg.GoFiles[0])
	if !p.tree.Notes(dir) {
		return true
	}
	names, err := p.tree.GoFiles(dir)
	if err != nil || len(names) != len(pkg.GoFiles) {
		return false
	}
	for i, name := range names {
		name = filepath.Join(dir, name)
		if pkg.GoFiles[i] != name {
			return false
		}
		if _, err := p.tree.ReadFile(name); err != nil {
			return false
		}
	}
	p.tree.NoteGoFiles(dir)
	return true
}
