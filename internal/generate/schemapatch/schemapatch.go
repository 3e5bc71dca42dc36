// Package schemapatch updates the schemas in hand-written CustomResourceDefinitions. It keeps the rest of their files:
// comments, the order of keys, other fields.
package schemapatch

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctcrd "sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
)

// Generator writes a file for each CustomResourceDefinition in a directory.
var Generator = generator.Generator{
	Name:    "schemapatch",
	Options: schemapatcher.Generator{},
	GenOnly: true,
	Emits:   crd.Emits,
	DependsOn: func(dir string, options genall.Generator) ([]string, error) {
		return manifestNames(dir, options.(schemapatcher.Generator).ManifestsPath)
	},
	Generate: func(in generator.Input, options genall.Generator) error {
		o := options.(schemapatcher.Generator)
		manifests, err := readManifests(in, o.ManifestsPath)
		if err != nil {
			return err
		}
		return patch(in.GenerationContext, manifests, o)
	},
}

// manifest is a file that may be a CustomResourceDefinition.
type manifest struct {
	// name is the name of the manifest in its directory, and of the output file. path is its name in messages.
	name, path string
	content    []byte
}

// readManifests reads the files of a directory that may be CustomResourceDefinitions.
func readManifests(in generator.Input, folder string) ([]manifest, error) {
	names, err := manifestNames(in.Dir, folder)
	if err != nil {
		return nil, err
	}
	var all []manifest
	for _, name := range names {
		content, err := in.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		all = append(all, manifest{name, path.Join(filepath.ToSlash(folder), name), content})
	}
	return all, nil
}

// manifestNames returns the names of the files that may be CustomResourceDefinitions.
func manifestNames(dir, folder string) ([]string, error) {
	name := folder
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, artifact.ReadError(folder, err)
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && filepath.Ext(entry.Name()) == ".yaml" {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// patch writes a file for each CustomResourceDefinition in the manifests, in their order. Versions with a Go type in
// the roots of ctx get its schema. In a definition with at least one such version, versions without a Go type lose
// their schema. patch records problems in their packages.
func patch(ctx genall.GenerationContext, manifests []manifest, o schemapatcher.Generator) error {
	parser := crd.NewParser(ctx, crd.SchemaOptions{EmbeddedObjectMeta: generator.IsTrue(o.GenerateEmbeddedObjectMeta)})
	crd.AllowRawJSON(parser)
	metav1 := ctcrd.FindMetav1(ctx.Roots)
	if metav1 == nil {
		return nil
	}
	var definitions []*definition
	for _, m := range manifests {
		d, err := parse(m)
		if err != nil {
			return err
		}
		if d != nil {
			definitions = append(definitions, d)
		}
	}
	schemas := map[schema.GroupKind]map[string]apiextensionsv1.JSONSchemaProps{}
	for _, d := range definitions {
		schemas[d.kind] = nil
	}
	versions := versionsOf(definitions)
	for _, kind := range ctcrd.FindKubeKinds(parser, metav1) {
		if _, wanted := schemas[kind]; wanted {
			found, err := schemasOf(parser, kind, versions[kind], o.MaxDescLen)
			if err != nil {
				return err
			}
			schemas[kind] = found
		}
	}
	for _, d := range definitions {
		if len(schemas[d.kind]) == 0 {
			continue
		}
		if err := d.patch(schemas[d.kind]); err != nil {
			return err
		}
	}
	for _, d := range definitions {
		if err := write(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf returns the versions of each kind, each with the first definition that has it.
func versionsOf(definitions []*definition) map[schema.GroupKind]map[string]*definition {
	all := map[schema.GroupKind]map[string]*definition{}
	for _, d := range definitions {
		if all[d.kind] == nil {
			all[d.kind] = map[string]*definition{}
		}
		for _, version := range d.versions {
			if all[d.kind][version] == nil {
				all[d.kind][version] = d
			}
		}
	}
	return all
}

// schemasOf returns the schema of each wanted version of a kind that has a package. The package must contain the type,
// because the parser panics without it.
func schemasOf(parser *ctcrd.Parser, kind schema.GroupKind, wanted map[string]*definition,
	maxDescLen *int) (map[string]apiextensionsv1.JSONSchemaProps, error) {
	found := map[string]apiextensionsv1.JSONSchemaProps{}
	references := crd.NewReferences(parser, false)
	byPath := func(a, b *loader.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) }
	for _, pkg := range slices.SortedFunc(maps.Keys(parser.GroupVersions), byPath) {
		gv := parser.GroupVersions[pkg]
		if gv.Group != kind.Group || wanted[gv.Version] == nil {
			continue
		}
		ident := ctcrd.TypeIdent{Package: pkg, Name: kind.Kind}
		if parser.Types[ident] == nil {
			return nil, wanted[gv.Version].untyped(gv.Version, pkg.PkgPath)
		}
		references.Resolve(ident)
		parser.NeedFlattenedSchemaFor(ident)
		props := parser.FlattenedSchemata[ident]
		if maxDescLen != nil {
			props = *props.DeepCopy()
			ctcrd.TruncateDescription(&props, *maxDescLen)
		}
		if _, ok := props.Properties["metadata"]; ok {
			props.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
		}
		found[gv.Version] = props
	}
	return found, nil
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
