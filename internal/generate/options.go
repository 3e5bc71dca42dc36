package generate

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/generators"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// DefaultHeaderFile is the header of generated code, in projects that have the file.
const DefaultHeaderFile = "hack/boilerplate.go.txt"

// Options select what to generate. The zero value generates nothing.
type Options struct {
	// Generators are the names of the generators to run; see package generators. They run in the order of that list.
	Generators []string
	// Settings are the settings of the project, by generator name; see [Options.Flags]. A generator without an entry
	// has its defaults.
	Settings map[string]*generator.Settings

	// Paths are the packages to read, as in load.Config. An empty list, or "./...", means all packages of the project.
	// Only then does a run delete outdated files.
	Paths []string
	// AllowUnknown are prefixes of unknown markers to accept.
	AllowUnknown []string
	// Warn receives problems of markers that do not affect any output. It may be nil.
	Warn func(lint.Finding)
	// Inputs receives the known inputs of the result, also if the run fails. It may be nil.
	Inputs func(source.Inputs)
	// Made receives each CRD and a function that finds the source of its problems. It may be nil; a run with it does
	// not use the cache.
	Made func(*apiextensionsv1.CustomResourceDefinition, generator.Explain)
	// Cache keeps results for later runs. The zero value keeps nothing.
	Cache incremental.Store
	// HeaderFile is the header of generated code, relative to the project. Empty means DefaultHeaderFile if that
	// exists, otherwise no header.
	HeaderFile string
	// ManifestHeaderFile is the header of manifests, relative to the project. Empty means no header.
	ManifestHeaderFile string
	// Postprocess is the file that declares how to postprocess manifests, relative to the project. Empty means
	// postprocess.DefaultFile if that exists.
	Postprocess string
	// LeaveRules skips the compilation of CEL rules, because the caller compiles them and reports their problems.
	LeaveRules bool
	// Year replaces YEAR in the headers. Empty means the year of the existing code, or the current year.
	Year string
}

// Flags returns the flags of the generators that run. The flags write to Settings, to which Flags adds missing entries.
func (o *Options) Flags() []generator.Flag {
	if o.Settings == nil {
		o.Settings = map[string]*generator.Settings{}
	}
	var flags []generator.Flag
	for _, g := range o.chosen() {
		o.Settings[g.Name] = g.settings
		if g.Dir.Name != "" {
			dir := g.Dir
			dir.To = &g.settings.Dir
			flags = append(flags, dir)
		}
		if g.Flags != nil {
			flags = append(flags, g.Flags(g.settings.Options)...)
		}
	}
	return flags
}

// complete reports whether the paths are all packages of a project.
func (o Options) complete() bool { return len(o.Paths) == 0 || slices.Contains(o.Paths, "./...") }

func clean(name string) string { return path.Clean(filepath.ToSlash(name)) }

// check returns an error for an output outside of the project.
func (o Options) check() error {
	var errs []error
	for _, g := range o.chosen() {
		if dir := g.dir(); dir != "" && !fs.ValidPath(dir) {
			errs = append(errs, artifact.OutputError(dir, "is not a directory of the project"))
		}
		if g.Check != nil {
			errs = append(errs, g.Check(g.settings.Value()))
		}
	}
	return errors.Join(errs...)
}

// completeYear sets an unset year if the header of Go files has a placeholder for it.
func (o *Options) completeYear(p *plan.Plan) error {
	header, err := p.Read(path.Clean(cmp.Or(o.HeaderFile, DefaultHeaderFile)))
	if err != nil || o.Year != "" {
		return nil // the caller that reads the header reports the error
	}
	o.Year, err = templated.YearOf(p, header)
	return err
}

// The names of the generators that other packages refer to.
var (
	Object = object.Generator.Name
	CRD    = crd.Generator.Name
	RBAC   = rbac.Generator.Name
)

// Named returns the names of the project generators for which wanted returns true.
func Named(wanted func(generator.Generator) bool) []string {
	var names []string
	for _, g := range generators.All() {
		if !g.GenOnly && wanted(g) {
			names = append(names, g.Name)
		}
	}
	return names
}

// chosen is a generator of this run with its settings in the project.
type chosen struct {
	generator.Generator
	settings *generator.Settings
}

// chosen returns the generators that the options select.
func (o Options) chosen() []chosen {
	var found []chosen
	for _, g := range generators.All() {
		if slices.Contains(o.Generators, g.Name) {
			settings := o.Settings[g.Name]
			if settings == nil {
				settings = g.Settings()
			}
			found = append(found, chosen{g, settings})
		}
	}
	return found
}

// dir returns the output directory, relative to the project. "" means the directories of the types.
func (c chosen) dir() string {
	if c.Dir.Name == "" {
		return ""
	}
	return clean(cmp.Or(c.settings.Dir, c.Dir.Default))
}

// template returns the name of the files in PROJECT.lock.
func (c chosen) template() string { return "generate/" + c.Name }

// makes reports whether the generator would write a file with this name to the same place now.
func (c chosen) makes(name string) bool { return c.dir() == "" || path.Dir(name) == c.dir() }
