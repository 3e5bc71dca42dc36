package crd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"
)

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
