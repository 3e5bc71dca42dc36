// Package generate generates files from the markers and types of a project: deep copies, CRDs, RBAC rules and webhook
// configurations. It loads the packages once. Each generator is a value in the list in package generators. The files
// are byte-identical to the files of controller-gen v0.23.0.
//
// [Run] only plans: it adds the files to a [plan.Plan], and treats planned files as written. If there is an error, it
// adds nothing.
package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/postprocess"
	"github.com/kctrl-dev/kctrl/internal/generate/verdict"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// Run plans the files that the markers of the project in dir, an absolute path, request. It treats files in the plan as
// written, and files that the plan deletes as missing. proj lists the kinds that must exist; it may be nil. In a
// foreign project, Run changes only the generated files.
//
// Run returns all problems at once, joined from *diagnostic.Error in the order of position. It then adds nothing to the
// plan.
func Run(ctx context.Context, dir string, plan *plan.Plan, proj *project.Project, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if proj != nil && !proj.Foreign && o.complete() {
		paths, err := gomod.GeneratedPaths(plan, proj)
		if err != nil {
			return err
		}
		given := slices.DeleteFunc(slices.Clone(o.Paths), func(path string) bool { return path == "./..." })
		o.Paths = append(paths, given...) // explicit paths must exist
	}
	if proj != nil {
		if err := o.completeYear(plan); err != nil {
			return err
		}
	}
	g := &generation{dir: dir, plan: plan, options: o, generators: o.chosen(), foreign: proj != nil && proj.Foreign}
	if err := g.runCached(ctx); err != nil {
		return err
	}
	if proj != nil && o.complete() && slices.Contains(o.Generators, CRD) {
		if err := g.checkKinds(proj); err != nil {
			return err
		}
	}
	if err := g.write(); err != nil || proj == nil || proj.Foreign {
		return err
	}
	return scaffold.PlanLists(plan, proj)
}

// Outputs returns the files that the generators of a run would write, and changes nothing. It has the arguments and
// errors of [Run]. It may return files together with an error.
func Outputs(ctx context.Context, dir string, p *plan.Plan, proj *project.Project, o Options) ([]artifact.File, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	g := &generation{dir: dir, plan: p, options: o, generators: o.chosen(), foreign: proj == nil || proj.Foreign}
	err := g.runCached(ctx)
	return g.outputs, err
}

// overlay returns the planned state of the files in dir: their new content, or nil for a deleted file.
func overlay(dir string, p *plan.Plan) map[string][]byte {
	files := p.Overlay(dir)
	for change := range p.Changes() {
		if change.Op == plan.Delete {
			files[filepath.Join(dir, filepath.FromSlash(change.Path))] = nil
		}
	}
	return files
}

// generation is one run.
type generation struct {
	dir     string
	plan    *plan.Plan
	program *load.Program
	options Options
	// generators are the generators that the options select.
	generators []chosen
	foreign    bool // whether the project was not created by kctrl
	warn       func(lint.Finding)

	kinds   map[schema.GroupVersionKind]bool
	outputs []artifact.File
	// crds checks the CRDs of the run.
	crds verdict.Checker
}

// run generates everything in memory. The generators of one command stop at the first one that fails.
func (g *generation) run(ctx context.Context) error {
	var emits []func(*load.Package) bool
	for _, of := range g.generators {
		if of.Emits != nil {
			emits = append(emits, of.Emits(g.program.Packages()))
		}
	}
	types, err := g.program.Types(ctx, func(pkg *load.Package) bool {
		return slices.ContainsFunc(emits, func(emits func(*load.Package) bool) bool { return emits(pkg) })
	})
	if err != nil {
		return err
	}
	g.kinds = map[schema.GroupVersionKind]bool{}
	declaration, err := g.declaration()
	g.crds = verdict.Checker{Later: declaration != nil, LeaveRules: g.options.LeaveRules, Warn: g.warnOf}
	errs := []error{err}
	failed := map[bool]bool{}
	for _, of := range g.generators {
		if failed[of.Code] {
			continue
		}
		if err := g.runOne(of, types); err != nil {
			errs, failed[of.Code] = append(errs, err), true
		}
	}
	err = errors.Join(append(errs, g.program.Problems(types.Roots))...)
	if err := errors.Join(err, g.crds.Err(err)); err != nil {
		return err
	}
	if err := g.postprocess(declaration); err != nil {
		return err
	}
	g.crds.CheckFiles(g.outputs)
	return g.crds.Err(nil)
}

func (g *generation) readFile(name string) ([]byte, error) {
	return g.program.ReadFile(filepath.Join(g.dir, name))
}

func (g *generation) warnOf(warning *diagnostic.Error) { g.warn(lint.Finding{Error: warning}) }

// manifests returns the names of the generators that run and write manifests.
func (g *generation) manifests() []string {
	var names []string
	for _, of := range g.generators {
		if !of.Code {
			names = append(names, of.Name)
		}
	}
	return names
}

