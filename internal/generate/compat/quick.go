package compat

import (
	"context"
	"errors"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/generate/applyconfig"
	ourcrd "github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// errThorough says that the loader of kctrl cannot, or must not, answer for the one of controller-tools.
var errThorough = errors.New("needs the loader of controller-tools")

// quick loads each module once, and of it only what can produce output. An error does not mean that controller-gen fails
// too.
func (a *attempt) quick(ctx context.Context, patterns []string) (*Result, error) {
	program, broken := load.Load(ctx, load.Config{Dir: a.options.Dir, Patterns: patterns, Lenient: true})
	if program == nil {
		a.found = broken
		return nil, errors.Join(errThorough, a.found)
	}
	var wrong error
	a.findings, wrong = lint.Check(program, lint.Config{AllowUnknown: a.options.AllowUnknown, Lenient: true})
	a.found = errors.Join(broken, wrong)
	if broken != nil {
		return nil, errors.Join(errThorough, a.found)
	}
	a.program = program
	collector := &markers.Collector{Registry: a.registry}
	found := map[*load.Package]map[ast.Node]markers.MarkerValues{}
	var marked []*loader.Package
	for _, pkg := range a.program.Packages() {
		values, err := collector.MarkersInPackage(pkg.Package)
		if err != nil {
			return nil, errors.Join(errThorough, a.found)
		}
		found[pkg] = values
		marked = append(marked, pkg.Package)
	}
	if a.command.orderCounts(collector, marked) {
		return nil, errThorough
	}
	types, err := a.program.Types(ctx, a.command.emits(found))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(types.Roots, a.program.UsesC) {
		return nil, errThorough
	}
	types.Collector = collector
	result, err := a.command.generate(a.options.Dir, input{types, marked, a.program.ReadFile, a.program.Generated})
	return result, errors.Join(err, a.program.Problems(types.Roots))
}

// patterns returns the paths as load.Load takes them.
func (c *Command) patterns(o Options) ([]string, error) {
	if o.BuildTags != nil && !slices.Equal(o.BuildTags, []string{DefaultBuildTags}) {
		return nil, errThorough
	}
	if len(c.paths) == 0 {
		return []string{"."}, nil
	}
	var patterns []string
	for _, path := range c.paths {
		if !strings.HasPrefix(path, ".") && !filepath.IsAbs(path) {
			patterns = append(patterns, path)
			continue
		}
		absolute := path
		if !filepath.IsAbs(path) {
			absolute = filepath.Join(o.Dir, path)
		}
		rel, err := filepath.Rel(o.Dir, absolute)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, errThorough
		}
		patterns = append(patterns, "./"+filepath.ToSlash(rel))
	}
	return patterns, nil
}

// emits tells which packages can produce output, by the markers of the generators that run.
func (c *Command) emits(found map[*load.Package]map[ast.Node]markers.MarkerValues) func(*load.Package) bool {
	copies, schemas, configurations := false, false, false
	for _, g := range c.generators {
		switch g.value.(type) {
		case deepcopy.Generator:
			copies = true
		case crd.Generator, schemapatcher.Generator:
			schemas = true
		case ApplyConfiguration:
			configurations = true
		}
	}
	// Kinds without a group may have their versions in any package without a group.
	groupless := false
	for pkg, values := range found {
		groupless = groupless || !has(values, "groupName") && ourcrd.HasKinds(pkg.Package)
	}
	return func(pkg *load.Package) bool {
		return configurations && has(found[pkg], applyconfig.GenerateMarker) || copies && has(found[pkg], object.Markers()...) || schemas && (groupless || has(found[pkg], "groupName"))
	}
}

func has(values map[ast.Node]markers.MarkerValues, names ...string) bool {
	for _, of := range values {
		if slices.ContainsFunc(names, func(name string) bool { return len(of[name]) > 0 }) {
			return true
		}
	}
	return false
}

// orderCounts reports whether the output depends on the order of packages, which only the loader of controller-tools
// knows.
func (c *Command) orderCounts(collector *markers.Collector, packages []*loader.Package) bool {
	for _, g := range c.generators {
		switch g.value.(type) {
		case deepcopy.Generator:
			if rule, ok := g.rule.(genall.OutputArtifacts); (!ok || rule.Code != "") && g.rule != genall.OutputToNothing && len(packages) > 1 {
				return true
			}
		case webhook.Generator:
			if sharesWebhooks(collector, packages) {
				return true
			}
		}
	}
	return false
}

// sharesWebhooks reports whether two packages say something about the same configuration or webhook: the last one counts.
func sharesWebhooks(collector *markers.Collector, packages []*loader.Package) bool {
	configurations := 0
	named := map[string]bool{}
	for _, pkg := range packages {
		values, err := markers.PackageMarkers(collector, pkg)
		if err != nil {
			return true
		}
		if len(values[webhook.WebhookConfigDefinition.Name]) > 0 {
			configurations++
		}
		for _, value := range values[webhook.ConfigDefinition.Name] {
			name := value.(webhook.Config).Name
			if named[name] {
				return true
			}
			named[name] = true
		}
	}
	return configurations > 1
}
