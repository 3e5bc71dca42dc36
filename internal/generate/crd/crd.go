// Package crd generates a CustomResourceDefinition for each kind: a struct with embedded metav1.TypeMeta and
// metav1.ObjectMeta, in all versions of its group.
package crd

import (
	"fmt"
	"go/ast"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// Folder is where the files are written, each named <group>_<plural>.yaml.
const Folder = "config/crd/bases"

// The annotation that controller-gen puts on what it writes. The output is that of this version byte for byte, and says
// so, which keeps the diff of a migration empty.
const (
	versionAnnotation = "controller-gen.kubebuilder.io/version"
	version           = "v0.23.0"
)

// Options say how schemas are written.
type Options struct {
	// MaxDescLen cuts descriptions at the end of a sentence that fits in so many characters. 0 leaves them out; nil
	// keeps them whole.
	MaxDescLen *int
}

// Emits reports whether a package can have kinds or versions of them. Every package of a group counts: a version may
// consist of types that only point to those of another.
func Emits(pkg *markers.Package) bool {
	if pkg.Has("groupName") {
		return true
	}
	found := false
	loader.EachType(pkg.Package, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
		found = found || embedsMeta(spec)
	})
	return found
}

// embedsMeta reports whether a type looks like a kind.
func embedsMeta(spec *ast.TypeSpec) bool {
	structType, ok := spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	embedded := map[string]bool{}
	for _, field := range structType.Fields.List {
		if field.Names != nil {
			continue
		}
		switch t := field.Type.(type) {
		case *ast.SelectorExpr:
			embedded[t.Sel.Name] = true
		case *ast.Ident:
			embedded[t.Name] = true
		}
	}
	return embedded["TypeMeta"] && embedded["ObjectMeta"]
}

// Result is what [Generate] made.
type Result struct {
	Files []artifact.File
	// Kinds are the kinds that the files define, in all their versions.
	Kinds map[schema.GroupVersionKind]bool
}

// Generate makes a file for each kind in the roots of ctx. Problems stay with the packages they are about, for
// [markers.Program.Problems]. The output of ctx is not used.
func Generate(ctx genall.GenerationContext, options Options) (Result, error) {
	parser := &crd.Parser{Collector: ctx.Collector, Checker: ctx.Checker}
	crd.AddKnownTypes(parser)
	orderPackages(parser, ctx.Roots)
	for _, root := range ctx.Roots {
		parser.NeedPackage(root)
	}
	metav1 := crd.FindMetav1(ctx.Roots)
	if metav1 == nil {
		return Result{}, nil
	}
	sink := &artifact.Sink{Folder: Folder}
	ctx.OutputRule = sink
	kinds := map[schema.GroupVersionKind]bool{}
	for _, kind := range crd.FindKubeKinds(parser, metav1) {
		parser.NeedCRDFor(kind, options.MaxDescLen)
		definition := parser.CustomResourceDefinitions[kind]
		if err := write(ctx, definition); err != nil {
			return Result{}, fmt.Errorf("write the CRD of %s: %w", kind, err)
		}
		for _, version := range definition.Spec.Versions {
			kinds[kind.WithVersion(version.Name)] = true
		}
	}
	return Result{Files: sink.Files(), Kinds: kinds}, nil
}

func write(ctx genall.GenerationContext, definition apiextensionsv1.CustomResourceDefinition) error {
	if definition.Annotations == nil {
		definition.Annotations = map[string]string{}
	}
	definition.Annotations[versionAnnotation] = version
	crd.FixTopLevelMetadata(definition)
	// The way through the internal version sets the defaults that the API server would.
	converted, err := crd.AsVersion(definition, apiextensionsv1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s_%s.yaml", definition.Spec.Group, definition.Spec.Names.Plural)
	return ctx.WriteYAML(name, "", []any{converted},
		genall.WithTransform(removeStatus), genall.WithTransform(genall.TransformRemoveCreationTimestamp))
}

// removeStatus leaves out what only the API server writes.
func removeStatus(object map[string]any) error {
	delete(object, "status")
	return nil
}
