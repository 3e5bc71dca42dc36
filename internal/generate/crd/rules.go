package crd

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/expression"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// CodeRule is the code of what is wrong with a rule in CEL.
const CodeRule = "marker-rule"

// rulesCheck compiles the rules of schemas as API servers do before they take a CRD, and finds the markers that they come from.
type rulesCheck struct {
	in     generator.Input
	parser *crd.Parser
	// read has the markers of packages that something is wrong in.
	read map[*loader.Package][]markers.Marker
	told map[string]bool
}

// check returns what is wrong with the rules of a definition, each marker once. types stand for its versions.
func (c *rulesCheck) check(definition *apiextensionsv1.CustomResourceDefinition, types []versionType) error {
	var errs []error
	for _, version := range definition.Spec.Versions {
		at := slices.IndexFunc(types, func(t versionType) bool { return t.version == version.Name })
		if at < 0 || version.Schema == nil || !hasRules(version.Schema.OpenAPIV3Schema) {
			continue
		}
		problems, err := expression.Rules(version.Schema.OpenAPIV3Schema)
		errs = append(errs, err)
		for _, p := range problems {
			if e := c.problem(types[at].ident, p); !c.told[e.Error()] {
				c.told[e.Error()] = true
				errs = append(errs, e)
			}
		}
	}
	return errors.Join(errs...)
}

// hasRules reports whether there is a rule anywhere in a schema.
func hasRules(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if len(s.XValidations) > 0 || s.Items != nil && hasRules(s.Items.Schema) || s.AdditionalProperties != nil && hasRules(s.AdditionalProperties.Schema) {
		return true
	}
	for _, property := range s.Properties {
		if hasRules(&property) {
			return true
		}
	}
	return false
}

// problem returns what is wrong with a rule in the schema of a kind, where its marker is; or, if none has the rule, where what it is about is.
func (c *rulesCheck) problem(kind crd.TypeIdent, p expression.RuleProblem) *diagnostic.Error {
	e := &diagnostic.Error{
		Code:    CodeRule,
		Message: fmt.Sprintf("the rules of %s: %s", kind.Name, p.Message),
		Hint:    p.HintOr("write a rule that API servers take: in CEL, with self for the value of the field, and true where it may stay"),
	}
	place := c.place(kind, p.Path)
	if p.Argument == "" {
		e.Pos = c.position(kind.Package, c.parser.Types[kind].RawSpec.Pos())
		return e
	}
	for _, h := range place {
		if at, ok := c.markerOf(h, p); ok {
			e.Message = fmt.Sprintf("+%s: %s%s: %s", at.Definition.Name, p.Argument, p.Place(), p.Message)
			e.Pos = c.position(h.pkg, at.Pos+token.Pos(markers.ArgumentValueOffset(at.Text, p.Argument)))
			return e
		}
	}
	e.Message = fmt.Sprintf("the rule %s: %s%s: %s", diagnostic.Quote(p.Rule), p.Argument, p.Place(), p.Message)
	e.Pos = c.position(place[0].pkg, place[0].node.Pos())
	return e
}

func (c *rulesCheck) position(pkg *loader.Package, pos token.Pos) token.Position {
	return diagnostic.Relative(c.in.Dir, pkg.Fset.Position(pos))
}

// holder is a field or a type whose markers are about a part of a schema.
type holder struct {
	pkg  *loader.Package
	node ast.Node // *ast.Field or *ast.TypeSpec
	// items says that it is about the items of a list, of which the holder has markers too.
	items bool
}

// markerOf returns the marker of a holder that a rule comes from.
func (c *rulesCheck) markerOf(h holder, p expression.RuleProblem) (markers.Marker, bool) {
	all, known := c.read[h.pkg]
	if !known {
		h.pkg.NeedSyntax()
		for _, file := range h.pkg.Syntax {
			all = append(all, c.in.Markers.Read(h.pkg.Fset, file)...)
		}
		c.read[h.pkg] = all
	}
	for _, at := range all {
		if at.Node != h.node || !at.Counts() || strings.HasPrefix(at.Definition.Name, crdmarkers.ValidationItemsPrefix) != h.items {
			continue
		}
		// Those for items are of a type of their own.
		if v := reflect.ValueOf(at.Value); v.IsValid() && v.CanConvert(reflect.TypeFor[crdmarkers.XValidation]()) {
			if v.Convert(reflect.TypeFor[crdmarkers.XValidation]()).Interface().(crdmarkers.XValidation).Rule == p.Rule {
				return at, true
			}
		}
	}
	return markers.Marker{}, false
}

// part is what one declaration says of a part of a kind: its schema, in which references stand for types.
type part struct {
	ident  crd.TypeIdent // the type that has the schema, or the field with it
	schema *apiextensionsv1.JSONSchemaProps
	holder holder
}

// place returns what has the markers of a part of a kind, which a path leads to: the field, and the types that it is of. Where the path goes
// on in what no schema of a type has, that is the last one on the way.
func (c *rulesCheck) place(kind crd.TypeIdent, path []string) []holder {
	parts := c.whole(c.ofType(kind))
	for _, step := range path {
		var next []part
		for _, p := range parts {
			if below, ok := c.below(p, step); ok {
				next = append(next, c.whole(below)...)
			}
		}
		if len(next) == 0 {
			break
		}
		parts = next
	}
	var holders []holder
	for _, p := range parts {
		holders = append(holders, p.holder)
	}
	return holders
}

func (c *rulesCheck) ofType(ident crd.TypeIdent) part {
	schema := c.parser.Schemata[ident]
	p := part{ident: ident, schema: &schema}
	if info := c.parser.Types[ident]; info != nil {
		p.holder = holder{pkg: ident.Package, node: info.RawSpec}
	}
	return p
}

// below returns what is a step further in a part.
func (c *rulesCheck) below(p part, step string) (part, bool) {
	next := p
	switch s := p.schema; {
	case step == expression.Items && s.Items != nil:
		next.schema = s.Items.Schema
		next.holder.items = true
	case step == expression.Values && s.AdditionalProperties != nil:
		next.schema = s.AdditionalProperties.Schema
		next.holder.items = true
	default:
		property, found := s.Properties[step]
		if !found {
			return part{}, false
		}
		next.schema = &property
		if field := fieldNamed(c.parser.Types[p.ident], step); field != nil {
			next.holder = holder{pkg: p.ident.Package, node: field}
		}
	}
	return next, next.schema != nil
}

// fieldNamed returns the field of a struct that has a name in JSON.
func fieldNamed(info *ctmarkers.TypeInfo, name string) *ast.Field {
	if info == nil {
		return nil
	}
	for _, field := range info.Fields {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field.RawField
		}
	}
	return nil
}

// whole returns a part with all that it refers to: the type of a field, those that this is another name for, and those that it embeds.
func (c *rulesCheck) whole(p part) []part {
	parts := []part{p}
	if p.schema.Ref != nil {
		if ident, ok := referred(p.ident.Package, p.schema); ok {
			parts = append(parts, c.whole(c.ofType(ident))...)
		}
	}
	for i := range p.schema.AllOf {
		embedded := p
		embedded.schema = &p.schema.AllOf[i]
		parts = append(parts, c.whole(embedded)...)
	}
	return slices.DeleteFunc(parts, func(p part) bool { return p.holder.node == nil })
}
