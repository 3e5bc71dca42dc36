package fields

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
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
	g := &golang{model: m, taken: map[string]bool{}, isTaken: taken, shared: map[string]string{}, imports: imports{}}
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
	taken   map[string]bool   // names in use
	shared  map[string]string // types of references, by Field.reference
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
			what := f.name
			if f.collection() {
				what = "one of " + f.name
			}
			g.types[at] = fmt.Sprintf("// %s is %s of %s.\ntype %s struct {\n%s}\n", f.typeName, what, g.owner(f), f.typeName,
				g.body(f.object))
		case len(f.enum) > 0 && f.scalar.kind == kindText, f.form == mapping && len(f.itemMarkers("")) > 0:
			// The values of an enum have constants, and only a named type can have the markers of map values.
			f.typeName = g.name(prefix + f.golang)
			g.declareScalar(f)
		}
	}
}

// owner describes the part of the kind to which a field belongs.
func (g *golang) owner(f *Field) string {
	if f.in.of != nil {
		return f.in.of.typeName
	}
	return "a " + g.model.kind
}

// declareReference declares the type of all references to a kind.
func (g *golang) declareReference(f *Field) {
	if f.typeName = g.shared[f.reference]; f.typeName != "" {
		return
	}
	f.typeName = g.name(g.model.kind + f.reference + "Reference")
	g.shared[f.reference] = f.typeName
	what := f.refers
	if g.model.namespaced {
		what += " in the namespace of the " + g.model.kind
	}
	g.types = append(g.types, fmt.Sprintf("// %s names %s.\ntype %s struct {\n%s}\n", f.typeName, what, f.typeName,
		g.body(f.object)))
}

func (g *golang) declareScalar(f *Field) {
	var out strings.Builder
	fmt.Fprintf(&out, "// %s is %s of %s.\n", f.typeName, f.name, g.owner(f))
	for _, marker := range f.itemMarkers("") {
		out.WriteString("// " + marker + "\n")
	}
	fmt.Fprintf(&out, "type %s %s\n", f.typeName, f.scalar.golang)
	if names := f.constants(); names != nil {
		fmt.Fprintf(&out, "\n// The values of %s.\nconst (\n", f.typeName)
		for i, name := range names {
			g.taken[name] = true
			fmt.Fprintf(&out, "\t%s %s = %s\n", name, f.typeName, strconv.Quote(f.enum[i].(string)))
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
		end := flect.Pascalize(notAlphanumeric.ReplaceAllString(value.(string), "_"))
		name := f.typeName + strings.ReplaceAll(end, "_", "")
		if slices.Contains(names, name) || name == f.typeName {
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
	if f.isPointer() {
		return "*" + f.goType("", g.imports)
	}
	return f.goType("", g.imports)
}

// goType returns the Go type of a value of the field, and adds the packages that it uses to needs. alias is the local
// name of the package that declares the types of the kind; it is empty in that package.
func (f *Field) goType(alias string, needs imports) string {
	name := f.typeName
	switch {
	case name == "":
		name = f.scalar.golang
		maps.Copy(needs, f.scalar.imports)
	case alias != "":
		name = alias + "." + name
	}
	return f.form.golang + name
}

// isPointer reports whether the Go type is a pointer, which is necessary if an unset field differs from its zero value.
func (f *Field) isPointer() bool {
	if f.collection() || f.mustBeSet() || f.emptyDefault() {
		return false
	}
	if f.object != nil || f.scalar.imports != nil {
		return true
	}
	zero := map[schemaKind]any{kindText: "", kindInteger: int64(0), kindBoolean: false}[f.scalar.kind]
	return f.acceptOne(zero) == nil
}

// emptyDefault reports whether an omitted object is equivalent to an empty one whose fields get their defaults. This is
// true if no field is required and at least one has a default.
func (f *Field) emptyDefault() bool {
	return f.implicit && f.form == single && !f.in.status && len(f.object.required()) == 0 &&
		slices.ContainsFunc(f.object.fields, func(child *Field) bool {
			return child.defaultText != nil || child.emptyDefault()
		})
}

// tag returns the JSON tag.
func (f *Field) tag() string {
	switch {
	case f.emptyDefault():
		return f.name + ",omitzero"
	case !f.mustBeSet(), f.collection() && f.limits[f.form.low] > 0:
		return f.name + ",omitempty"
	}
	return f.name
}

// comment returns the first line of the documentation.
func (f *Field) comment() string {
	verb, rest := "is", strings.ToLower(strings.Join(words.FindAllString(f.name, -1), " "))
	if strings.HasSuffix(f.name, "s") && !strings.HasSuffix(f.name, "ss") {
		verb = "are"
	}
	switch {
	case f.doc != "":
		return f.doc
	case f.reference != "":
		return fmt.Sprintf("%s names %s.", f.name, f.refers)
	case len(f.enum) > 0:
		var values []string
		for _, value := range f.enum {
			values = append(values, spell(value))
		}
		if last := len(values) - 1; last > 0 {
			values = []string{strings.Join(values[:last], ", ") + " or " + values[last]}
		}
		return fmt.Sprintf("%s %s %s.", f.name, verb, values[0])
	}
	return fmt.Sprintf("%s %s the %s.", f.name, verb, rest)
}

// markers returns the markers of a field, without the markers of its type.
func (f *Field) markers() []string {
	all := []string{"+optional"}
	if f.mustBeSet() {
		all[0] = "+required"
	}
	switch {
	case f.form == list && len(f.keys) > 0:
		all = append(all, "+listType=map")
		for _, key := range f.keys {
			all = append(all, "+listMapKey="+key)
		}
	case f.form == list && f.unique:
		all = append(all, "+listType=set")
	case f.form == list:
		all = append(all, "+listType=atomic")
	case f.form == mapping && f.atomic:
		all = append(all, "+mapType=atomic")
	case f.object != nil && f.atomic:
		all = append(all, "+structType=atomic")
	}
	for _, name := range []string{"minItems", "maxItems", "minProperties", "maxProperties"} {
		if n, ok := f.limits[name]; ok {
			all = append(all, validationMarker("", name, n))
		}
	}
	switch {
	case f.typeName != "":
	case f.form == list:
		all = append(all, f.itemMarkers("items:")...)
	case f.form == single:
		all = append(all, f.itemMarkers("")...)
	}
	if f.immutable {
		all = append(all, xValidation("self == oldSelf", f.name+" is immutable"))
	}
	for _, r := range f.rules {
		all = append(all, xValidation(r.value, r.message))
	}
	switch {
	case f.defaultText != nil:
		all = append(all, "+default="+inJSON(f.byDefault))
	case f.emptyDefault():
		all = append(all, "+default={}")
	}
	return all
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

var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// enumValue writes an enum value such that the marker parser cannot misread it.
func enumValue(value any) string {
	text, ok := value.(string)
	switch {
	case !ok:
		return inJSON(value)
	case text == "true" || text == "false" || !word.MatchString(text):
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
