package markers

import (
	"context"
	"errors"
	"go/token"
	"path/filepath"
	"sync"

	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/markers/resolve"
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
	folders   map[string]*Package // packages by folder
	findings  []Finding
	lenient   bool
	warn      func(Finding)
	unmatched error
	broken    []brokenComment // markers that keep the collector from collecting those beside them

	environment    *resolve.Environment
	environmentErr error
	resolvers      map[string]*resolve.Resolver // by the folder of the main module
	vertices       map[*loader.Package]*vertex  // of the packages that were found without the go command
	graphErr       error                        // why one of them could not be expanded
	unknown        bool                         // the go command was asked, and nobody knows what it looked at
}

// Load reads the packages that the patterns match and checks their markers. Everything that is wrong is returned at
// once, joined from *diagnostic.Error: files that do not parse, and the findings that are fatal. It does not call the go
// command. A program comes with the error unless files are broken.
func Load(ctx context.Context, cfg Config) (*Program, error) {
	registry, err := NewRegistry()
	if err != nil {
		return nil, err
	}
	p := &Program{
		dir:       cfg.Dir,
		allow:     cfg.AllowUnknown,
		lenient:   cfg.Lenient,
		warn:      cfg.Warn,
		tree:      newTree(cfg.Overlay),
		fset:      token.NewFileSet(),
		registry:  registry,
		collector: &markers.Collector{Registry: registry.Registry},
	}
	if p.environment, p.environmentErr = resolve.NewEnvironment(); p.environmentErr == nil {
		p.tree.use(p.environment)
	}
	patterns := cfg.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	matching := &resolver{dir: cfg.Dir, tree: p.tree, modules: map[string]module{}, lenient: cfg.Lenient, packages: p.resolver}
	folders, unmatched, err := matching.resolve(patterns)
	if err != nil {
		return nil, err
	}
	p.unmatched = unmatched
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
	p.folders = map[string]*Package{}
	for i, pkg := range found {
		errs = append(errs, failed[i]...)
		if pkg != nil {
			p.packages = append(p.packages, pkg)
			p.folders[filepath.Dir(pkg.files[0])] = pkg
		}
	}
	// What is wrong with the markers of other files is worth knowing in the same run.
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, p.check())
	}
	return nil
}

// Packages returns the packages by import path, for generators that need no types. They are shared: do not modify them.
func (p *Program) Packages() []*Package { return p.packages }

// Unmatched returns an error for each pattern of a lenient load that matched nothing, joined.
func (p *Program) Unmatched() error { return p.unmatched }

// Collector returns the markers of all packages, and collects those of packages that [Program.Types] loads.
func (p *Program) Collector() *markers.Collector { return p.collector }
