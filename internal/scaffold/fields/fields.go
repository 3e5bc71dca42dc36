package fields

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/gobuffalo/flect"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Request has the flags for a kind.
type Request struct {
	// Kind is the Go type. Namespaced reports whether its objects, and the objects to which they refer, are namespaced.
	Kind       string
	Namespaced bool
	// Spec and Status are the values of --field and --status-field, in order.
	Spec, Status []string
	// Scale is the value of --scale: the paths of the replicas in spec and status and, optionally, of the selector.
	// "default" creates the fields that do not exist.
	Scale string
	// Columns are the values of --print-column.
	Columns []string
	// Further reports whether the fields are added to the copied types of a second or later version.
	Further bool
	// Taken reports whether the Go package already declares a name. Nil means that it declares none.
	Taken func(name string) bool
}

// Model has the fields of a kind. It is immutable and safe for concurrent use.
type Model struct {
	kind         string
	namespaced   bool
	spec, status *object
	columns      []Column
	scale        *Scale
	golang       Golang
}

// Golang returns the Go types. Callers must not modify the maps.
func (m *Model) Golang() Golang { return m.golang }

// Columns returns the print columns.
func (m *Model) Columns() []Column { return slices.Clone(m.columns) }

// Scale returns the paths of the scale subresource, or nil.
func (m *Model) Scale() *Scale { return m.scale }

// Field is one field of a struct.
type Field struct {
	*flag
	name, golang string
	up           *Field // nil at the top level
	of           *Model
	status       bool
	implicit     bool // the field exists only because flags define its nested fields

	// The type: a scalar, an object or a condition, or a list or map of one of these.
	isList, isMap bool
	scalar        *scalar // also set for an object
	object        *object // fields of an object; nil for other types
	reference     string  // kind that an object refers to

	limits                 map[string]int64
	pattern                *regexp.Regexp
	format                 string
	enum                   []any
	unique, atomic         bool
	keys                   []string
	keyText                string
	required, optional     bool
	immutable              bool
	rules                  []rule
	doc                    string
	defaultText            *argument
	exampleText            *argument
	byDefault, example     any
	typeName, itemTypeName string // names of the Go types declared for the field
}

// object has the fields of a struct, in order.
type object struct{ fields []*Field }

