// Package load reads the Go packages of a project once for all generators.
//
// [Load] finds the packages that match patterns, parses them and reads their markers. Code that needs only markers uses
// [Program.Packages], which does not run the go command. Code that needs types calls [Program.Types] with a filter for
// the packages that can produce output. Only these packages, and the types that they refer to, are type-checked. In
// kctrl, only this package runs the go command to load code, or depends on unexported parts of controller-tools'
// loader.
//
//	program, err := load.Load(ctx, load.Config{Dir: dir, Overlay: overlay, Patterns: []string{"./..."}})
//	...
//	types, err := program.Types(ctx, func(pkg *load.Package) bool { return pkg.Has("groupName") })
//	...
//	err = program.Problems(types.Roots)
//
// Returned errors join *diagnostic.Error values, which have a file, line and column. Package lint checks the markers of
// a program.
package load

import (
	"context"
	"errors"
	"go/token"
	"path/filepath"
	"sync"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Config has the options of Load.
type Config struct {
	// Dir is the directory of the project, an absolute path. Positions and file names are relative to it.
	Dir string
	// Overlay replaces files on disk, by absolute path. A file with nil content does not exist.
	Overlay map[string][]byte
	// Patterns select packages: directories relative to Dir such as "./api/v1", trees such as "./...", or import paths of
	// modules below Dir. A tree does not include directories of other modules. Empty means "./...".
	Patterns []string
	// BuildTags select the files of packages. Nil means resolve.DefaultTag.
	BuildTags []string
	// Environment is the environment of the go command. If it is nil, Load determines it.
	Environment *resolve.Environment
	// Lenient loads packages as controller-gen does. If at least one pattern matches, [Program.Unmatched] instead of Load
	// reports trees without packages. Only markers in places that controller-gen reads count.
	Lenient bool
}

// Program contains the packages of a project, loaded once for all generators. It is not safe for concurrent use.
type Program struct {
	dir       string
	tree      *source.Tree
	fset      *token.FileSet
	registry  *markers.Registry
	packages  []*Package
	folders   map[string]*Package // by directory
	lenient   bool
	tags      []string // build tags; nil means resolve.DefaultTag
	unmatched error

	vertices map[*loader.Package]*vertex // vertices of the packages that were resolved without the go command
	graphErr error                       // reason why a vertex could not be expanded
	unknown  bool                        // the go command ran, and its inputs are unknown
}

// Load returns a program with the packages that match the patterns, and their markers. It does not run the go command.
// The error joins *diagnostic.Error values. If packages have syntax errors, the program contains all other packages. If
// no package could be read, the program is nil.
func Load(ctx context.Context, cfg Config) (*Program, error) {
	registry, err := markers.NewRegistry()
	if err != nil {
		return nil, err
	}
	environment, unusual := cfg.Environment, error(nil)
	if environment == nil {
		environment, unusual = resolve.NewEnvironment(ctx, cfg.Dir)
	}
	p := &Program{
		dir:      cfg.Dir,
		lenient:  cfg.Lenient,
		tags:     cfg.BuildTags,
		tree:     source.Open(environment, unusual, cfg.Overlay, cfg.BuildTags),
		fset:     token.NewFileSet(),
		registry: registry,
	}
	patterns := cfg.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	folders, unmatched, err := p.tree.Dirs(cfg.Dir, patterns, cfg.Lenient)
	if err != nil {
		return nil, err
	}
	p.unmatched = unmatched
	err = p.parse(ctx, folders)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, pkg := range p.packages {
		p.collect(pkg)
	}
	return p, err
}

// collect reads the markers of a package. Generators of controller-tools read the markers again, and stop at a marker
// with invalid arguments. Therefore collect removes such markers from the syntax, so that generators also find other
// errors. A lenient load keeps the markers, so that it fails where controller-gen fails.
func (p *Program) collect(pkg *Package) {
	for _, file := range pkg.Syntax {
		pkg.Markers = append(pkg.Markers, p.registry.Read(p.fset, file)...)
	}
	for _, m := range pkg.Markers {
		if m.Counts() && m.Err != nil && !p.lenient {
			m.Blank()
		}
	}
}

// parse parses the packages in directories concurrently.
func (p *Program) parse(ctx context.Context, folders []source.Dir) error {
	found, failed := make([]*Package, len(folders)), make([][]error, len(folders))
	var wg sync.WaitGroup
	for i, f := range folders {
		wg.Go(func() {
			if ctx.Err() == nil {
				found[i], failed[i] = p.parsePackage(f)
			}
		})
	}
	wg.Wait()
	var errs []error
	p.folders = map[string]*Package{}
	for i, pkg := range found {
		errs = append(errs, failed[i]...)
		if pkg != nil {
			p.packages = append(p.packages, pkg)
			p.folders[filepath.Dir(pkg.files[0])] = pkg
		}
	}
	return errors.Join(errs...)
}

// Packages returns the packages, ordered by import path, for generators that need no types. Callers must not modify the
// result.
func (p *Program) Packages() []*Package { return p.packages }

// Unmatched returns an error that joins one error for each pattern without a match. After a load that is not lenient,
// it returns nil.
func (p *Program) Unmatched() error { return p.unmatched }

// Registry returns the known markers.
func (p *Program) Registry() *markers.Registry { return p.registry }

// Fset returns the file set with the positions of all files.
func (p *Program) Fset() *token.FileSet { return p.fset }

// Inputs returns the sorted list of inputs that the program has read from the disk. complete is false if the go command
// ran and its inputs are unknown.
func (p *Program) Inputs() (in source.Inputs, complete bool) {
	in, noted := p.tree.Inputs()
	return in, noted && !p.unknown
}

// Dir returns the directory of the project, an absolute path.
func (p *Program) Dir() string { return p.dir }

// ReadFile reads a file that affects generated files, such as a header, and adds it to [Program.Inputs].
func (p *Program) ReadFile(name string) ([]byte, error) { return p.tree.ReadFile(name) }

// UsesC reports whether the directory of a package contains files that use cgo. These files are not part of the
// package.
func (p *Program) UsesC(pkg *loader.Package) bool {
	if len(pkg.CompiledGoFiles) == 0 {
		return false
	}
	return p.tree.UsesC(filepath.Dir(pkg.CompiledGoFiles[0]))
}
