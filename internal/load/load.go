package load

import (
	"context"
	"errors"
	"go/token"
	"path/filepath"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Config says what to load.
type Config struct {
	// Dir is the folder of the project, an absolute path. Positions and files are relative to it.
	Dir string
	// Overlay replaces files on disk, by absolute path. Nil content stands for a file that does not exist.
	Overlay map[string][]byte
	// Patterns say which packages: folders relative to Dir such as "./api/v1", or trees such as "./...". Import paths of
	// modules below Dir are understood too. A tree ends where another module begins. None means "./...".
	Patterns []string
	// BuildTags choose the files of packages. Nil means resolve.DefaultTag.
	BuildTags []string
	// Environment is what the go command works with, if that is known. Nil is found out.
	Environment *resolve.Environment
	// Lenient loads as controller-gen does: trees without packages are left to [Program.Unmatched] if other patterns match,
	// and a marker counts only where controller-gen looks.
	Lenient bool
}

// Program is the packages of a project, loaded once for all generators. It belongs to one goroutine.
type Program struct {
	dir       string
	tree      *source.Tree
	fset      *token.FileSet
	registry  *markers.Registry
	packages  []*Package
	folders   map[string]*Package // packages by folder
	lenient   bool
	tags      []string // of the build; nil means resolve.DefaultTag
	unmatched error

	vertices map[*loader.Package]*vertex // of the packages that were found without the go command
	graphErr error                       // why one of them could not be expanded
	unknown  bool                        // the go command was asked, and nobody knows what it looked at
}

// Load reads the packages that the patterns match, and their markers. It does not call the go command. Files that do not
// parse are an error, joined from *diagnostic.Error, beside the program of all others; without a program nothing could be
// read at all.
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
	folders, unmatched, err := p.tree.Folders(cfg.Dir, patterns, cfg.Lenient)
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

// collect reads the markers of a package. Generators of controller-tools that read them again stop at those whose arguments
// are wrong, so these are taken out of the syntax: generators get as far as to find what else is wrong. A lenient load
// fails where controller-gen fails, and leaves them.
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

// parse reads the packages in folders, several at a time.
func (p *Program) parse(ctx context.Context, folders []source.Folder) error {
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

// Packages returns the packages by import path, for generators that need no types. They are shared: do not modify them.
func (p *Program) Packages() []*Package { return p.packages }

// Unmatched returns an error for each pattern of a lenient load that matched nothing, joined.
func (p *Program) Unmatched() error { return p.unmatched }

// Registry returns the markers that are known.
func (p *Program) Registry() *markers.Registry { return p.registry }

// Fset returns the positions of all files.
func (p *Program) Fset() *token.FileSet { return p.fset }

// Inputs returns what was learnt from the disk so far, sorted. It reports false if there is more: the go command had a
// say, and nobody knows what it looked at.
func (p *Program) Inputs() (in source.Inputs, complete bool) {
	in, noted := p.tree.Inputs()
	return in, noted && !p.unknown
}

// Dir returns the folder that was loaded from, an absolute path.
func (p *Program) Dir() string { return p.dir }

// ReadFile reads a file that has a say in what is generated, such as a header: it becomes one of [Program.Inputs].
func (p *Program) ReadFile(name string) ([]byte, error) { return p.tree.ReadFile(name) }

// UsesC reports whether beside the files of a package there are some that use cgo. Programs have none of them.
func (p *Program) UsesC(pkg *loader.Package) bool {
	if len(pkg.CompiledGoFiles) == 0 {
		return false
	}
	return p.tree.UsesC(filepath.Dir(pkg.CompiledGoFiles[0]))
}
