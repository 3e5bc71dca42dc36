package fields

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gobuffalo/flect"
)

// Golang is the Go code of a model.
type Golang struct {
	// Spec and Status are the fields of the two structs as source code. Status has only the fields that flags define.
	Spec, Status string
	// Types are the declarations of additional types, or "".
	Types string
	// Imports are all imported packages by local name.
	Imports map[string]string
}

// writeGo generates the Go types of the model, and sets the type names of fields. taken reports whether the package
// already declares a name.
func (m *Model) writeGo(taken func(name string) bool) Golang {
	g := &golang{model: m, taken: map[string]bool{}, isTaken: taken, imports: imports{}}
	for _, suffix := range []string{"", "List", "Spec", "Status"} {
		g.taken[m.kind+suffix] = true
	}
	g.declare(m.spec, m.kind)
	g.declare(m.status, m.kind+"Status")
	return Golang{
		Spec: g.body(m.spec), Status: g.body(m.status), Types: strings.Join(g.types, "\n"), Imports: g.imports,
	}
}

// golang is the generated code while it is being built.
type golang struct {
	model   *Model
	isTaken func(string) bool
	taken   map[string]bool // names in use
	shared  map[string]string
	imports imports
	types   []string
}

// declare chooses names for the types of the fields of a struct, and declares the types.
func (g *golang) declare(o *object, prefix string) {
	for _, f := range o.fields {
		switch {
		case f.reference != "":
			g.declareReference(f)
		case f.object != nil:
			f.typeName = g.name(prefix + f.golang)
			at := len(g.types)
			g.types = append(g.types, "")
			g.declare(f.object, f.typeName)
			what := fmt.Sprintf("%s is %s of %s.", f.typeName, f.name, g.owner(f))
			if f.collection() {
				what = fmt.Sprintf("%s is one of %s of %s.", f.typeName, f.name, g.owner(f))
			}
			g.types[at] = fmt.Sprintf("// %s\ntype %s struct {\n%s}\n", what, f.typeName, g.body(f.object))
		case f.needsType():
			f.itemTypeName = g.name(prefix + f.golang)
			g.declareScalar(f)
		}
	}
}

// owner describes the part of the kind to which a field belongs.
func (g *golang) owner(f *Field) string {
	if f.up != nil {
		return f.up.typeName
	}
	return "a " + g.model.kind
}

// needsType reports whether the values of the field need a named type. This is true for string enums, which have
// constants, and for map values with constraints, because only a named type can have their markers.
func (f *Field) needsType() bool {
	if f.scalar == nil || f.object != nil {
		return false
	}
	return len(f.enum) > 0 && f.scalar.kind == kindText || f.isMap && len(f.itemMarkers("")) > 0
}

// declareReference declares the type of all references to a kind.
func (g *golang) declareReference(f *Field) {
	if name, ok := g.shared[f.reference]; ok {
		f.typeName = name
		return
	}
	if g.shared == nil {
		g.shared = map[string]string{}
	}
	f.typeName = g.name(g.model.kind + f.reference + "Reference")
	g.shared[f.reference] = f.typeName
	what := "a " + f.reference
	if kind, keyed := f.referredKind(); keyed {
		what = "a key of a " + kind
	}
	if g.model.namespaced {
		what += " in the namespace of the " + g.model.kind
	}
	g.types = append(g.types, fmt.Sprintf("// %s names %s.\ntype %s struct {\n%s}\n", f.typeName, what, f.typeName,
		g.body(f.object)))
}

// referredKind returns the kind of a reference, and whether the reference includes a key.
func (f *Field) referredKind() (kind string, keyed bool) {
	if f.object.find("key") == nil {
		return f.reference, false
	}
	return strings.TrimSuffix(f.reference, "Key"), true
}

