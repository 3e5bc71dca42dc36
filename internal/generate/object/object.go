// Package object generates the deep copy methods of API types: zz_generated.deepcopy.go in each package that
// "+kubebuilder:object:generate=true" or "+kubebuilder:object:root=true" asks for it.
package object

import (
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// FileName is the name of the file in each package.
const FileName = "zz_generated.deepcopy.go"

// Markers returns the names of the markers that ask for deep copies.
func Markers() []string {
	return []string{"kubebuilder:object:generate", "kubebuilder:object:root", "k8s:deepcopy-gen", "k8s:deepcopy-gen:interfaces"}
}

// Emits reports whether a package may get deep copies.
func Emits(pkg *markers.Package) bool { return pkg.Has(Markers()...) }

// Generate returns the files for those of the roots in ctx that ask for them. Problems stay with the packages they are
// about, for [markers.Program.Problems]. The output of ctx is not used.
func Generate(ctx genall.GenerationContext, root string, header artifact.Header) ([]artifact.File, error) {
	sink := &artifact.Sink{Root: root}
	ctx.OutputRule, ctx.InputRule = sink, header
	err := Write(ctx, deepcopy.Generator{HeaderFile: header.Path(), Year: header.Year})
	return sink.Files(), err
}
