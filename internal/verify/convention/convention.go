// Package convention checks Go API types against the Kubernetes API conventions. [Rules] has one value per rule.
//
// It reads only syntax and markers. Findings are advice, because API servers accept the types. The rules correspond to
// kube-api-linter's rules for CRDs, and run on packages that kctrl has already loaded.
package convention

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// Rule is one convention.
type Rule struct {
	// Code is the code of its findings.
	Code string
	// Help describes the convention.
	Help string
	// field returns the problem of a field and a hint. An empty message means no problem.
	field func(f field) (message, hint string)
}

// Rules are all rules, sorted by code.
var Rules = []Rule{
	{"convention-bool", "strings with an enum instead of booleans", noBool},
	{"convention-conditions", "conditions are a list of metav1.Condition with the key type", conditions},
	{"convention-documentation", "each field has a comment that starts with its JSON name", documentation},
	{"convention-duration", "integers with a unit in their name instead of durations", noDuration},
	{"convention-float", "integers or strings instead of floating-point numbers", noFloat},
	{"convention-integer", "int32 and int64 instead of other integers", integers},
	{"convention-json-name", "JSON names are in camel case", jsonName},
	{"convention-list-type", "each list has a listType, for server-side apply", listType},
	{"convention-map", "lists with a key instead of maps", noMap},
	{"convention-omitempty", "optional fields have omitempty, and structs among them are pointers", omitEmpty},
	{"convention-phase", "conditions instead of a phase", noPhase},
	{"convention-presence", "each field is marked optional or required", presence},
	{"convention-reference", "names of references end in Ref", references},
	{"convention-status", "fields of a status are optional", optionalStatus},
}

// Check returns the problems of the types in the API packages of a program, ordered by position.
func Check(program *load.Program) []*diagnostic.Error {
	var found []*diagnostic.Error
	for _, pkg := range program.Packages() {
		if !pkg.Has("groupName") {
			continue
		}
		c := &check{program: program, markers: map[ast.Node][]markers.Marker{}, structs: map[string]bool{}}
		for _, m := range pkg.Markers {
			if m.Counts() && m.Err == nil {
				c.markers[m.Node] = append(c.markers[m.Node], m)
			}
		}
		loader.EachType(pkg.Package, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
			if _, ok := spec.Type.(*ast.StructType); ok {
				c.structs[spec.Name.Name] = true
			}
		})
		loader.EachType(pkg.Package, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) { c.check(spec) })
		found = append(found, c.found...)
	}
	slices.SortStableFunc(found, func(a, b *diagnostic.Error) int { return diagnostic.ComparePosition(a.Pos, b.Pos) })
	return found
}

// check checks the types of one package.
type check struct {
	program *load.Program
	markers map[ast.Node][]markers.Marker
	structs map[string]bool // names of struct types
	found   []*diagnostic.Error
}

func (c *check) check(spec *ast.TypeSpec) {
	structType, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	isKind := slices.ContainsFunc(structType.Fields.List, func(f *ast.Field) bool {
		return f.Names == nil &&
			markers.TypeName(f.Type) == "TypeMeta"
	})
	for _, raw := range structType.Fields.List {
		tag, tagged := loader.ParseAstTag(raw.Tag).Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if !tagged || name == "" || name == "-" || isKind && slices.Contains([]string{"metadata", "items"}, name) {
			continue
		}
		f := field{raw: raw, name: name, options: strings.Split(options, ","), owner: spec.Name.Name, isKind: isKind,
			structs: c.structs}
		for _, m := range c.markers[raw] {
			f.markers = append(f.markers, m.Definition.Name)
			if m.Definition.Name == "listMapKey" || m.Definition.Name == "listType" {
				f.markers = append(f.markers, strings.TrimPrefix(m.Text, "+"))
			}
		}
		c.rules(f)
	}
}

func (c *check) rules(f field) {
	for _, rule := range Rules {
		message, hint := rule.field(f)
		if message == "" {
			continue
		}
		c.found = append(c.found, &diagnostic.Error{
			Pos:  diagnostic.Relative(c.program.Dir(), c.program.Fset().Position(f.pos())),
			Code: rule.Code, Message: fmt.Sprintf("%s.%s: %s", f.owner, markers.FieldName(f.raw), message), Hint: hint,
		})
	}
}

// field is a field of a struct.
type field struct {
	raw     *ast.Field
	name    string   // JSON name
	options []string // options of the JSON tag
	owner   string   // name of the struct
	isKind  bool     // the struct is a kind
	markers []string // names of the markers, and the text of listType and listMapKey
	structs map[string]bool
}

func (f field) pos() token.Pos {
	if len(f.raw.Names) > 0 {
		return f.raw.Names[0].Pos()
	}
	return f.raw.Type.Pos()
}

func (f field) has(names ...string) bool {
	return slices.ContainsFunc(f.markers, func(m string) bool { return slices.Contains(names, m) })
}

// optional reports whether a marker makes the field optional.
func (f field) optional() bool {
	return f.has("optional", "kubebuilder:validation:Optional", "k8s:optional")
}

func (f field) required() bool {
	return f.has("required", "kubebuilder:validation:Required", "k8s:required")
}

