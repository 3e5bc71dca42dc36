// Package object generates the deep copy methods of API types: zz_generated.deepcopy.go in each package with the marker
// "+kubebuilder:object:generate=true" or "+kubebuilder:object:root=true".
//
// If the code of controller-gen compiles and copies everything, the generated code is the same. Other types are copied
// part by part: see [writer.value].
package object

import (
	"cmp"
	"errors"
	"go/scanner"

	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// FileName is the name of the file in each package.
const FileName = "zz_generated.deepcopy.go"

// Generator generates the file of each package with a marker for deep copies.
var Generator = generator.Generator{
	Name:    "object",
	Options: deepcopy.Generator{},
	Code:    true,
	Follows: true,
	Emits: func([]*load.Package) func(*load.Package) bool {
		return func(pkg *load.Package) bool { return pkg.Has(markerNames...) }
	},
	// All files have the same name, so the last one counts in a shared directory.
	OrderCounts: func(packages []*load.Package, rule genall.OutputRule) bool {
		artifacts, ok := rule.(genall.OutputArtifacts)
		return (!ok || artifacts.Code != "") && rule != genall.OutputToNothing && len(packages) > 1
	},
	Generate: func(in generator.Input, options genall.Generator) error {
		return write(in.GenerationContext, options.(deepcopy.Generator), in.Generated)
	},
}

// write opens a file of ctx for each of its roots with a marker for deep copies.
func write(ctx genall.GenerationContext, options deepcopy.Generator, generated generated) error {
	header, err := artifact.ReadCodeHeader(ctx, options.HeaderFile, options.Year)
	if err != nil {
		return err
	}
	known := newPackages(ctx.Collector, ctx.Roots, generated)
	for _, root := range ctx.Roots {
		ctx.Checker.Check(root)
		root.NeedTypesInfo()
		code, err := generate(ctx.Collector, known, root, header)
		if err == nil && code != nil {
			err = writeFile(ctx, root, code)
		}
		if err != nil && !follows(err, root) {
			root.AddError(err)
		}
	}
	return nil
}

// follows reports whether the code is invalid because of a missing type, which is already reported.
func follows(err error, root *loader.Package) bool {
	_, isSyntax := errors.AsType[scanner.ErrorList](err)
	return isSyntax && load.Reported(root)
}

func writeFile(ctx genall.GenerationContext, pkg *loader.Package, code []byte) error {
	out, err := ctx.Open(pkg, FileName)
	if err != nil {
		return err
	}
	_, err = out.Write(code)
	return cmp.Or(err, out.Close())
}
