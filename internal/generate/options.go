package generate

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// DefaultHeaderFile is the header of generated code, in projects that have the file.
const DefaultHeaderFile = "hack/boilerplate.go.txt"

// Options say what to generate. The zero value generates nothing.
type Options struct {
	// Generators are the names of the generators that run; see package generators. Their order is that of the list.
	Generators []string
	// Settings are what the project sets of generators, by their names; see [Options.Flags]. A generator that is not there
	// has its defaults.
	Settings map[string]*generator.Settings

	// Paths are the packages to look at, as in load.Config. None, or "./...", means all packages of the project; only
	// then are files removed that nothing generates any more.
	Paths []string
	// AllowUnknown are prefixes of markers that may be unknown.
	AllowUnknown []string
	// Warn receives what is wrong with markers that do not reach any output. It may be nil.
	Warn func(lint.Finding)
	// Inputs receives what the result depends on, as far as that is known, whether there is one or not. It may be nil.
	Inputs func(source.Inputs)
	// Made receives each CRD and what places its problems in the source. It may be nil; a run that has it uses no cache.
	Made func(*apiextensionsv1.CustomResourceDefinition, generator.Explain)
	// Cache keeps results for later runs. The zero value keeps nothing.
	Cache incremental.Store
	// HeaderFile is what generated code begins with, relative to the project. Empty means DefaultHeaderFile if there is
	// one, else no header.
	HeaderFile string
	// ManifestHeaderFile is what manifests begin with, relative to the project. Empty means no header.
	ManifestHeaderFile string
	// Postprocess is the file that declares what becomes of manifests, relative to the project. Empty means
	// postprocess.DefaultFile if there is one.
	Postprocess string
	// LeaveRules has rules in CEL not be compiled: who asks does so, and says in other words what is wrong with them.
	LeaveRules bool
	// Year replaces YEAR in the headers. Empty means that of the code there is, or this one.
	Year string
}

// Flags returns the flags of the generators that run. They set what is in Settings, where it adds those that are missing.
func (o *Options) Flags() []generator.Flag {
	if o.Settings == nil {
		o.Settings = map[string]*generator.Settings{}
	}
	var flags []generator.Flag
	for _, g := range o.chosen() {
		o.Settings[g.Name] = g.settings
		if g.Folder.Name != "" {
			folder := g.Folder
			folder.To = &g.settings.Folder
			flags = append(flags, folder)
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

// check reports an output that would not be in the project.
func (o Options) check() error {
	var errs []error
	for _, g := range o.chosen() {
		if folder := g.folder(); folder != "" && !fs.ValidPath(folder) {
			errs = append(errs, artifact.OutputError(folder, "is no folder of the project"))
		}
		if g.Check != nil {
			errs = append(errs, g.Check(g.settings.Value()))
		}
	}
	return errors.Join(errs...)
}
