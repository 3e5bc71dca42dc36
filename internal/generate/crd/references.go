package crd

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/generate/generator"
)

// References prepares the schemas of types for replacing the references to them.
//
// The schema of a CRD cannot express a type that contains itself. Where such a type would begin again, the schema is
// empty, at the same place in every run. For a field with a slice type, the parser assumes a list, but the schema of
// the type may differ: a []byte is a string.
type References struct {
	parser *crd.Parser
	// resolved holds the types whose schemas are complete.
	resolved map[crd.TypeIdent]bool
	// open holds the types whose schemas are in progress; each type is part of the previous one.
	open []crd.TypeIdent
	// refuse makes every recursion an error, unless the markers of the field define its schema.
	refuse bool
}

// NewReferences returns the references of a parser. If refuse is set, a recursion is an error unless the markers of the
// field define its schema.
func NewReferences(parser *crd.Parser, refuse bool) *References {
	return &References{parser: parser, resolved: map[crd.TypeIdent]bool{}, refuse: refuse}
}

// Resolve finishes the schemas of a type and of all its parts.
func (r *References) Resolve(ident crd.TypeIdent) {
	if r.resolved[ident] || ident.Package == nil {
		return
	}
	NeedSchema(r.parser, ident)
	schema, known := r.parser.Schemata[ident]
	if !known {
		return
	}
	r.open = append(r.open, ident)
	r.visit(&schema, "")
	r.checkEmbedded(ident, &schema)
	r.parser.Schemata[ident] = schema
	r.open = r.open[:len(r.open)-1]
	r.resolved[ident] = true
}

