// Package generate turns the markers and types of a project into files: deep copies, CRDs and RBAC rules, all from one
// load of its packages. The files are byte for byte those of controller-gen v0.23.0.
//
// [Run] only plans: it adds the files to a [scaffold.Plan], and sees the files that are in the plan already as if they
// were written. It adds nothing if anything is wrong.
package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DefaultHeaderFile is the header of generated code, in projects that have the file.
const DefaultHeaderFile = "hack/boilerplate.go.txt"

// DefaultRoleName is the name of the role of the manager.
const DefaultRoleName = "manager-role"

// Options say what to generate. The zero value generates nothing.
type Options struct {
	// Object generates zz_generated.deepcopy.go in API packages.
	Object bool
	// CRD generates config/crd/bases/<group>_<plural>.yaml for each kind.
	CRD bool
	// RBAC generates config/rbac/role.yaml.
	RBAC bool

	// Paths are the packages to look at, as in markers.Config. None, or "./...", means all packages of the project; only
	// then are files removed that nothing generates any more.
	Paths []string
	// AllowUnknown are prefixes of markers that may be unknown.
	AllowUnknown []string
	// HeaderFile is what deep copies begin with, relative to the project. Empty means DefaultHeaderFile if there is
	// one, else no header.
	HeaderFile string
	// Year replaces YEAR in the header.
	Year string
	// RoleName names the role. Empty means DefaultRoleName.
	RoleName string
	// MaxDescLen cuts the descriptions in CRDs; see crd.Options.
	MaxDescLen *int
}

// Run plans what the markers of the project in dir, an absolute path, ask for. Files that are in the plan already count
// as written, and those it deletes as gone. project, which may be nil, names the kinds that must be there.
//
// What is wrong with the project comes back at once, joined from *diagnostic.Error in the order of position, and nothing
// is added to the plan.
func Run(ctx context.Context, dir string, plan *scaffold.Plan, project *scaffold.Project, o Options) error {
	program, err := markers.Load(ctx, markers.Config{
		Dir: dir, Overlay: overlay(dir, plan), Patterns: o.Paths, AllowUnknown: o.AllowUnknown,
	})
	if err != nil {
		return err
	}
	g := &generation{dir: dir, plan: plan, program: program, options: o}
	if err := g.run(ctx); err != nil {
		return err
	}
	if project != nil && g.complete() && o.CRD {
		if err := g.checkKinds(project); err != nil {
			return err
		}
	}
	return g.write()
}

// overlay returns what the plan makes of the files in dir: new content, or nil for a file that goes away.
func overlay(dir string, plan *scaffold.Plan) map[string][]byte {
	files := plan.Overlay(dir)
	for change := range plan.Changes() {
		if change.Op == scaffold.Delete {
			files[filepath.Join(dir, filepath.FromSlash(change.Path))] = nil
		}
	}
	return files
}

// The names of the generators in PROJECT.lock.
const (
	objectTemplate = "generate/object"
	crdTemplate    = "generate/crd"
	rbacTemplate   = "generate/rbac"
)

// generation is one run.
type generation struct {
	dir     string
	plan    *scaffold.Plan
	program *markers.Program
	options Options

	kinds   map[schema.GroupVersionKind]bool
	outputs []output
}

// output is a generated file and the generator that made it.
type output struct {
	artifact.File
	template string
}

// complete reports whether all packages of the project were looked at, so that what was not generated is out of date.
func (g *generation) complete() bool {
	return len(g.options.Paths) == 0 || slices.Contains(g.options.Paths, "./...")
}

// run generates everything in memory.
func (g *generation) run(ctx context.Context) error {
	types, err := g.program.Types(ctx, func(pkg *markers.Package) bool {
		return g.options.Object && object.Emits(pkg) || g.options.CRD && crd.Emits(pkg)
	})
	if err != nil {
		return err
	}
	if g.options.Object {
		header, err := g.header()
		if err != nil {
			return err
		}
		if err := g.add(objectTemplate)(object.Generate(types, g.dir, header)); err != nil {
			return err
		}
	}
	if g.options.CRD {
		result, err := crd.Generate(types, crd.Options{MaxDescLen: g.options.MaxDescLen})
		if err := g.add(crdTemplate)(result.Files, err); err != nil {
			return err
		}
		g.kinds = result.Kinds
	}
	if g.options.RBAC {
		name := cmp.Or(g.options.RoleName, DefaultRoleName)
		if err := g.add(rbacTemplate)(rbac.Generate(g.program, name)); err != nil {
			return err
		}
	}
	return g.program.Problems(types.Roots)
}

// add returns a function that takes the result of a generator.
func (g *generation) add(template string) func([]artifact.File, error) error {
	return func(files []artifact.File, err error) error {
		for _, f := range files {
			g.outputs = append(g.outputs, output{f, template})
		}
		return err
	}
}

// header reads the header of generated code.
func (g *generation) header() (artifact.Header, error) {
	name := path.Clean(filepath.ToSlash(cmp.Or(g.options.HeaderFile, DefaultHeaderFile)))
	if !fs.ValidPath(name) {
		return artifact.Header{}, headerError(name, "is outside the project", nil)
	}
	text, err := g.plan.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		if g.options.HeaderFile == "" {
			return artifact.Header{}, nil
		}
		return artifact.Header{}, headerError(name, "does not exist", err)
	}
	return artifact.Header{Text: string(text), Year: g.options.Year}, err
}

func headerError(name, message string, cause error) error {
	return &diagnostic.Error{
		Message: fmt.Sprintf("header file %q %s", name, message),
		Hint:    "name a file of the project with --header-file",
		Class:   diagnostic.ErrUsage,
		Cause:   cause,
	}
}

// checkKinds reports the kinds that PROJECT lists and that no Go type stands for.
func (g *generation) checkKinds(project *scaffold.Project) error {
	var errs []error
	for _, r := range project.Resources {
		kind := schema.GroupVersionKind{Group: r.APIGroup(), Version: r.Version, Kind: r.Kind}
		if r.API && !g.kinds[kind] {
			errs = append(errs, &diagnostic.Error{
				Pos:     token.Position{Filename: scaffold.ProjectFile},
				Message: fmt.Sprintf("lists %s, but no Go type is that kind", r),
				Hint:    fmt.Sprintf("bring back the type %s with its markers, or remove the kind from %s", r.Kind, scaffold.ProjectFile),
			})
		}
	}
	return errors.Join(errs...)
}
