package generate

import (
	"cmp"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/generators"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
)

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
