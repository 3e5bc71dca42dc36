package crd

import (
	"cmp"
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
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// locator finds the fields, types and markers of parts of CRDs.
type locator struct {
	in     generator.Input
	parser *crd.Parser
	// read has the markers of packages with problems.
	read map[*loader.Package][]markers.Marker
}

// explain returns a function that finds the source of problems of a definition. types are the types of its versions.
func (l *locator) explain(of *apiextensionsv1.CustomResourceDefinition, types []versionType) generator.Explain {
	names := make([]string, len(of.Spec.Versions))
	for i, version := range of.Spec.Versions {
		names[i] = version.Name
	}
	return func(p definition.Problem) *diagnostic.Error {
		t := types[len(types)-1]
		if p.Path.Version >= 0 && p.Path.Version < len(names) {
			if at := slices.IndexFunc(types, func(t versionType) bool { return t.version == names[p.Path.Version] }); at >= 0 {
				t = types[at]
			}
		}
		e := &diagnostic.Error{Code: p.Code, Hint: p.Hint, Message: t.ident.Name + " " + p.Text()}
		switch {
		case !p.Path.InSchema:
			l.ofKind(e, t, p)
		case p.Rule != "":
			l.ofRule(e, t, p)
		default:
			l.ofField(e, t, p)
		}
		return e
	}
}

// ofField sets the position of a problem in the schema of a field: the marker that causes it, or the field.
func (l *locator) ofField(e *diagnostic.Error, t versionType, p definition.Problem) {
	holders := l.place(t.ident, p.Path.Object)
	wanted := []string{p.Path.Key}
	if n := len(p.Path.Object); n > 0 && p.Path.Object[n-1] == expression.Items && p.Code == definition.CodeListKey {
		holders, wanted = append(holders, l.place(t.ident, p.Path.Object[:n-1])...), append(wanted, "x-kubernetes-list-type")
	}
	for _, key := range wanted {
		for _, h := range holders {
			if at, ok := l.marker(h, func(m markers.Marker) bool { return setsKeyword(m.Definition.Name, key) }); ok {
				l.atMarker(e, h.pkg, at, "", p)
				return
			}
		}
	}
	if len(holders) > 0 {
		at := holders[0]
		if p.Path.Key == missingField {
			at = holders[len(holders)-1]
		}
		e.Pos = l.position(at.pkg, at.node.Pos())
		return
	}
	e.Pos = l.position(t.ident.Package, t.info.RawSpec.Pos())
}

// missingField is the keyword of problems about missing fields of a type.
const missingField = "properties"

// setsKeyword reports whether a marker sets a keyword of schemas. Their names differ in case, dashes and prefixes.
func setsKeyword(marker, keyword string) bool {
	name := strings.ToLower(strings.TrimPrefix(marker[strings.LastIndexByte(marker, ':')+1:], "X"))
	keyword = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(keyword, "x-kubernetes-"), "-", ""))
	return keyword != "" && name == strings.TrimSuffix(keyword, "s")
}

// ofRule sets the position of a problem of a validation rule: the marker with the rule, or the field or type.
func (l *locator) ofRule(e *diagnostic.Error, t versionType, p definition.Problem) {
	holders := l.place(t.ident, p.Path.Object)
	for _, h := range holders {
		if at, ok := l.marker(h, func(m markers.Marker) bool { return hasRule(m, h, p.Rule) }); ok {
			l.atMarker(e, h.pkg, at, p.Path.Argument, p)
			return
		}
	}
	e.Message = fmt.Sprintf("the rule %s: %s%s: %s", diagnostic.Quote(p.Rule), p.Path.Argument, p.Place, p.Message)
	e.Pos = l.position(t.ident.Package, t.info.RawSpec.Pos())
	if len(holders) > 0 {
		e.Pos = l.position(holders[0].pkg, holders[0].node.Pos())
	}
}

// hasRule reports whether a marker contains a rule. Markers for items have a type of their own.
func hasRule(m markers.Marker, h holder, rule string) bool {
	if strings.HasPrefix(m.Definition.Name, crdmarkers.ValidationItemsPrefix) != h.items {
		return false
	}
	v := reflect.ValueOf(m.Value)
	return v.IsValid() && v.CanConvert(reflect.TypeFor[crdmarkers.XValidation]()) &&
		v.Convert(reflect.TypeFor[crdmarkers.XValidation]()).Interface().(crdmarkers.XValidation).Rule == rule
}

// kindMarkers are the markers of a type that set parts of a CRD, with the arguments that set the fields of these parts.
var kindMarkers = map[string]struct {
	marker    string
	arguments map[string]string
}{
	"names": {"kubebuilder:resource", map[string]string{"plural": "path", "singular": "singular",
		"shortNames": "shortName", "categories": "categories"}},
	"scope": {"kubebuilder:resource", map[string]string{"": "scope"}},
	"additionalPrinterColumns": {"kubebuilder:printcolumn", map[string]string{"name": "name", "type": "type",
		"jsonPath": "JSONPath", "format": "format", "priority": "priority"}},
	"selectableFields": {"kubebuilder:selectablefield", map[string]string{"jsonPath": "JSONPath"}},
	"subresources": {"kubebuilder:subresource:scale", map[string]string{"specReplicasPath": "specpath",
		"statusReplicasPath": "statuspath", "labelSelectorPath": "selectorpath"}},
	"deprecationWarning": {"kubebuilder:deprecatedversion", map[string]string{"": "warning"}},
	"annotations":        {"kubebuilder:metadata", map[string]string{"": "annotations"}},
	"versions":           {"kubebuilder:storageversion", nil},
}