// value returns the type of the field without its pointer, and whether the field is a pointer.
func (f field) value() (of ast.Expr, pointer bool) {
	if star, ok := f.raw.Type.(*ast.StarExpr); ok {
		return star.X, true
	}
	return f.raw.Type, false
}

// is reports whether the type of the field or of its items has one of the names.
func (f field) is(names ...string) bool {
	of, _ := f.value()
	if list, ok := of.(*ast.ArrayType); ok {
		of = list.Elt
	}
	return slices.Contains(names, typeName(of))
}

// typeName returns the name of a type as the source writes it, including its package.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		if pkg, ok := of.X.(*ast.Ident); ok {
			return pkg.Name + "." + of.Sel.Name
		}
	}
	return ""
}

func noBool(f field) (message, hint string) {
	if f.is("bool") {
		return "a boolean cannot get a third value", "use a string type with an enum, such as Enabled and Disabled"
	}
	return "", ""
}

func noFloat(f field) (message, hint string) {
	if f.is("float32", "float64") {
		return "floating-point numbers differ between languages", "use an integer, or resource.Quantity"
	}
	return "", ""
}

func integers(f field) (message, hint string) {
	if f.is("int", "int8", "int16", "uint", "uint8", "uint16", "uint32", "uint64") {
		return "the range of the type differs from its schema", "use int32 or int64, with minimum and maximum"
	}
	return "", ""
}

func noDuration(f field) (message, hint string) {
	if f.is("metav1.Duration", "v1.Duration", "time.Duration") {
		return "durations have the format of Go, which other clients do not parse",
			"use an integer, and put the unit into its name, such as timeoutSeconds"
	}
	return "", ""
}

func noMap(f field) (message, hint string) {
	of, _ := f.value()
	m, ok := of.(*ast.MapType)
	if !ok || typeName(m.Value) == "string" {
		return "", ""
	}
	return "objects in a map have no field for their key", "use a list with +listType=map and +listMapKey=name"
}

func noPhase(f field) (message, hint string) {
	if strings.HasSuffix(strings.ToLower(f.name), "phase") {
		return "a phase cannot get new values without breaking clients", "use conditions"
	}
	return "", ""
}

var camelCase = regexp.MustCompile(`^[a-z][a-z0-9]*([A-Z][a-z0-9]*)*$`)

func jsonName(f field) (message, hint string) {
	if !camelCase.MatchString(f.name) {
		return fmt.Sprintf("the JSON name %q is not in camel case", f.name),
			"start it with a lower-case letter, without dashes and underscores"
	}
	return "", ""
}

func references(f field) (message, hint string) {
	for _, long := range []string{"Reference", "References"} {
		if short, ok := strings.CutSuffix(f.name, long); ok && short != "" {
			return "names of references end in Ref or Refs", "name it " + short + strings.Replace(long, "Reference", "Ref", 1)
		}
	}
	return "", ""
}

func documentation(f field) (message, hint string) {
	text := ""
	if f.raw.Doc != nil {
		text = strings.TrimSpace(f.raw.Doc.Text())
	}
	if text == "" {
		return "the field has no comment", "write a comment that starts with " + f.name
	}
	if first, _, _ := strings.Cut(text, " "); first != f.name && !f.isKind {
		return fmt.Sprintf("the comment starts with %q, but users know the field as %s", diagnostic.Cut(first), f.name),
			"start it with " + f.name
	}
	return "", ""
}

func listType(f field) (message, hint string) {
	of, _ := f.value()
	if list, ok := of.(*ast.ArrayType); !ok || typeName(list.Elt) == "byte" || f.has("listType", "k8s:listType") {
		return "", ""
	}
	return "server-side apply replaces the list as a whole",
		"write +listType=map with a +listMapKey, +listType=set, or +listType=atomic if this is intended"
}

func conditions(f field) (message, hint string) {
	if f.name != "conditions" {
		return "", ""
	}
	of, _ := f.value()
	list, ok := of.(*ast.ArrayType)
	switch {
	case !ok || !slices.Contains([]string{"metav1.Condition", "v1.Condition", "Condition"}, typeName(list.Elt)):
		return "conditions are not of type []metav1.Condition", "use []metav1.Condition"
	case !f.has("listType=map") || !f.has("listMapKey=type"):
		return "conditions are not a list with the key type", "write +listType=map and +listMapKey=type"
	}
	return "", ""
}

func presence(f field) (message, hint string) {
	if f.isKind || f.optional() || f.required() {
		return "", ""
	}
	return "it is not marked optional or required", "write +optional or +required"
}

func omitEmpty(f field) (message, hint string) {
	omits := slices.Contains(f.options, "omitempty") || slices.Contains(f.options, "omitzero")
	of, pointer := f.value()
	switch {
	case !f.optional():
		return "", ""
	case !omits:
		return "an optional field without omitempty is always written", "add omitempty to its JSON tag"
	case !pointer && f.structs[typeName(of)] && !slices.Contains(f.options, "omitzero") && !f.isKind:
		return "an optional struct without a pointer is always written", "use a pointer, or omitzero"
	}
	return "", ""
}

func optionalStatus(f field) (message, hint string) {
	if strings.HasSuffix(f.owner, "Status") && f.required() {
		return "a required field of a status blocks writes of the other fields", "mark it +optional"
	}
	return "", ""
}