func (o *object) find(name string) *Field {
	for _, f := range o.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (o *object) required() []*Field {
	return slices.DeleteFunc(slices.Clone(o.fields), func(f *Field) bool { return !f.mustBeSet() })
}

func (f *Field) collection() bool { return f.isList || f.isMap }

func (f *Field) top() bool { return f.up == nil }

// path returns the path of the field as users write it in flags.
func (f *Field) path() string {
	if f.up == nil {
		return f.name
	}
	return f.up.path() + f.up.brackets() + "." + f.name
}

func (f *Field) brackets() string {
	switch {
	case f.isList:
		return "[]"
	case f.isMap:
		return "{}"
	}
	return ""
}

// mustBeSet reports whether the field is required, by a flag or by default. An object that no flag defines is required
// if one of its fields is required.
func (f *Field) mustBeSet() bool {
	switch {
	case f.required || f.optional:
		return f.required
	case f.defaultText != nil || f.status && f.top() || f.status && f.collection():
		return false
	case f.implicit:
		return len(f.object.required()) > 0 && !f.collection()
	}
	return true
}

// Parse parses flags. The error joins *diagnostic.Error values for all invalid flags.
func Parse(r Request) (*Model, error) {
	m := &Model{kind: r.Kind, namespaced: r.Namespaced, spec: &object{}, status: &object{}}
	var errs []error
	for _, group := range []struct {
		name   string
		values []string
		in     *object
	}{{"--field", r.Spec, m.spec}, {"--status-field", r.Status, m.status}} {
		for _, text := range group.values {
			f, err := parseFlag(group.name, text)
			if err == nil {
				err = m.add(group.in, f, group.in == m.status)
			}
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	scale, err := m.parseScale(r.Scale)
	if err != nil {
		return nil, err
	}
	m.scale = scale
	for _, top := range []*object{m.spec, m.status} {
		errs = append(errs, m.finish(top))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if r.Further {
		for _, f := range m.spec.required() {
			errs = append(errs, f.refuse("", "objects of the previous version do not have the field",
				"add optional, or a default"))
		}
	}
	for _, text := range r.Columns {
		column, err := m.parseColumn(text)
		m.columns = append(m.columns, column)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m.golang = m.writeGo(r.Taken)
	return m, nil
}

// add adds the field of a flag at its path, and creates missing objects on the path.
func (m *Model) add(in *object, fl *flag, status bool) error {
	segments := strings.Split(fl.path, ".")
	var up *Field
	for _, segment := range segments[:len(segments)-1] {
		name, isList := strings.CutSuffix(segment, "[]")
		name, isMap := strings.CutSuffix(name, "{}")
		if err := checkName(fl, name); err != nil {
			return err
		}
		found := in.find(name)
		if found == nil {
			found = &Field{flag: fl, name: name, up: up, of: m, status: status, implicit: true, isList: isList, isMap: isMap,
				object: &object{}, limits: map[string]int64{}}
			if err := found.place(in); err != nil {
				return err
			}
		}
		if found.object == nil || found.reference != "" {
			return fl.refuse(segment, found.path()+" is a "+found.typ+", which has no fields",
				"make it an object, or rename the field")
		}
		if found.isList != isList || found.isMap != isMap {
			return fl.refuse(segment, found.path()+" is "+found.form(), "write "+found.path()+found.brackets()+"."+
				segments[len(segments)-1])
		}
		in, up = found.object, found
	}
	name := segments[len(segments)-1]
	if err := checkName(fl, name); err != nil {
		return err
	}
	f := &Field{flag: fl, name: name, up: up, of: m, status: status, limits: map[string]int64{}}
	if err := f.setType(fl.typ); err != nil {
		return err
	}
	if err := f.constrain(); err != nil {
		return err
	}
	if had := in.find(name); had != nil && had.implicit && f.object != nil && f.reference == "" &&
		had.isList == f.isList && had.isMap == f.isMap {
		f.object, f.golang = had.object, had.golang
		for _, child := range had.object.fields {
			child.up = f
		}
		in.fields[slices.Index(in.fields, had)] = f
		return nil
	}
	return f.place(in)
}

func (f *Field) form() string {
	switch {
	case f.isList:
		return "a list"
	case f.isMap:
		return "a map"
	}
	return "one object"
}

// place appends the field unless its name is in use.
func (f *Field) place(in *object) error {
	f.golang = goName(f.name)
	taken := in.fields
	if f.status && f.top() {
		for _, name := range []string{"observedGeneration", "conditions"} {
			if f.golang == goName(name) {
				return f.refuse(f.name, "every status has "+name, "omit it")
			}
		}
	}
	if f.golang == "DeepCopy" || f.golang == "DeepCopyInto" {
		return f.refuse(f.name, "every object in Go has a method "+f.golang, "choose another name")
	}
	for _, other := range taken {
		if strings.EqualFold(other.golang, f.golang) {
			return f.refuse(f.flag.path, "duplicate of the field "+other.path(), "choose another name")
		}
	}
	in.fields = append(in.fields, f)
	return nil
}

var jsonName = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// checkName rejects names that violate the API conventions.
func checkName(fl *flag, name string) error {
	switch {
	case name == "":
		return fl.refuse(orElse(fl.path, fl.text), "the name is missing", "write "+fl.name+" size:int32")
	case len(name) > 63:
		return fl.refuse(name, "the name is longer than 63 characters", "choose a shorter name")
	case jsonName.MatchString(name):
		return nil
	}
	hint := "names consist of letters and digits, and start with a lower-case letter"
	better := lowerFirst(flect.Camelize(strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)))
	if jsonName.MatchString(better) {
		hint = "did you mean " + better + "?"
	}
	return fl.refuse(name, "invalid field name", hint)
}

func lowerFirst(name string) string {
	if name == "" {
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// initialisms are words that Go names write in capitals.
var initialisms = []string{
	"ACL", "API", "CA", "CIDR", "CPU", "CRD", "DNS", "FQDN", "GID", "GPU", "HTTP", "HTTPS", "ID", "IP", "JSON", "JWT",
	"OS", "RBAC", "SQL", "SSH", "SSL",
	"TCP", "TLS", "TTL", "UDP", "UI", "UID", "URI", "URL", "UUID", "VM", "XML", "YAML",
}

// goName returns the Go name of a field: PodIP for "podIp".
func goName(name string) string {
	var out strings.Builder
	for _, word := range words(name) {
		if upper := strings.ToUpper(word); slices.Contains(initialisms, upper) {
			out.WriteString(upper)
		} else {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

// words splits a name before each capital that follows a lower-case letter or a digit.
func words(name string) []string {
	var all []string
	begin := 0
	for i := 1; i < len(name); i++ {
		if unicode.IsUpper(rune(name[i])) && !unicode.IsUpper(rune(name[i-1])) {
			all, begin = append(all, name[begin:i]), i
		}
	}
	return append(all, name[begin:])
}

// setReference makes the field a reference to an object of another kind.
func (f *Field) setReference(text string) error {
	kind, part, keyed := strings.Cut(text, "/")
	if kind == "" || !unicode.IsUpper(rune(kind[0])) || strings.ContainsFunc(kind, func(r rune) bool {
		return r > 127 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) || keyed && part != "key" {
		return f.refuse(f.typ, "a reference requires a kind", "write ref=ConfigMap, or ref=ConfigMap/key for a key in it")
	}
	f.reference = kind
	f.object = &object{}
	parts := []string{"name:string,minLength=1,maxLength=253,doc=\"name of the " + kind + ".\""}
	if f.isList {
		f.keys = []string{"name"}
	}
	if !f.of.namespaced {
		parts = append(parts, "namespace:string,minLength=1,maxLength=63,doc=\"namespace of the "+kind+".\"")
		if f.isList {
			f.keys = append(f.keys, "namespace")
		}
	}
	if keyed {
		parts = append(parts, "key:string,minLength=1,maxLength=253,doc=\"key in the "+kind+".\"")
		f.reference += "Key"
	}
	for _, text := range parts {
		fl, err := parseFlag(f.flag.name, text)
		if err != nil {
			return err
		}
		child := &Field{flag: fl, name: fl.path, up: f, of: f.of, status: f.status, limits: map[string]int64{}}
		if err := errors.Join(child.setType(fl.typ), child.constrain(), child.place(f.object)); err != nil {
			return err
		}
	}
	return nil
}

// finish checks all fields of an object, starting with the innermost ones.
func (m *Model) finish(o *object) error {
	var errs []error
	for _, f := range o.fields {
		if f.object != nil {
			if len(f.object.fields) == 0 {
				errs = append(errs, f.refuse(f.typ, "an object requires fields", fmt.Sprintf("add %s %s%s.name:string", f.flag.name,
					f.path(), f.brackets())))
				continue
			}
			if err := m.finish(f.object); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, f.check())
	}
	return errors.Join(errs...)
}

// Empty reports whether no flag defines fields of the spec.
func (m *Model) Empty() bool { return len(m.spec.fields) == 0 }

// accept returns the reason why a value is invalid, or nil.
func (f *Field) accept(value any) error {
	switch {
	case f.isList:
		items, ok := value.([]any)
		if !ok {
			return errors.New("not a list")
		}
		return cmp.Or(f.acceptCount(len(items), "minItems", "maxItems"), f.acceptItems(items))
	case f.isMap:
		entries, ok := value.(map[string]any)
		if !ok {
			return errors.New("not a map")
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if err := f.acceptOne(entries[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return f.acceptCount(len(entries), "minProperties", "maxProperties")
	}
	return f.acceptOne(value)
}

func (f *Field) acceptCount(n int, low, high string) error {
	if least, ok := f.limits[low]; ok && int64(n) < least {
		return fmt.Errorf("got %d, but %s=%d", n, low, least)
	}
	if most, ok := f.limits[high]; ok && int64(n) > most {
		return fmt.Errorf("got %d, but %s=%d", n, high, most)
	}
	return nil
}

func (f *Field) acceptItems(items []any) error {
	seen := map[string]bool{}
	for _, item := range items {
		if err := f.acceptOne(item); err != nil {
			return err
		}
		id := spell(item)
		if object, ok := item.(map[string]any); ok && len(f.keys) > 0 {
			id = ""
			for _, key := range f.keys {
				id += spell(object[key]) + "\n"
			}
		}
		if seen[id] && (f.unique || len(f.keys) > 0) {
			return fmt.Errorf("%s is repeated", strings.TrimSpace(id))
		}
		seen[id] = true
	}
	return nil
}

// acceptOne is accept for a value that is not a list or map, or for an item of one.
func (f *Field) acceptOne(value any) error {
	if f.object != nil {
		return f.acceptObject(value)
	}
	switch v := value.(type) {
	case string:
		if f.scalar.kind == kindInteger || f.scalar.kind == kindBoolean || f.scalar.name == "condition" {
			return fmt.Errorf("%s is not a valid %s", diagnostic.Quote(v), f.scalar.name)
		}
		if _, err := f.scalar.parse(v); err != nil {
			return fmt.Errorf("%s is not %w", diagnostic.Quote(v), err)
		}
		if err := f.acceptText(v); err != nil {
			return err
		}
	case int64:
		if f.scalar.kind != kindInteger && f.scalar.kind != kindIntOrString {
			return fmt.Errorf("%d is not a valid %s", v, f.scalar.name)
		}
		if err := f.acceptInteger(v); err != nil {
			return err
		}
	case bool:
		if f.scalar.kind != kindBoolean {
			return fmt.Errorf("%t is not a valid %s", v, f.scalar.name)
		}
	default:
		return fmt.Errorf("%s is not a valid %s", spell(value), f.scalar.name)
	}
	if len(f.enum) > 0 && !slices.Contains(f.enum, value) {
		return fmt.Errorf("%s is not in the enum", inJSON(value))
	}
	return nil
}

func (f *Field) acceptInteger(n int64) error {
	if _, err := f.scalar.parse(fmt.Sprint(n)); err != nil {
		return fmt.Errorf("%d is not %w", n, err)
	}
	if least, ok := f.limits["min"]; ok && n < least {
		return fmt.Errorf("%d is less than min=%d", n, least)
	}
	if most, ok := f.limits["max"]; ok && n > most {
		return fmt.Errorf("%d is more than max=%d", n, most)
	}
	if step, ok := f.limits["multipleOf"]; ok && n%step != 0 {
		return fmt.Errorf("%d is not multipleOf=%d", n, step)
	}
	return nil
}

func (f *Field) acceptText(text string) error {
	if err := f.acceptCount(len([]rune(text)), "minLength", "maxLength"); err != nil {
		return fmt.Errorf("number of characters: %w", err)
	}
	if f.pattern != nil && !f.pattern.MatchString(text) {
		return fmt.Errorf("%s does not match the pattern", diagnostic.Quote(text))
	}
	if f.format != "" && !formats[f.format].has(text) {
		return fmt.Errorf("%s is not a valid %s", diagnostic.Quote(text), f.format)
	}
	return nil
}

func (f *Field) acceptObject(value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is not an object", spell(value))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		child := f.object.find(name)
		if child == nil {
			return fmt.Errorf("unknown field %s", diagnostic.Quote(name))
		}
		if err := child.accept(object[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, child := range f.object.required() {
		if _, ok := object[child.name]; !ok {
			return fmt.Errorf("%s is required", child.name)
		}
	}
	if f.collection() {
		return nil
	}
	return f.acceptCount(len(object), "minProperties", "maxProperties")
}
