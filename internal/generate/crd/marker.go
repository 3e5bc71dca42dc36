package crd

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

// ordered is a marker with a priority that no other marker of its type or field has.
type ordered struct {
	crd.SchemaMarker
	priority crdmarkers.ApplyPriority
}

// ApplyPriority returns the place of the marker among those of its type or field.
func (o ordered) ApplyPriority() crdmarkers.ApplyPriority { return o.priority }

// limit is a marker that knows what a field holds whose type is declared elsewhere. The markers of controller-tools look
// at the type that stands beside the reference, which there is none of for types of other packages.
type limit struct {
	crd.SchemaMarker
	parser *crd.Parser
}

// ApplyToSchema applies the marker.
func (l limit) ApplyToSchema(ctx *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	err := l.SchemaMarker.ApplyToSchema(ctx, schema)
	if err == nil || schema.Ref == nil {
		return err
	}
	known := resolve(l.parser, ctx.Package, schema)
	if known.Type == schema.Type && known.XIntOrString == schema.XIntOrString {
		return err
	}
	told := *schema
	schema.Type, schema.XIntOrString = known.Type, known.XIntOrString
	err = l.SchemaMarker.ApplyToSchema(ctx, schema)
	schema.Type, schema.XIntOrString = told.Type, told.XIntOrString
	return err
}
