package applyconfig

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/gnostic-models/openapiv2"
	"go.yaml.in/yaml/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/util/proto"
	ctcrd "sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/generate/crd"
)

const metav1Path = "k8s.io/apimachinery/pkg/apis/meta/v1"

// schemaYAML returns the schema of the roots, types of pkg, and of all types that they refer to, in the form of
// structured-merge-diff. It is empty if no type is enabled.
func schemaYAML(ctx genall.GenerationContext, pkg *loader.Package, enabled, roots []string) (string, error) {
	if len(enabled) == 0 {
		return marshalModels(&proto.Definitions{})
	}
	definitions, err := definitionsOf(ctx, pkg, enabled)
	if err != nil {
		return "", err
	}
	required := map[string]any{}
	for _, root := range roots {
		name := definitionName(pkg.PkgPath, root)
		if definitions[name] == nil {
			definitions[name] = map[string]any{} // a kind without an enabling marker
		}
		require(definitions, name, required)
	}
	document, err := json.Marshal(map[string]any{
		"swagger":     "2.0",
		"info":        map[string]any{"title": "Kubernetes", "version": "v0"},
		"paths":       map[string]any{},
		"definitions": required,
	})
	if err != nil {
		return "", err
	}
	parsed, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return "", fmt.Errorf("schemas of %s: %w", pkg.PkgPath, err)
	}
	models, err := proto.NewOpenAPIData(parsed)
	if err != nil {
		return "", fmt.Errorf("schemas of %s: %w", pkg.PkgPath, err)
	}
	return marshalModels(models)
}

func marshalModels(models proto.Models) (string, error) {
	schema, err := schemaconv.ToSchema(models)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(schema)
	return string(text), err
}

func definitionName(pkgPath, name string) string {
	return util.ToRESTFriendlyName(pkgPath + "." + name)
}

// definitionsOf returns the schemas of the enabled types of pkg, and of all types that they refer to, by definition
// name.
func definitionsOf(ctx genall.GenerationContext, pkg *loader.Package, enabled []string) (map[string]any, error) {
	ctx.Roots = []*loader.Package{pkg}
	parser := crd.NewParser(ctx, crd.SchemaOptions{DangerousTypes: true, IgnoreUnexportedFields: true})
	wholeObjectMeta(parser)
	for _, name := range enabled {
		crd.NeedSchema(parser, ctcrd.TypeIdent{Package: pkg, Name: name})
	}
	r := resolver{parser: parser, packages: map[string]*loader.Package{}}
	for ident := range parser.Schemata {
		if ident.Package != nil {
			r.packages[ident.Package.PkgPath] = ident.Package
		}
	}
	definitions := map[string]any{}
	for ident, props := range parser.Schemata {
		schema, err := r.definition(ident, props)
		if err != nil {
			return nil, err
		}
		pkgPath := ""
		if ident.Package != nil {
			pkgPath = ident.Package.PkgPath
		}
		definitions[definitionName(pkgPath, ident.Name)] = schema
	}
	followAliases(definitions)
	return definitions, nil
}

// wholeObjectMeta makes the parser include all fields of metav1.ObjectMeta, not only the fields of CRDs.
func wholeObjectMeta(parser *ctcrd.Parser) {
	load := parser.PackageOverrides[metav1Path]
	if load == nil {
		return
	}
	parser.PackageOverrides[metav1Path] = func(p *ctcrd.Parser, pkg *loader.Package) {
		load(p, pkg)
		delete(p.Schemata, ctcrd.TypeIdent{Name: "ObjectMeta", Package: pkg})
	}
}

// followAliases replaces definitions that only refer to another definition by a merge of both.
func followAliases(definitions map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		schema := definitions[name].(map[string]any)
		ref, ok := schema["$ref"].(string)
		if !ok {
			continue
		}
		target, ok := definitions[strings.TrimPrefix(ref, definitionPrefix)].(map[string]any)
		if !ok {
			continue
		}
		resolved := maps.Clone(target)
		maps.Copy(resolved, schema)
		delete(resolved, "$ref")
		if inherited, ok := target["$ref"]; ok {
			resolved["$ref"] = inherited
		}
		definitions[name] = resolved
	}
}

const definitionPrefix = "#/definitions/"

// require copies a definition and all definitions that it refers to.
func require(definitions map[string]any, name string, required map[string]any) {
	schema, known := definitions[name]
	if _, done := required[name]; done || !known {
		return
	}
	required[name] = schema
	var follow func(any)
	follow = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if ref, ok := value["$ref"].(string); ok {
				require(definitions, strings.TrimPrefix(ref, definitionPrefix), required)
			}
			for _, child := range value {
				follow(child)
			}
		case []any:
			for _, child := range value {
				follow(child)
			}
		}
	}
	follow(schema)
}

