// Package crd generates a CustomResourceDefinition for each kind: a struct with embedded metav1.TypeMeta and
// metav1.ObjectMeta, in all versions of its group.
package crd

import (
	"go/ast"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// Folder is where the files are written, each named <group>_<plural>.yaml.
const Folder = "config/crd/bases"

// The annotation that controller-gen puts on what it writes. The output is that of this version byte for byte, and says
// so, which keeps the diff of a migration empty.
const (
	versionAnnotation = "controller-gen.kubebuilder.io/version"
	version           = "v0.23.0"
)

// Options say what the files contain. The zero value is what controller-gen does when it is told nothing.
type Options struct {
	SchemaOptions
	// Versions are those of the CustomResourceDefinition itself. None means v1, the only one that is supported.
	Versions []string
	// HeaderFile is read from the input rule, and is what every file begins with; see [artifact.ReadHeader].
	HeaderFile, Year string
	// PreserveUnknownFields sets spec.preserveUnknownFields. Nil leaves it out.
	PreserveUnknownFields *bool
	// Recursive leaves the schema of a recursive type empty where it would begin again, which the API server refuses. False
	// makes that an error, unless markers of the field say what it holds.
	Recursive bool
	// OmitToolVersion leaves out the annotation with the version of the generator.
	OmitToolVersion bool
}

// Emits reports whether a package can have kinds or versions of them. Every package of a group counts: a version may
// consist of types that only point to those of another.
func Emits(pkg *load.Package) bool {
	if pkg.Has("groupName") {
		return true
	}
	return HasKinds(pkg.Package)
}

// HasKinds reports whether a package declares types that look like kinds.
func HasKinds(pkg *loader.Package) bool {
	found := false
	loader.EachType(pkg, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
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
// [load.Program.Problems]. The output of ctx is not used.
func Generate(ctx genall.GenerationContext, folder string, options Options) (Result, error) {
	sink := &artifact.Sink{Folder: folder}
	ctx.OutputRule = sink
	kinds, err := Write(ctx, options)
	return Result{Files: sink.Files(), Kinds: kinds}, err
}

// Write opens a file of ctx for each kind in its roots, in the order of the kinds, and returns all that were defined.
func Write(ctx genall.GenerationContext, options Options) (map[schema.GroupVersionKind]bool, error) {
	parser := NewParser(ctx, options.SchemaOptions)
	AllowRawJSON(parser)
	metav1 := crd.FindMetav1(ctx.Roots)
	if metav1 == nil {
		return nil, nil
	}
	defined := map[schema.GroupVersionKind]bool{}
	kinds := crd.FindKubeKinds(parser, metav1)
	if len(kinds) == 0 {
		return defined, nil
	}
	header, err := artifact.ReadHeader(ctx, options.HeaderFile, options.Year)
	if err != nil {
		return nil, err
	}
	references := NewReferences(parser, !options.Recursive)
	out := &printer{ctx: ctx, header: header, options: options}
	for _, kind := range kinds {
		if isInstance(kind.Kind) {
			continue
		}
		// Packages that only schemas refer to have a say about the kinds that follow, and not about this one.
		types := versionTypes(parser, kind)
		if reportTwins(types, kind) {
			continue
		}
		for _, t := range types {
			references.Settle(t.ident)
		}
		definition := define(parser, kind, types, options.MaxDescLen)
		if definition == nil {
			continue
		}
		for _, version := range definition.Spec.Versions {
			defined[kind.WithVersion(version.Name)] = true
		}
		out.print(*definition)
	}
	if err := out.wait(); err != nil {
		return nil, err
	}
	return defined, nil
}

// document is a file to be written.
type document struct {
	name    string
	content []byte
}

// printDefinition returns the files of a definition: one for each version of CustomResourceDefinition that is asked for.
func printDefinition(definition apiextensionsv1.CustomResourceDefinition, header string, options Options) ([]document, error) {
	if !options.OmitToolVersion {
		if definition.Annotations == nil {
			definition.Annotations = map[string]string{}
		}
		definition.Annotations[versionAnnotation] = version
	}
	crd.FixTopLevelMetadata(definition)
	transforms := []func(map[string]any) error{removeStatus, genall.TransformRemoveCreationTimestamp}
	if options.PreserveUnknownFields != nil {
		transforms = append(transforms, preserveUnknownFields(*options.PreserveUnknownFields))
	}
	versions := options.Versions
	if len(versions) == 0 {
		versions = []string{apiextensionsv1.SchemeGroupVersion.Version}
	}
	var documents []document
	for i, version := range versions {
		// The way through the internal version sets the defaults that the API server would.
		converted, err := crd.AsVersion(definition, schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: version})
		if err != nil {
			return nil, &diagnostic.Error{
				Message: "cannot write CRDs in version " + version,
				Hint:    "v1 is the only version there is",
				Class:   diagnostic.ErrUsage,
				Cause:   err,
			}
		}
		name := definition.Spec.Group + "_" + definition.Spec.Names.Plural
		if i > 0 {
			name += "." + version
		}
		content, err := marshal(converted, transforms)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document{name + ".yaml", append([]byte(header+"---\n"), content...)})
	}
	return documents, nil
}

// removeStatus leaves out what only the API server writes.
func removeStatus(object map[string]any) error {
	delete(object, "status")
	return nil
}

func preserveUnknownFields(value bool) func(map[string]any) error {
	return func(object map[string]any) error {
		if spec, ok := object["spec"].(map[string]any); ok {
			spec["preserveUnknownFields"] = value
		}
		return nil
	}
}