func (g *golang) declareScalar(f *Field) {
	var out strings.Builder
	fmt.Fprintf(&out, "// %s is %s of %s.\n", f.itemTypeName, f.name, g.owner(f))
	for _, marker := range f.itemMarkers("") {
		out.WriteString("// " + marker + "\n")
	}
	fmt.Fprintf(&out, "type %s %s\n", f.itemTypeName, f.scalar.golang)
	if names := f.constants(); names != nil {
		fmt.Fprintf(&out, "\n// The values of %s.\nconst (\n", f.itemTypeName)
		for i, name := range names {
			g.taken[name] = true
			fmt.Fprintf(&out, "\t%s %s = %s\n", name, f.itemTypeName, strconv.Quote(f.enum[i].(string)))
		}
		out.WriteString(")\n")
	}
	g.types = append(g.types, out.String())
}

// constants returns the constant names for the values of a string enum, or nil if two names are equal.
func (f *Field) constants() []string {
	if f.scalar.kind != kindText {
		return nil
	}
	var names []string
	for _, value := range f.enum {
		end := flect.Pascalize(strings.Map(func(r rune) rune {
			if r < 128 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				return r
			}
			return '_'
		}, value.(string)))
		name := f.itemTypeName + strings.ReplaceAll(end, "_", "")
		if slices.Contains(names, name) || name == f.itemTypeName {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// name returns a unique name.
func (g *golang) name(wanted string) string {
	for g.taken[wanted] || g.isTaken != nil && g.isTaken(wanted) {
		wanted += "Field"
	}
	g.taken[wanted] = true
	return wanted
}

// body writes the fields of a struct.
func (g *golang) body(o *object) string {
	var out strings.Builder
	for i, f := range o.fields {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "\t// %s\n", f.comment())
		for _, marker := range f.markers() {
			fmt.Fprintf(&out, "\t// %s\n", marker)
		}
		fmt.Fprintf(&out, "\t%s %s `json:%s`\n", f.golang, g.typeOf(f), strconv.Quote(f.tag()))
	}
	return out.String()
}

// typeOf returns the Go type of a field.
func (g *golang) typeOf(f *Field) string {
	item := cmp.Or(f.typeName, f.itemTypeName)
	if item == "" {
		item = f.scalar.golang
		maps.Copy(g.imports, f.scalar.imports)
	}
	switch {
	case f.isList:
		return "[]" + item
	case f.isMap:
		return "map[string]" + item
	case f.isPointer():
		return "*" + item
	}
	return item
}

// isPointer reports whether the Go type is a pointer, which is necessary if an unset field differs from its zero value.
func (f *Field) isPointer() bool {
	if f.collection() || f.mustBeSet() || f.emptyDefault() {
		return false
	}
	if f.object != nil || f.scalar.boxed {
		return true
	}
	zero := map[schemaKind]any{kindText: "", kindInteger: int64(0), kindBoolean: false}[f.scalar.kind]
	return f.acceptOne(zero) == nil
}

// emptyDefault reports whether an omitted object is equivalent to an empty one whose fields get their defaults. This is
// true if no field is required and at least one has a default.
func (f *Field) emptyDefault() bool {
	if f.object == nil || f.collection() || f.mustBeSet() || f.defaultText != nil {
		return false
	}
	if f.optional || f.status || len(f.object.required()) > 0 || f.accept(map[string]any{}) != nil {
		return false
	}
	return slices.ContainsFunc(f.object.fields, func(child *Field) bool {
		return child.defaultText != nil ||
			child.emptyDefault()
	})
}

// tag returns the JSON tag.
func (f *Field) tag() string {
	switch {
	case f.emptyDefault(), f.object != nil && !f.collection() && !f.mustBeSet() && !f.isPointer():
		return f.name + ",omitzero"
	case !f.mustBeSet(), f.collection() && max(f.limits["minItems"], f.limits["minProperties"]) > 0:
		return f.name + ",omitempty"
	}
	return f.name
}

// comment returns the first line of the documentation.
func (f *Field) comment() string {
	verb, rest := "is", strings.ToLower(strings.Join(words(f.name), " "))
	if strings.HasSuffix(f.name, "s") && !strings.HasSuffix(f.name, "ss") {
		verb = "are"
	}
	switch {
	case f.doc != "":
		return f.doc
	case f.reference != "":
		if kind, keyed := f.referredKind(); keyed {
			return fmt.Sprintf("%s names a key of a %s.", f.name, kind)
		}
		return fmt.Sprintf("%s names a %s.", f.name, f.reference)
	case len(f.enum) > 0:
		list := make([]string, len(f.enum))
		for i := range f.enum {
			list[i] = spell(f.enum[i])
		}
		last := len(list) - 1
		if last > 0 {
			list[last-1] += " or " + list[last]
			list = list[:last]
		}
		return fmt.Sprintf("%s %s %s.", f.name, verb, strings.Join(list, ", "))
	}
	return fmt.Sprintf("%s %s the %s.", f.name, verb, rest)
}

// markers returns the markers of a field, without the markers of its type.
func (f *Field) markers() []string {
	list := []string{"+optional"}
	if f.mustBeSet() {
		list[0] = "+required"
	}
	switch {
	case f.isList && len(f.keys) > 0:
		list = append(list, "+listType=map")
		for _, key := range f.keys {
			list = append(list, "+listMapKey="+key)
		}
	case f.isList && f.unique:
		list = append(list, "+listType=set")
	case f.isList:
		list = append(list, "+listType=atomic")
	case f.isMap && f.atomic:
		list = append(list, "+mapType=atomic")
	case f.object != nil && f.atomic:
		list = append(list, "+structType=atomic")
	}
	for _, name := range []string{"minItems", "maxItems", "minProperties", "maxProperties"} {
		if n, ok := f.limits[name]; ok {
			list = append(list, validationMarker("", name, n))
		}
	}
	switch {
	case f.itemTypeName != "":
	case f.isList:
		list = append(list, f.itemMarkers("items:")...)
	case !f.isMap:
		list = append(list, f.itemMarkers("")...)
	}
	if f.immutable {
		list = append(list, xValidation("self == oldSelf", f.name+" is immutable"))
	}
	for _, r := range f.rules {
		list = append(list, xValidation(r.value, r.message))
	}
	switch {
	case f.defaultText != nil:
		list = append(list, "+default="+inJSON(f.byDefault))
	case f.emptyDefault():
		list = append(list, "+default={}")
	}
	return list
}

// itemMarkers returns the markers that apply to the value itself, or to the items of a list.
func (f *Field) itemMarkers(prefix string) []string {
	var list []string
	for _, name := range []string{"min", "max", "multipleOf", "minLength", "maxLength"} {
		if n, ok := f.limits[name]; ok {
			list = append(list, validationMarker(prefix, name, n))
		}
	}
	if f.pattern != nil {
		text := "`" + f.pattern.String() + "`"
		if strings.Contains(text[1:len(text)-1], "`") {
			text = strconv.Quote(f.pattern.String())
		}
		list = append(list, "+kubebuilder:validation:"+prefix+"Pattern="+text)
	}
	if f.format != "" {
		list = append(list, "+kubebuilder:validation:"+prefix+"Format="+f.format)
	}
	if len(f.enum) > 0 {
		values := make([]string, len(f.enum))
		for i, value := range f.enum {
			values[i] = enumValue(value)
		}
		list = append(list, "+kubebuilder:validation:"+prefix+"Enum="+strings.Join(values, ";"))
	}
	return list
}

// enumValue writes an enum value such that the marker parser cannot misread it.
func enumValue(value any) string {
	text, ok := value.(string)
	if !ok {
		return inJSON(value)
	}
	for i := range len(text) {
		c := text[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || text[i] < '0' || text[i] > '9') {
			return strconv.Quote(text)
		}
	}
	if text == "true" || text == "false" {
		return strconv.Quote(text)
	}
	return text
}

func validationMarker(prefix, name string, n int64) string {
	long := map[string]string{"min": "Minimum", "max": "Maximum"}[name]
	return fmt.Sprintf("+kubebuilder:validation:%s%s=%d", prefix, cmp.Or(long, strings.ToUpper(name[:1])+name[1:]), n)
}

func xValidation(expression, message string) string {
	marker := "+kubebuilder:validation:XValidation:rule=" + strconv.Quote(expression)
	if message != "" {
		marker += ",message=" + strconv.Quote(message)
	}
	return marker
}