// visit follows all references in a schema, which is a part of the last open type. field is the name of the field with
// the schema.
func (r *References) visit(schema *apiextensionsv1.JSONSchemaProps, field string) {
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

// follow visits the type that a schema refers to. If that type is open, it removes the reference.
func (r *References) follow(schema *apiextensionsv1.JSONSchemaProps, field string) {
	owner := r.open[len(r.open)-1]
	ident, ok := referred(owner.Package, schema)
	if !ok {
		return
	}
	start := slices.Index(r.open, ident)
	if start < 0 {
		r.Resolve(ident)
		if known := resolve(r.parser, owner.Package, schema); schema.Type != "" && known.Type != "" &&
			known.Type != schema.Type {
			if schema.Type != guess(ident) {
				owner.Package.AddError(r.locate(fmt.Errorf("the type of the field is %s, and +kubebuilder:validation:Type "+
					"declares %s", known.Type, schema.Type), owner, field))
			}
			schema.Type = ""
		} else if known.Type == "" && holdsAnything(known) && schema.Type == guess(ident) {
			schema.Type = ""
		}
		return
	}
	schema.Ref = nil
	described := schema.Type != "" || schema.XIntOrString || holdsAnything(*schema)
	if r.refuse && !described {
		r.report(owner, ident, field, r.open[start:])
	}
}

func holdsAnything(schema apiextensionsv1.JSONSchemaProps) bool {
	return generator.IsTrue(schema.XPreserveUnknownFields)
}

// guess returns the JSON type that the parser assumes for fields of a type.
func guess(ident crd.TypeIdent) string {
	object := ident.Package.Types.Scope().Lookup(ident.Name)
	if object == nil {
		return ""
	}
	switch object.Type().Underlying().(type) {
	case *types.Slice:
		return "array"
	case *types.Map:
		return "object"
	}
	return ""
}

// referred returns the type that a schema in a package refers to.
func referred(in *loader.Package, schema *apiextensionsv1.JSONSchemaProps) (crd.TypeIdent, bool) {
	name, path, err := crd.RefParts(*schema.Ref)
	if err != nil {
		return crd.TypeIdent{}, false
	}
	ident := crd.TypeIdent{Package: in, Name: name}
	if path != "" {
		ident.Package = in.Imports()[path]
	}
	return ident, ident.Package != nil
}

// resolve returns the schema of the type that a schema refers to, directly or through other references. It is empty if
// the schema is not known yet.
func resolve(parser *crd.Parser, in *loader.Package,
	schema *apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	found := *schema
	for seen := map[crd.TypeIdent]bool{}; found.Ref != nil; {
		ident, ok := referred(in, &found)
		if !ok || seen[ident] {
			return apiextensionsv1.JSONSchemaProps{}
		}
		seen[ident] = true
		NeedSchema(parser, ident)
		found, in = parser.Schemata[ident], ident.Package
	}
	return found
}

// report adds an error about a recursion to the package of the type with the field.
func (r *References) report(owner, again crd.TypeIdent, field string, open []crd.TypeIdent) {
	var names []string
	for _, t := range append(slices.Clone(open), again) {
		names = append(names, t.Name)
	}
	err := fmt.Errorf("%s is a recursive type, which a CRD cannot describe: %s", again.Name, strings.Join(names, " -> "))
	owner.Package.AddError(r.locate(err, owner, field))
}

// locate adds the position of the field of a type to an error.
func (r *References) locate(err error, owner crd.TypeIdent, field string) error {
	info := r.parser.Types[owner]
	if info == nil {
		return err
	}
	if at := fieldNamed(info, field); at != nil {
		return loader.ErrFromNode(err, at)
	}
	return loader.ErrFromNode(err, info.RawSpec)
}

// outline has the parts of a schema that must not conflict with other embedded schemas: its type, and the types of its
// fields.
type outline struct {
	kind   string
	fields map[string]string
}

// checkEmbedded reports each embedded field whose values cannot be part of the values of the type, and removes it from
// the schema. The library, which merges the schemas, would only report that a conflict exists.
func (r *References) checkEmbedded(ident crd.TypeIdent, schema *apiextensionsv1.JSONSchemaProps) {
	if len(schema.AllOf) == 0 {
		return
	}
	embedded := embeddedFields(r.parser.Types[ident])
	own, seen := *schema, map[crd.TypeIdent]bool{ident: true}
	own.AllOf = nil
	whole := r.outline(ident.Package, own, seen)
	for i := range min(len(schema.AllOf), len(embedded)) {
		if err := whole.add(r.outline(ident.Package, schema.AllOf[i], seen)); err != nil {
			ident.Package.AddError(loader.ErrFromNode(err, embedded[i].RawField))
			schema.AllOf[i] = apiextensionsv1.JSONSchemaProps{}
		}
	}
}

// embeddedFields returns the embedded fields of a struct whose schemas become part of its schema, in order.
func embeddedFields(info *ctmarkers.TypeInfo) []ctmarkers.FieldInfo {
	if info == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(info.Fields), func(field ctmarkers.FieldInfo) bool {
		tag, tagged := field.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		return !tagged || tag == "-" || name != "" && !slices.Contains(strings.Split(options, ","), "inline")
	})
}

// outline returns the outline of a schema in a package, without parts of types in seen.
func (r *References) outline(in *loader.Package, schema apiextensionsv1.JSONSchemaProps,
	seen map[crd.TypeIdent]bool) outline {
	o := outline{kind: schema.Type, fields: map[string]string{}}
	for schema.Ref != nil {
		ident, ok := referred(in, &schema)
		if !ok || seen[ident] {
			return o
		}
		seen[ident] = true
		NeedSchema(r.parser, ident)
		schema, in = r.parser.Schemata[ident], ident.Package
	}
	o.kind = cmp.Or(o.kind, schema.Type)
	for name, field := range schema.Properties {
		o.fields[name] = cmp.Or(field.Type, resolve(r.parser, in, &field).Type)
	}
	for _, embedded := range schema.AllOf {
		_ = o.add(r.outline(in, embedded, seen)) // reported at its declaration
	}
	return o
}

// add adds an embedded part. It returns an error for a conflict.
func (o *outline) add(part outline) error {
	if differ(o.kind, part.kind) {
		return fmt.Errorf("the field is written inline, and its values are of type %s, not %s", part.kind, o.kind)
	}
	for _, name := range slices.Sorted(maps.Keys(part.fields)) {
		if differ(o.fields[name], part.fields[name]) {
			return errors.New("the field is written inline, and so " + name + " is of type " + part.fields[name] +
				", but of type " + o.fields[name] + " in another field")
		}
		o.fields[name] = cmp.Or(o.fields[name], part.fields[name])
	}
	return nil
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }
