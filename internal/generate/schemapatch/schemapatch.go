// Package schemapatch renews the schemas in CustomResourceDefinitions that are maintained by hand. What else is in their
// files stays: comments, the order of keys, other fields.
package schemapatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctcrd "sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/generate/crd"
)

// Options say what to patch.
type Options struct {
	crd.SchemaOptions
	// Folder is where the manifests are, for messages.
	Folder string
	// Manifests are the files of the folder with the CustomResourceDefinitions: those that are none are passed over.
	Manifests []Manifest
}

// Manifest is a file.
type Manifest struct {
	// Name is the name in the folder, and of the file that is written.
	Name    string
	Content []byte
}

// Write opens a file of ctx for each CustomResourceDefinition in the manifests, in their order. Versions that have a Go
// type in the roots of ctx get its schema. In a definition with at least one such version, those that have none lose
// theirs. Problems stay with the packages they are about.
func Write(ctx genall.GenerationContext, options Options) error {
	parser := crd.NewParser(ctx, options.SchemaOptions)
	crd.AllowRawJSON(parser)
	metav1 := ctcrd.FindMetav1(ctx.Roots)
	if metav1 == nil {
		return nil
	}
	definitions, err := parseAll(options)
	if err != nil {
		return err
	}
	schemas := map[schema.GroupKind]map[string]apiextensionsv1.JSONSchemaProps{}
	for _, d := range definitions {
		schemas[d.kind] = nil
	}
	versions := versionsOf(definitions)
	for _, kind := range ctcrd.FindKubeKinds(parser, metav1) {
		if _, wanted := schemas[kind]; wanted {
			schemas[kind] = schemasOf(parser, kind, versions[kind], options)
		}
	}
	for _, d := range definitions {
		if len(schemas[d.kind]) > 0 {
			if err := d.patch(schemas[d.kind]); err != nil {
				return err
			}
		}
	}
	for _, d := range definitions {
		if err := write(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf returns the versions of each kind, in whatever file.
func versionsOf(definitions []*definition) map[schema.GroupKind]map[string]bool {
	all := map[schema.GroupKind]map[string]bool{}
	for _, d := range definitions {
		if all[d.kind] == nil {
			all[d.kind] = map[string]bool{}
		}
		for _, version := range d.versions {
			all[d.kind][version] = true
		}
	}
	return all
}

// schemasOf returns the schema of each version of a kind that is wanted and has a package.
func schemasOf(parser *ctcrd.Parser, kind schema.GroupKind, wanted map[string]bool, options Options) map[string]apiextensionsv1.JSONSchemaProps {
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	references := crd.NewReferences(parser, false)
	byPath := func(a, b *loader.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) }
	for _, pkg := range slices.SortedFunc(maps.Keys(parser.GroupVersions), byPath) {
		gv := parser.GroupVersions[pkg]
		if gv.Group != kind.Group || !wanted[gv.Version] {
			continue
		}
		ident := ctcrd.TypeIdent{Package: pkg, Name: kind.Kind}
		references.Settle(ident)
		parser.NeedFlattenedSchemaFor(ident)
		props := parser.FlattenedSchemata[ident]
		if options.MaxDescLen != nil {
			props = *props.DeepCopy()
			ctcrd.TruncateDescription(&props, *options.MaxDescLen)
		}
		if _, ok := props.Properties["metadata"]; ok {
			props.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
		}
		found[gv.Version] = props
	}
	return found
}

func write(ctx genall.GenerationContext, d *definition) error {
	out, err := ctx.Open(nil, d.name)
	if err != nil {
		return err
	}
	defer out.Close()
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(d.node); err != nil {
		return fmt.Errorf("write %s: %w", d.name, err)
	}
	return encoder.Close()
}