// declaration reads how to postprocess the manifests of the run. It returns nil if they stay unchanged.
func (g *generation) declaration() (*postprocess.Declaration, error) {
	if len(g.manifests()) == 0 {
		return nil, nil
	}
	return postprocess.Load(g.options.Postprocess, g.readFile)
}

// postprocess applies the declaration of the project, which may be nil, to the manifests.
func (g *generation) postprocess(declaration *postprocess.Declaration) error {
	if declaration == nil {
		return nil
	}
	files, err := declaration.Apply(postprocess.Input{Files: g.outputs, Ran: g.manifests(),
		Partial: !g.options.complete(), Inside: true, Read: g.readFile})
	if err != nil {
		return err
	}
	for i, f := range files {
		files[i].Generator = cmp.Or(f.Generator, outputTemplate)
	}
	g.outputs = files
	return nil
}

// outputTemplate is the name in PROJECT.lock of files that a declaration adds.
const outputTemplate = "generate/output"

// runOne runs one generator. If the generator fails, runOne keeps the output so far, so that the user also sees the
// problems of other generators.
func (g *generation) runOne(of chosen, types genall.GenerationContext) error {
	header, err := g.headerOf(of)
	if err != nil {
		return err
	}
	sink := &artifact.Sink{Dir: g.dir, Rule: genall.OutputArtifacts{Config: genall.OutputToDirectory(of.dir())}}
	types.InputRule, types.OutputRule = header, sink
	if of.Emits == nil {
		types.Roots = g.withMarkers(of.PackageMarkers)
	}
	err = of.Generate(generator.Input{
		GenerationContext: types,
		Dir:               g.dir,
		Strict:            true,
		Check:             g.check,
		Year:              header.Year,
		Markers:           g.program.Registry(),
		Generated:         g.program.GeneratedElsewhere,
		LeftOut:           g.program.Generated,
		Warn:              g.warnOf,
		Defines:           func(kind schema.GroupVersionKind) { g.kinds[kind] = true },
		Write:             sink.Write,
	}, generator.WithHeader(of.settings.Value(), header))
	for _, f := range sink.Files() {
		rel, failed := filepath.Rel(g.dir, f.Path)
		if failed != nil || !filepath.IsLocal(rel) {
			err = errors.Join(err, artifact.OutputError(f.Path, "is outside the project"))
		}
		f.Path, f.Generator = filepath.ToSlash(rel), of.template()
		g.outputs = append(g.outputs, f)
	}
	return err
}

// check checks a CRD and passes it to the consumer of CRDs, if any.
func (g *generation) check(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
	if g.options.Made != nil {
		g.options.Made(crd, explain)
	}
	g.crds.Check(crd, explain)
}

// withMarkers returns the packages that have markers with the given names, with only these markers, including markers
// that controller-gen would not find. An empty list means all packages, unchanged.
func (g *generation) withMarkers(names []string) []*loader.Package {
	var found []*loader.Package
	for _, pkg := range g.program.Packages() {
		switch {
		case len(names) == 0:
			found = append(found, pkg.Package)
		case pkg.Has(names...):
			found = append(found, pkg.Only(names...))
		}
	}
	return found
}

// headerOf reads the header of the files of a generator and checks its text. Without a header in the options, code has
// the default header if that exists.
func (g *generation) headerOf(of chosen) (artifact.Header, error) {
	file, check := g.options.ManifestHeaderFile, diagnostic.ManifestHeader
	if of.Code {
		file, check = g.options.HeaderFile, diagnostic.CodeHeader
		if _, err := g.plan.Read(DefaultHeaderFile); !errors.Is(err, fs.ErrNotExist) {
			file = cmp.Or(file, DefaultHeaderFile)
		}
	}
	if file == "" {
		return artifact.Header{}, nil
	}
	name := clean(file)
	if !fs.ValidPath(name) {
		return artifact.Header{}, headerError(name, "is outside the project", nil)
	}
	text, err := g.plan.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return artifact.Header{}, headerError(name, "does not exist", err)
	}
	if err != nil {
		return artifact.Header{}, err
	}
	return artifact.Header{Text: string(text), Year: g.options.Year}, check(name, string(text))
}

func headerError(name, message string, cause error) error {
	return &diagnostic.Error{
		Message: fmt.Sprintf("header file %q %s", name, message),
		Hint:    "name a file of the project with --header-file",
		Class:   diagnostic.ErrUsage,
		Cause:   cause,
	}
}

// checkKinds reports kinds in PROJECT without a Go type.
func (g *generation) checkKinds(proj *project.Project) error {
	var errs []error
	for i, r := range proj.Resources {
		at := proj.Position(i, "")
		at.Filename = project.File
		kind := schema.GroupVersionKind{Group: r.APIGroup(), Version: r.Version, Kind: r.Kind}
		if r.API && !g.kinds[kind] {
			errs = append(errs, diagnostic.At(at, fmt.Sprintf("lists %s, but no Go type is that kind", r),
				fmt.Sprintf("bring back the type %s with its markers, or remove the kind from %s", r.Kind, project.File)))
		}
	}
	return errors.Join(errs...)
}
