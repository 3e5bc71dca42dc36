package crd

import (
	"encoding/json"
	"fmt"
	"go/constant"
	"go/types"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/load"
)

// orderPackages makes the order of markers deterministic in every package that parser may use: by priority, name and
// position. The parser orders them only by priority, and otherwise by the iteration over a map.
//
// It also makes the parser support the generic types of these packages.
func orderPackages(parser *crd.Parser, roots []*loader.Package) {
	reachable := load.Reachable(roots)
	instances := newInstances(parser, reachable)
	for pkg := range reachable {
		path := loader.NonVendorPath(pkg.PkgPath)
		load := parser.PackageOverrides[path]
		if load == nil {
			load = (*crd.Parser).AddPackage
		}
		parser.PackageOverrides[path] = func(p *crd.Parser, pkg *loader.Package) {
			orderMarkers(p, pkg)
			load(p, pkg)
			instances.expand(pkg)
		}
	}
}

// orderMarkers gives each marker of a package a unique priority. The parser reports invalid markers.
func orderMarkers(parser *crd.Parser, pkg *loader.Package) {
	nodes, err := parser.Collector.MarkersInPackage(pkg)
	if err != nil {
		return
	}
	for _, values := range nodes {
		for rank, name := range slices.Sorted(maps.Keys(values)) {
			for i, value := range values[name] {
				values[name][i] = withRank(parser, value, rank)
			}
		}
	}
}

// ranks is larger than the number of markers of a type or field.
const ranks = 1 << 16

// withRank sets the rank of a schema marker among markers of the same priority. Markers above the default priority have
// different priorities and are looked up by Go type, so they stay unchanged, after all others.
func withRank(parser *crd.Parser, value any, rank int) any {
	marker, ok := value.(crd.SchemaMarker)
	if !ok {
		return value
	}
	if _, done := value.(ordered); done {
		return value
	}
	if enum, ok := value.(crdmarkers.K8sEnum); ok {
		marker = constants{enum}
	}
	priority := crdmarkers.ApplyPriorityDefault
	switch m := value.(type) {
	case crdmarkers.ApplyPriorityMarker:
		priority = m.ApplyPriority()
	case interface{ ApplyFirst() }:
		priority = crdmarkers.ApplyPriorityFirst
	}
	if priority > crdmarkers.ApplyPriorityDefault {
		return value
	}
	priority = (priority-crdmarkers.ApplyPriorityDefault-1)*ranks + crdmarkers.ApplyPriority(rank)
	return ordered{marker, priority, parser}
}

// ordered is a marker with a unique priority among the markers of its type or field.
type ordered struct {
	crd.SchemaMarker
	priority crdmarkers.ApplyPriority
	parser   *crd.Parser
}

// ApplyPriority returns the rank of the marker among the markers of its type or field.
func (o ordered) ApplyPriority() crdmarkers.ApplyPriority { return o.priority }

// ApplyToSchema applies the marker, also to fields whose type is declared elsewhere. The markers of controller-tools
// check the type beside the reference, which is missing for types of other packages.
func (o ordered) ApplyToSchema(ctx *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	err := o.SchemaMarker.ApplyToSchema(ctx, schema)
	if err == nil || schema.Ref == nil {
		return err
	}
	known := resolve(o.parser, ctx.Package, schema)
	if known.Type == schema.Type && known.XIntOrString == schema.XIntOrString {
		return err
	}
	declared := *schema
	schema.Type, schema.XIntOrString = known.Type, known.XIntOrString
	err = o.SchemaMarker.ApplyToSchema(ctx, schema)
	schema.Type, schema.XIntOrString = declared.Type, declared.XIntOrString
	return err
}

// constants is the marker "+k8s:enum": the values are the constants of the type in its package, in order and without
// duplicates. controller-tools' marker considers only literals, and panics at a constant that repeats the previous
// line.
type constants struct{ crdmarkers.K8sEnum }

// ApplyToSchema sets the values.
func (c constants) ApplyToSchema(ctx *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	if ctx == nil || ctx.Package == nil || ctx.TypeInfo == nil || ctx.TypeInfo.RawSpec == nil {
		return fmt.Errorf("k8s:enum requires type context")
	}
	enum := ctx.Package.TypesInfo.Defs[ctx.TypeInfo.RawSpec.Name]
	if enum == nil {
		return fmt.Errorf("unknown enum type %s", ctx.TypeInfo.Name)
	}
	if basic, ok := enum.Type().Underlying().(*types.Basic); !ok || basic.Info()&types.IsString == 0 {
		return fmt.Errorf("enum type must be a string, not %s", enum.Type())
	}
	values := constantsOf(ctx.Package, enum.Type())
	if len(values) == 0 {
		return fmt.Errorf("no enum values found for type %s", ctx.TypeInfo.Name)
	}
	schema.Type, schema.Enum = "string", nil
	for _, value := range values {
		schema.Enum = append(schema.Enum, apiextensionsv1.JSON{Raw: []byte(value)})
	}
	return nil
}

// constantsOf returns the constants of a string type in its package as JSON, in order and without duplicates.
func constantsOf(pkg *loader.Package, enum types.Type) []string {
	var values []string
	for _, object := range pkg.TypesInfo.Defs {
		declared, ok := object.(*types.Const)
		if !ok || !types.Identical(declared.Type(), enum) || declared.Val().Kind() != constant.String {
			continue
		}
		if value, err := json.Marshal(constant.StringVal(declared.Val())); err == nil {
			values = append(values, string(value))
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
