// Package crd generates a CustomResourceDefinition for each kind: a struct with embedded metav1.TypeMeta and
// metav1.ObjectMeta, in all versions of its group.
//
// Its own YAML writer stays because without it, "kctrl gen object crd" with an empty cache takes 1.35 times the CPU
// time, measured like the figure in the documentation of internal/source/resolve.
package crd

import (
	"errors"
	"go/ast"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// The annotation with the version of controller-gen. The output equals that version byte for byte, and the annotation
// keeps the diff of a migration empty.
const (
	versionAnnotation = "controller-gen.kubebuilder.io/version"
	version           = "v0.23.0"
)

// Generator generates a file for each kind, named <group>_<plural>.yaml.
var Generator = generator.Generator{
	Name:    "crd",
	Options: crd.Generator{},
	Follows: true,
	Emits:   Emits,
	Generate: func(in generator.Input, options genall.Generator) error {
		return write(in, options.(crd.Generator))
	},
	Flags: func(options any) []generator.Flag {
		o := options.(*crd.Generator)
		return []generator.Flag{
			{Name: "crd-max-desc-len", To: &o.MaxDescLen, Usage: "cut descriptions in CRDs at the sentence that ends within " +
				"so many characters; 0 leaves them out, -1 keeps them whole"},
			{Name: "crd-generate-embedded-object-meta", To: &o.GenerateEmbeddedObjectMeta,
				Usage: "write the fields of embedded metav1.ObjectMeta into CRDs"},
			{Name: "crd-allow-dangerous-types", To: &o.AllowDangerousTypes, Usage: "allow float32 and float64 in CRDs"},
			{Name: "crd-ignore-unexported-fields", To: &o.IgnoreUnexportedFields,
				Usage: "leave fields that are not exported out of CRDs"},
			{Name: "crd-omit-tool-version", To: &o.OmitToolVersion, Usage: "leave the version of the generator out of CRDs"},
			{Name: "crd-preserve-unknown-fields", To: &o.DeprecatedV1beta1CompatibilityPreserveUnknownFields,
				Usage: "set spec.preserveUnknownFields in CRDs to `value`; for those that once were v1beta1"},
		}
	},
	Dir:           generator.Flag{Name: "output-crd-dir", Default: "config/crd/bases", Usage: "`directory` of the CRDs"},
	Kustomization: "config/crd",
}

// Emits returns a filter for packages that may have kinds or versions of kinds. Every package of a group counts,
// because a version may consist of types that only refer to types of another version. Kinds without a group may have
// their versions in any package without a group.
func Emits(all []*load.Package) func(*load.Package) bool {
	groupless := slices.ContainsFunc(all, func(pkg *load.Package) bool { return !pkg.Has("groupName") && hasKinds(pkg) })
	return func(pkg *load.Package) bool { return groupless || pkg.Has("groupName") }
}

// hasKinds reports whether a package declares types that look like kinds.
func hasKinds(pkg *load.Package) bool {
	found := false
	loader.EachType(pkg.Package, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
		embedded := markers.EmbeddedTypes(spec)
		found = found || embedded["TypeMeta"] && embedded["ObjectMeta"]
	})
	return found
}

// write writes a file for each kind in the roots, in the order of the kinds. The schema of a recursive type, which API
// servers reject, is empty where the type would begin again. In a project that is an error, unless markers of the field
// define the schema.
func write(in generator.Input, options crd.Generator) error {
	ctx := in.GenerationContext
	parser := NewParser(ctx, SchemaOptions{
		EmbeddedObjectMeta:     generator.IsTrue(options.GenerateEmbeddedObjectMeta),
		DangerousTypes:         generator.IsTrue(options.AllowDangerousTypes),
		IgnoreUnexportedFields: generator.IsTrue(options.IgnoreUnexportedFields),
	})
	AllowRawJSON(parser)
	metav1 := crd.FindMetav1(ctx.Roots)
	if metav1 == nil {
		return nil
	}
	kinds := crd.FindKubeKinds(parser, metav1)
	if len(kinds) == 0 {
		return nil
	}
	header, err := artifact.ReadHeader(ctx, options.HeaderFile, options.Year)
	if err != nil {
		return err
	}
	references := NewReferences(parser, in.Strict)
	source := &locator{in: in, parser: parser, read: map[*loader.Package][]markers.Marker{}}
	names := &namesCheck{dir: in.Dir}
	out := &printer{ctx: ctx, header: header, options: options, slots: make(chan struct{}, 4)}
	for _, kind := range kinds {
		if isInstance(kind.Kind) {
			continue
		}
		// Packages that only schemas refer to affect the following kinds, but not this one.
		types := versionTypes(parser, kind)
		if reportTwins(types, kind) {
			continue
		}
		for _, t := range types {
			references.Resolve(t.ident)
		}
		definition := define(parser, kind, types, options.MaxDescLen)
		if definition == nil {
			continue
		}
		for _, version := range definition.Spec.Versions {
			in.Defines(kind.WithVersion(version.Name))
		}
		names.add(definition, types)
		crd.FixTopLevelMetadata(*definition)
		if in.Check != nil {
			in.Check(checkable(definition), source.explain(definition, types))
		}
		out.print(*definition)
	}
	taken := names.check(parser)
	if in.Strict {
		return errors.Join(taken, out.wait())
	}
	for _, err := range diagnostic.All(taken) {
		if e, ok := errors.AsType[*diagnostic.Error](err); ok {
			in.Warn(e)
		}
	}
	return out.wait()
}

// checkable returns a definition to check. If it has no storage version, which the generator has reported, the result
// has one.
func checkable(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	if slices.ContainsFunc(definition.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }) {
		return definition
	}
	stored := *definition
	stored.Spec.Versions = slices.Clone(definition.Spec.Versions)
	stored.Spec.Versions[0].Storage = true
	return &stored
}

// printDefinition returns the files of a definition: one for each requested version of CustomResourceDefinition.
func printDefinition(definition apiextensionsv1.CustomResourceDefinition, header string,
	options crd.Generator) ([]artifact.File, error) {
	if !generator.IsTrue(options.OmitToolVersion) {
		if definition.Annotations == nil {
			definition.Annotations = map[string]string{}
		}
		definition.Annotations[versionAnnotation] = version
	}
	versions := options.CRDVersions
	if len(versions) == 0 {
		versions = []string{apiextensionsv1.SchemeGroupVersion.Version}
	}
	var documents []artifact.File
	for i, version := range versions {
		name := definition.Spec.Group + "_" + definition.Spec.Names.Plural
		if i > 0 {
			name += "." + version
		}
		text, err := marshalDefinition(definition, version, options)
		if err != nil {
			return nil, err
		}
		content := slices.Concat([]byte(header+"---\n"), text)
		documents = append(documents, artifact.File{Path: name + ".yaml", Content: content})
	}
	return documents, nil
}