// resolver converts the schemas of a parser to definitions of an OpenAPI document of version 2.
type resolver struct {
	parser   *ctcrd.Parser
	packages map[string]*loader.Package // by path
}

func (r resolver) definition(ident ctcrd.TypeIdent, props apiextensionsv1.JSONSchemaProps) (map[string]any, error) {
	schema := props.DeepCopy()
	if err := r.inlineEmbedded(schema, ident.Package, ident.Package); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", ident.Name, err)
	}
	schema = ctcrd.FlattenEmbedded(schema, ident.Package)
	renameRefs(schema, ident.Package)
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var definition map[string]any
	if err := json.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	downgrade(definition)
	return definition, nil
}

// inlineEmbedded replaces references in allOf, which represent embedded structs, by their schemas. The schema belongs
// to pkg and is a part of a schema of whole.
func (r resolver) inlineEmbedded(schema *apiextensionsv1.JSONSchemaProps, pkg, whole *loader.Package) error {
	for i := range schema.AllOf {
		of := pkg
		if ref := schema.AllOf[i].Ref; ref != nil && *ref != "" {
			name, path, err := ctcrd.RefParts(*ref)
			if err != nil {
				return err
			}
			if path != "" {
				of = r.packages[path]
			}
			found, ok := r.parser.Schemata[ctcrd.TypeIdent{Package: of, Name: name}]
			if !ok {
				return fmt.Errorf("no schema for %s", *ref)
			}
			schema.AllOf[i] = *found.DeepCopy()
			if of != whole {
				qualifyRefs(&schema.AllOf[i], of)
			}
		}
		if err := r.inlineEmbedded(&schema.AllOf[i], of, whole); err != nil {
			return err
		}
	}
	return eachChild(schema, func(child *apiextensionsv1.JSONSchemaProps) error {
		return r.inlineEmbedded(child, pkg, whole)
	})
}

// eachChild calls visit with the schemas of properties, items and values.
func eachChild(schema *apiextensionsv1.JSONSchemaProps, visit func(*apiextensionsv1.JSONSchemaProps) error) error {
	for name, property := range schema.Properties {
		if err := visit(&property); err != nil {
			return err
		}
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		if err := visit(schema.Items.Schema); err != nil {
			return err
		}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		return visit(schema.AdditionalProperties.Schema)
	}
	return nil
}

// qualifyRefs adds the package to references to types of the same package, so that another package can use the schema.
func qualifyRefs(schema *apiextensionsv1.JSONSchemaProps, pkg *loader.Package) {
	editRefs(schema, func(path, name string) string { return ctcrd.TypeRefLink(cmp.Or(path, pkg.PkgPath), name) })
}

// renameRefs converts references to references of an OpenAPI document.
func renameRefs(schema *apiextensionsv1.JSONSchemaProps, pkg *loader.Package) {
	editRefs(schema, func(path, name string) string {
		if path == "" && pkg != nil {
			path = pkg.PkgPath
		}
		return definitionPrefix + definitionName(path, name)
	})
}

// editRefs replaces all references of a schema.
func editRefs(schema *apiextensionsv1.JSONSchemaProps, edit func(path, name string) string) {
	if schema.Ref != nil && *schema.Ref != "" {
		if name, path, err := ctcrd.RefParts(*schema.Ref); err == nil {
			edited := edit(path, name)
			schema.Ref = &edited
		}
	}
	for i := range schema.AllOf {
		editRefs(&schema.AllOf[i], edit)
	}
	_ = eachChild(schema, func(child *apiextensionsv1.JSONSchemaProps) error {
		editRefs(child, edit)
		return nil
	})
}

// downgrade removes keywords that version 2 of OpenAPI does not have.
func downgrade(schema map[string]any) {
	if _, ok := schema["$ref"]; ok {
		delete(schema, "type")
		delete(schema, "format")
	}
	for _, key := range []string{"nullable", "anyOf", "oneOf", "not"} {
		delete(schema, key)
	}
	properties, _ := schema["properties"].(map[string]any)
	all, _ := schema["allOf"].([]any)
	parts := append(slices.Collect(maps.Values(properties)), all...)
	for _, part := range append(parts, schema["items"], schema["additionalProperties"]) {
		if part, ok := part.(map[string]any); ok {
			downgrade(part)
		}
	}
}
