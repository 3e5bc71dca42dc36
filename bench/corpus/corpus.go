// Package corpus has the API packages of well known operators, fetched as Go modules, and runs code generators on them.
//
// [Projects] lists what is fetched: modules in one version each, whose content the go command verifies, and the calls of
// controller-gen in the Makefile of each project. A project is copied, with [Project.Fetch], into a folder of its own,
// as generators write into the tree. [Tool.Run] runs one call there and says what it took.
package corpus

import (
	"slices"
	"strings"
)

// Project is an operator, or one of its providers.
type Project struct {
	Name string
	// Modules are where its source comes from. The first is the root of the copy.
	Modules []Module
	// Source is the folder that is copied if there are no modules.
	Source string
	// Folder is where its Makefile calls controller-gen, relative to the root. Empty means the root.
	Folder string
	// Object and Manifests are the two calls of a Makefile: the one for deep copies, and the one for everything else. No
	// Object means that the project makes its deep copies in some other way.
	Object, Manifests []string
	// More are other calls, whose output is compared too, but whose time is not measured.
	More [][]string
	// Applied are folders of packages that are told to have apply configurations, relative to Folder. The Makefiles ask for
	// none, so these packages get a file with the marker. Packages on which controller-gen panics are not among them.
	Applied []string
	// Patch is the call that renews the schemas in the manifests that Manifests writes.
	Patch []string
	// Edited is a type that somebody could be working on.
	Edited Type
}

// Module is one version of a Go module.
type Module struct {
	Path, Version string
	// Folder is where it belongs in the repository, below that of the first module.
	Folder string
}

// Type is a struct of a project.
type Type struct {
	File string // relative to the folder of the project
	Name string
}

// Calls are the two calls of a Makefile, or the one that there is.
func (p Project) Calls() [][]string {
	switch {
	case len(p.Manifests) == 0:
		return nil
	case len(p.Object) == 0:
		return [][]string{p.Manifests}
	}
	return [][]string{p.Object, p.Manifests}
}

// All are the calls whose output is compared, in an order in which each finds what it reads.
func (p Project) All() [][]string {
	all := slices.Concat(p.Calls(), p.More)
	if len(p.Patch) > 0 {
		all = append(all, p.Patch)
	}
	for _, folder := range p.Applied {
		all = append(all, []string{"applyconfiguration", "paths=./" + folder})
	}
	return all
}

// Once merges the calls of a Makefile into one that makes the same files. It reports false if they look at different
// packages, if one says where all output goes, or if there is one call only.
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
