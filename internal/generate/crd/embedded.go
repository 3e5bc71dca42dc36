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

// outline is what a schema has to agree in with those that are embedded beside it: its type, and those of its fields.
type outline struct {
	kind   string
	fields map[string]string
}

// checkEmbedded reports each embedded field whose values cannot be a part of those of the type, and leaves it out of the schema. The
// library, which makes one schema of all, would only say that there is one.
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

// embeddedFields returns the fields of a struct whose schemas are embedded in that of the struct, in their order.
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

// outline returns that of a schema in a package, without what it has of types that were seen.
func (r *References) outline(in *loader.Package, schema apiextensionsv1.JSONSchemaProps, seen map[crd.TypeIdent]bool) outline {
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
		_ = o.add(r.outline(in, embedded, seen)) // It was reported where it is declared.
	}
	return o
}

// add adds an embedded part. An error says what the two disagree in.
func (o *outline) add(part outline) error {
	if differ(o.kind, part.kind) {
		return fmt.Errorf("the field is written inline, and its values are of type %s, not %s", part.kind, o.kind)
	}
	for _, name := range slices.Sorted(maps.Keys(part.fields)) {
		if differ(o.fields[name], part.fields[name]) {
			return errors.New("the field is written inline, and so " + name + " is of type " + part.fields[name] + ", but of type " + o.fields[name] + " in another field")
		}
		o.fields[name] = cmp.Or(o.fields[name], part.fields[name])
	}
	return nil
}

// differ reports whether two types, each of which may be open, are not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }
