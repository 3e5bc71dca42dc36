// Package corpus contains the API packages of well-known operators and runs code generators on them.
//
// [Projects] lists the modules with their versions, and the calls of controller-gen in each project's Makefile.
// [Project.Fetch] downloads the modules, verified by the go command, and copies a project into its own directory,
// because generators write into the source tree. [Tool.Run] runs one call there and measures it.
package corpus

import (
	"slices"
	"strings"
)

// Project is an operator or one of its providers.
type Project struct {
	Name string
	// Modules contain the source. The first is the root of the copy.
	Modules []Module
	// Source is the directory to copy if Modules is empty.
	Source string
	// Dir is the directory in which the Makefile calls controller-gen, relative to the root. Empty means the root.
	Dir string
	// Object and Manifests are the two calls of a Makefile: the one for deep copies, and the one for everything else.
	// An empty Object means that the project does not generate its deep copies with controller-gen.
	Object, Manifests []string
	// More are additional calls, whose output is compared but whose time is not measured.
	More [][]string
	// Applied are directories of packages, relative to Dir, to which the benchmark adds a file with the marker for apply
	// configurations, because the Makefiles do not generate them. Packages on which controller-gen panics are excluded.
	Applied []string
	// Patch is the call that updates the schemas in the manifests of the Manifests call.
	Patch []string
	// Edited is a type to edit between runs.
	Edited Type
}

type Module struct {
	Path, Version string
	// Dir is the module's place in the repository, relative to the first module.
	Dir string
}

// Type is a struct of a project.
type Type struct {
	File string // relative to the directory of the project
	Name string
}

// Calls returns the calls of the Makefile: one or two.
func (p Project) Calls() [][]string {
	switch {
	case len(p.Manifests) == 0:
		return nil
	case len(p.Object) == 0:
		return [][]string{p.Manifests}
	}
	return [][]string{p.Object, p.Manifests}
}

// All returns the calls whose output is compared. Calls that read files come after the calls that write them.
func (p Project) All() [][]string {
	all := slices.Concat(p.Calls(), p.More)
	if len(p.Patch) > 0 {
		all = append(all, p.Patch)
	}
	for _, dir := range p.Applied {
		all = append(all, []string{"applyconfiguration", "paths=./" + dir})
	}
	return all
}

// Once merges the calls of a Makefile into one call with the same output. It reports false if the calls read different
// packages, if one call sets the output for all generators, or if only one call exists.
func (p Project) Once() ([]string, bool) {
	object, manifests := paths(p.Object), paths(p.Manifests)
	if len(p.Object) == 0 || !slices.Equal(object, manifests) || slices.ContainsFunc(p.Manifests, isOutputOfAll) {
		return nil, false
	}
	once := slices.Clone(p.Manifests)
	for _, arg := range p.Object {
		if !isPath(arg) {
			once = append(once, arg)
		}
	}
	return once, true
}

func isPath(arg string) bool { return strings.HasPrefix(arg, "paths=") }

func isOutputOfAll(arg string) bool { return strings.HasPrefix(arg, "output:dir=") }

func paths(args []string) []string {
	var found []string
	for _, arg := range args {
		if isPath(arg) {
			found = append(found, arg)
		}
	}
	return found
}
