package markers

import (
	"context"
	"errors"
	"go/token"
	"sync"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Program is the packages of a project, loaded once for all generators. It belongs to one goroutine.
type Program struct {
	dir       string
	allow     []string
	tree      *tree
	fset      *token.FileSet
	registry  *Registry
	collector *markers.Collector
	packages  []*Package
}

// Load reads the packages that the patterns match and checks their markers. Everything that is wrong is returned at
// once, joined from *diagnostic.Error: files that do not parse, markers that nobody knows, markers whose arguments are
// wrong. It does not call the go command.
func Load(ctx context.Context, cfg Config) (*Program, error) {
	registry, err := NewRegistry()
	if err != nil {
		return nil, err
	}
	p := &Program{
		dir:       cfg.Dir,
		allow:     cfg.AllowUnknown,
		tree:      newTree(cfg.Overlay),
		fset:      token.NewFileSet(),
		registry:  registry,
		collector: &markers.Collector{Registry: registry.Registry},
	}
	patterns := cfg.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	folders, err := (&resolver{dir: cfg.Dir, tree: p.tree, modules: map[string]module{}}).resolve(patterns)
	if err != nil {
		return nil, err
	}
	if err := p.parse(ctx, folders); err != nil {
		return nil, err
	}
	return p, p.check()
}

// parse reads the packages in folders, several at a time.
func (p *Program) parse(ctx context.Context, folders []folder) error {
	found, failed := make([]*Package, len(folders)), make([][]error, len(folders))
	var wg sync.WaitGroup
	for i, f := range folders {
		wg.Go(func() {
			if ctx.Err() == nil {
				found[i], failed[i] = parsePackage(p.dir, p.tree, p.fset, f)
			}
		})
	}
	wg.Wait()
	errs := []error{ctx.Err()}
	for i, pkg := range found {
		errs = append(errs, failed[i]...)
		if pkg != nil {
			p.packages = append(p.packages, pkg)
		}
	}
	// What is wrong with the markers of other files is worth knowing in the same run.
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, p.check())
	}
	return nil
}

// check reports the markers of all packages that are unknown or have wrong arguments, and remembers the values of the
// others.
func (p *Program) check() error {
	var errs []error
	for _, pkg := range p.packages {
		errs = append(errs, p.unknownMarkers(pkg)...)
		values, err := p.collector.MarkersInPackage(pkg.Package)
		errs = append(errs, p.argumentErrors(err)...)
		pkg.values = values
	}
	return errors.Join(errs...)
}

// Packages returns the packages by import path, for generators that need no types. They are shared: do not modify them.
func (p *Program) Packages() []*Package { return p.packages }

// Collector returns the markers of all packages, and collects those of packages that [Program.Types] loads.
func (p *Program) Collector() *markers.Collector { return p.collector }
