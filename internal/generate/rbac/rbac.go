// Package rbac generates the role of the manager from "+kubebuilder:rbac" markers.
package rbac

import (
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// Path is the file that the role is written to.
const Path = Folder + "/role.yaml"

// Folder is where the role is written.
const Folder = "config/rbac"

// Emits reports whether a package has rules.
func Emits(pkg *markers.Package) bool { return pkg.Has(rbac.RuleDefinition.Name) }

// Generate returns the file with the ClusterRole, and a Role for each namespace that a rule names. Without any rule it
// returns nothing.
func Generate(program *markers.Program, roleName string) ([]artifact.File, error) {
	sink := &artifact.Sink{Folder: Folder}
	ctx := &genall.GenerationContext{Collector: program.Collector(), OutputRule: sink}
	for _, pkg := range program.Packages() {
		if Emits(pkg) {
			ctx.Roots = append(ctx.Roots, pkg.Package)
		}
	}
	err := rbac.Generator{RoleName: roleName}.Generate(ctx)
	return sink.Files(), err
}
