// Package rbac generates the role of the manager from "+kubebuilder:rbac" markers.
package rbac

import (
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// Folder is where the role is written.
const Folder = "config/rbac"

// FileName is the name of the file.
const FileName = "role.yaml"

// Path is the file that the role is written to.
const Path = Folder + "/" + FileName

// Options say what to write.
type Options struct {
	// Folder is where to write, relative to the project.
	Folder string
	// RoleName names the role of the rules that name none.
	RoleName string
	// FileName is the name of the file. Empty means [FileName].
	FileName string
	// Header is what the file begins with.
	Header artifact.Header
}

// Emits reports whether a package has rules.
func Emits(pkg *load.Package) bool { return pkg.Has(rbac.RuleDefinition.Name) }

// Generate returns the file with the ClusterRole, and a Role for each namespace that a rule names. Without any rule it
// returns nothing.
func Generate(program *load.Program, o Options) ([]artifact.File, error) {
	sink := &artifact.Sink{Folder: o.Folder}
	ctx := &genall.GenerationContext{Collector: &markers.Collector{Registry: program.Registry().Registry}, OutputRule: sink, InputRule: o.Header}
	for _, pkg := range program.Packages() {
		if Emits(pkg) {
			ctx.Roots = append(ctx.Roots, pkg.Only(rbac.RuleDefinition.Name))
		}
	}
	err := rbac.Generator{RoleName: o.RoleName, FileName: o.FileName, HeaderFile: o.Header.Path(), Year: o.Header.Year}.Generate(ctx)
	return sink.Files(), err
}
