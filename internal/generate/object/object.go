// Package object generates the deep copy methods of API types: zz_generated.deepcopy.go in each package that
// "+kubebuilder:object:generate=true" or "+kubebuilder:object:root=true" asks for it.
//
// Where the code of controller-gen compiles and copies all there is, it is the same code. Everything else is copied part
// by part: see [writer.value].
package object

import (
	"cmp"
	"io"

	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// FileName is the name of the file in each package.
const FileName = "zz_generated.deepcopy.go"

// Emits reports whether a package may get deep copies.
func Emits(pkg *load.Package) bool { return pkg.Has(Markers()...) }

// Generate returns the files for those of the roots in ctx that ask for them. Problems stay with the packages they are
// about, for [load.Program.Problems]. The output of ctx is not used.
func Generate(ctx genall.GenerationContext, root string, header artifact.Header, generated Generated) ([]artifact.File, error) {
	sink := &artifact.Sink{Root: root}
	ctx.OutputRule, ctx.InputRule = sink, header
	err := Write(ctx, deepcopy.Generator{HeaderFile: header.Path(), Year: header.Year}, generated)
	return sink.Files(), err
}

// Write opens a file of ctx for each of its roots that asks for deep copies.
func Write(ctx genall.GenerationContext, options deepcopy.Generator, generated Generated) error {
	header, err := artifact.ReadHeader(ctx, options.HeaderFile, options.Year)
	if err != nil {
		return err
	}
	known := newPackages(ctx.Collector, ctx.Roots, generated)
	for _, root := range ctx.Roots {
		ctx.Checker.Check(root)
		root.NeedTypesInfo()
		code, err := generate(ctx.Collector, known, root, header)
		if err == nil && code != nil {
			err = write(ctx, root, code)
		}
		if err != nil {
			root.AddError(err)
		}
	}
	return nil
}

func write(ctx genall.GenerationContext, pkg *loader.Package, code []byte) error {
	var out io.WriteCloser
	out, err := ctx.Open(pkg, FileName)
	if err != nil {
		return err
	}
	_, err = out.Write(code)
	return cmp.Or(err, out.Close())
}