// ofKind sets the position of a problem outside of schemas: the marker that sets the part, or the type.
func (l *locator) ofKind(e *diagnostic.Error, t versionType, p definition.Problem) {
	pkg := t.ident.Package
	e.Pos = l.position(pkg, t.info.RawSpec.Pos())
	steps := p.Path.Steps
	part, argument := p.Path.Key, p.Path.Argument
	if p.Path.Version < 0 && len(steps) > 1 {
		part, argument = steps[1], ""
		if len(steps) > 2 {
			argument = steps[2]
		}
	}
	switch {
	case p.Path.Version >= 0 && part == "name":
		l.ofPackage(e, t, p, "versionName")
		return
	case part == "group":
		l.ofPackage(e, t, p, "groupName")
		return
	case part == "name": // the name of the CRD: its parts are reported too
		return
	}
	known, ok := kindMarkers[part]
	if !ok {
		return
	}
	var found []markers.Marker
	for _, m := range l.markersOf(pkg) {
		if m.Node == t.info.RawSpec && m.Counts() && m.Definition.Name == known.marker {
			found = append(found, m)
		}
	}
	index := 0
	if part == "additionalPrinterColumns" || part == "selectableFields" {
		index = max(p.Path.Index, 0)
	}
	if index < len(found) {
		l.atMarker(e, pkg, found[index], known.arguments[argument], p)
	}
}

// ofPackage sets the position of a problem to a marker of a package, or to its name.
func (l *locator) ofPackage(e *diagnostic.Error, t versionType, p definition.Problem, name string) {
	pkg := t.ident.Package
	for _, m := range l.markersOf(pkg) {
		if m.Definition != nil && m.Definition.Name == name && m.Counts() {
			l.atMarker(e, pkg, m, "", p)
			return
		}
	}
	if len(pkg.Syntax) > 0 {
		e.Pos = l.position(pkg, pkg.Syntax[0].Name.Pos())
	}
}

// atMarker sets the position of a problem to an argument of a marker, or to its value.
func (l *locator) atMarker(e *diagnostic.Error, pkg *loader.Package, m markers.Marker, argument string,
	p definition.Problem) {
	offset := 0
	switch {
	case argument != "":
		offset = markers.ArgumentValueOffset(m.Text, argument)
	case len(m.Definition.Fields) < 2:
		offset = markers.ValueOffset(m.Text)
	}
	e.Pos = l.position(pkg, m.Pos+token.Pos(offset))
	e.Message = fmt.Sprintf("+%s: %s%s: %s", m.Definition.Name, cmp.Or(argument, p.Path.Field(), "value"), p.Place,
		p.Message)
}

func (l *locator) position(pkg *loader.Package, pos token.Pos) token.Position {
	return diagnostic.Relative(l.in.Dir, pkg.Fset.Position(pos))
}

// holder is a field or a type with markers for a part of a schema.
type holder struct {
	pkg  *loader.Package
	node ast.Node // *ast.Field or *ast.TypeSpec
	// items reports whether the part is the items of the list in the holder.
	items bool
}

func (l *locator) markersOf(pkg *loader.Package) []markers.Marker {
	all, known := l.read[pkg]
	if !known {
		pkg.NeedSyntax()
		for _, file := range pkg.Syntax {
			all = append(all, l.in.Markers.Read(pkg.Fset, file)...)
		}
		l.read[pkg] = all
	}
	return all
}

// marker returns the first marker of a holder for which wanted returns true.
func (l *locator) marker(h holder, wanted func(markers.Marker) bool) (markers.Marker, bool) {
	for _, at := range l.markersOf(h.pkg) {
		if at.Node == h.node && at.Counts() && wanted(at) {
			return at, true
		}
	}
	return markers.Marker{}, false
}

// part is the schema that one declaration contributes to a part of a kind. References represent other types.
type part struct {
	ident  crd.TypeIdent // the type with the schema, or with the field
	schema *apiextensionsv1.JSONSchemaProps
	holder holder
}

// place returns the declarations with markers for a part of a kind at a path: the field and its types. If no type has a
// schema for the rest of the path, it returns the last declaration on the path.
func (l *locator) place(kind crd.TypeIdent, path []string) []holder {
	parts := l.whole(l.ofType(kind))
	for _, step := range path {
		var next []part
		for _, p := range parts {
			if below, ok := l.below(p, step); ok {
				next = append(next, l.whole(below)...)
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

func (l *locator) ofType(ident crd.TypeIdent) part {
	schema := l.parser.Schemata[ident]
	p := part{ident: ident, schema: &schema}
	if info := l.parser.Types[ident]; info != nil {
		p.holder = holder{pkg: ident.Package, node: info.RawSpec}
	}
	return p
}

// below returns the part at the next step of a path.
func (l *locator) below(p part, step string) (part, bool) {
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
		if field := fieldNamed(l.parser.Types[p.ident], step); field != nil {
			next.holder = holder{pkg: p.ident.Package, node: field}
		}
	}
	return next, next.schema != nil
}

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

// whole returns a part with all types that it refers to: the type of a field, the types that this one is defined by,
// and embedded types.
func (l *locator) whole(p part) []part {
	parts := []part{p}
	if p.schema.Ref != nil {
		if ident, ok := referred(p.ident.Package, p.schema); ok {
			parts = append(parts, l.whole(l.ofType(ident))...)
		}
	}
	for i := range p.schema.AllOf {
		embedded := p
		embedded.schema = &p.schema.AllOf[i]
		parts = append(parts, l.whole(embedded)...)
	}
	return slices.DeleteFunc(parts, func(p part) bool { return p.holder.node == nil })
}
