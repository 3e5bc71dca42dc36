package crd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// recursion finds types that contain themselves, which the schema of a CRD cannot say. Wherever one would begin again its
// schema is left out, at the same place in every run.
type recursion struct {
	parser *crd.Parser
	// finite are the types whose schemas end.
	finite map[crd.TypeIdent]bool
	// open are the types that are being looked at, each a part of the one before.
	open []crd.TypeIdent
	// refuse makes every recursion an error, unless the field says what it holds.
	refuse bool
}

// cut makes the schemas of a type, and of all it consists of, finite.
func (r *recursion) cut(ident crd.TypeIdent) {
	if r.finite[ident] || ident.Package == nil {
		return
	}
	r.parser.NeedSchemaFor(ident)
	schema, known := r.parser.Schemata[ident]
	if !known {
		return
	}
	r.open = append(r.open, ident)
	r.visit(&schema, "")
	r.parser.Schemata[ident] = schema
	r.open = r.open[:len(r.open)-1]
	r.finite[ident] = true
}

// visit follows all references in a schema, the part of the type that is open last. field is the name of the field that
// the schema belongs to.
func (r *recursion) visit(schema *apiextensionsv1.JSONSchemaProps, field string) {
	if schema == nil {
		return
	}
	if schema.Ref != nil {
		r.follow(schema, field)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		r.visit(&property, cmp.Or(field, name))
		schema.Properties[name] = property
	}
	for i := range schema.AllOf {
		r.visit(&schema.AllOf[i], field)
	}
	if schema.Items != nil {
		r.visit(schema.Items.Schema, field)
	}
	if schema.AdditionalProperties != nil {
		r.visit(schema.AdditionalProperties.Schema, field)
	}
}

// follow goes on with the type that a schema refers to, or takes the reference out if that type is open.
func (r *recursion) follow(schema *apiextensionsv1.JSONSchemaProps, field string) {
	owner := r.open[len(r.open)-1]
	name, path, err := crd.RefParts(*schema.Ref)
	if err != nil {
		return
	}
	ident := crd.TypeIdent{Package: owner.Package, Name: name}
	if path != "" {
		ident.Package = owner.Package.Imports()[path]
	}
	start := slices.Index(r.open, ident)
	if start < 0 {
		r.cut(ident)
		return
	}
	schema.Ref = nil
	described := schema.Type != "" || schema.XIntOrString || schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
	if r.refuse && !described {
		r.report(owner, ident, field, r.open[start:])
	}
}

// report adds an error to the package of the type whose field begins a type again.
func (r *recursion) report(owner, again crd.TypeIdent, field string, open []crd.TypeIdent) {
	var names []string
	for _, t := range append(slices.Clone(open), again) {
		names = append(names, t.Name)
	}
	err := fmt.Errorf("%s is a recursive type, which a CRD cannot describe: %s", again.Name, strings.Join(names, " -> "))
	info := r.parser.Types[owner]
	if info == nil {
		owner.Package.AddError(err)
		return
	}
	for _, f := range info.Fields {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == field {
			owner.Package.AddError(loader.ErrFromNode(err, f.RawField))
			return
		}
	}
	owner.Package.AddError(loader.ErrFromNode(err, info.RawSpec))
}
