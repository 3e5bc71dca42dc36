package fields

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

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
	of           *Model
	in           *object // object that contains the field
	implicit     bool    // the field exists only because flags define its nested fields

	// The type: a scalar, an object or a condition, or a list or map of one of these.
	form      *form
	scalar    *scalar // also set for an object
	object    *object // fields of an object; nil for other types
	reference string  // name of the Go type of a reference, without the kind that has it
	refers    string  // what a reference refers to, such as "a ConfigMap"

	limits             map[string]int64
	pattern            *regexp.Regexp
	format             string
	enum               []any
	unique, atomic     bool
	keys               []string
	keyText            string
	required, optional bool
	immutable          bool
	rules              []rule
	doc                string
	defaultText        *argument
	exampleText        *argument
	byDefault, example any
	typeName           string // name of the Go type declared for the field or its items; it may be empty
}

// form is a form of types. Its strings depend on the form only.
type form struct {
	name     string // in errors
	brackets string // after the name of a field in paths
	index    string // after the name of a field in JSON paths
	golang   string // before the Go type of a value
	low      string // limits of the number of values
	high     string
}

var (
	single  = &form{"one object", "", "", "", "minProperties", "maxProperties"}
	list    = &form{"a list", "[]", "[0]", "[]", "minItems", "maxItems"}
	mapping = &form{"a map", "{}", "['key']", "map[string]", "minProperties", "maxProperties"}
)

// object has the fields of a struct, in order.
type object struct {
	fields []*Field
	of     *Field // field whose type the struct is; nil for spec and status
	status bool   // whether the struct belongs to the status
}

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

func (f *Field) collection() bool { return f.form != single }

// path returns the path of the field as users write it in flags.
func (f *Field) path() string {
	if f.in.of == nil {
		return f.name
	}
	return f.in.of.path() + f.in.of.form.brackets + "." + f.name
}

// mustBeSet reports whether the field is required, by a flag or by default. An object that no flag defines is required
// if one of its fields is required.
func (f *Field) mustBeSet() bool {
	switch {
	case f.required || f.optional:
		return f.required
	case f.defaultText != nil || f.in.status && (f.in.of == nil || f.collection()):
		return false
	case f.implicit:
		return len(f.object.required()) > 0 && !f.collection()
	}
	return true
}

// Parse parses flags. The error joins *diagnostic.Error values for all invalid flags.
func Parse(r Request) (*Model, error) {
	m := &Model{kind: r.Kind, namespaced: r.Namespaced, spec: &object{}, status: &object{status: true}}
	var errs []error
	for _, text := range r.Spec {
		errs = append(errs, m.add(m.spec, text))
	}
	for _, text := range r.Status {
		errs = append(errs, m.add(m.status, text))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	scale, err := m.parseScale(r.Scale)
	if err != nil {
		return nil, err
	}
	m.scale = scale
	if err := errors.Join(m.spec.finish(), m.status.finish()); err != nil {
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

// add adds the field of a flag with the given value at its path in an object, and creates missing objects on the path.
func (m *Model) add(in *object, text string) error {
	fl, err := parseFlag(map[bool]string{false: "--field", true: "--status-field"}[in.status], text)
	if err != nil {
		return err
	}
	segments := strings.Split(fl.path, ".")
	for _, segment := range segments[:len(segments)-1] {
		name, shape := segment, single
		for _, other := range []*form{list, mapping} {
			if before, ok := strings.CutSuffix(segment, other.brackets); ok {
				name, shape = before, other
			}
		}
		if err := checkName(fl, name); err != nil {
			return err
		}
		found := in.find(name)
		if found == nil {
			found = &Field{flag: fl, name: name, of: m, in: in, implicit: true, form: shape, limits: map[string]int64{}}
			found.setObject(&object{})
			if err := found.place(); err != nil {
				return err
			}
		}
		if found.object == nil || found.reference != "" {
			return fl.refuse(segment, found.path()+" is a "+found.typ+", which has no fields",
				"make it an object, or rename the field")
		}
		if found.form != shape {
			return fl.refuse(segment, found.path()+" is "+found.form.name, "write "+found.path()+found.form.brackets+"."+
				segments[len(segments)-1])
		}
		in = found.object
	}
	name := segments[len(segments)-1]
	if err := checkName(fl, name); err != nil {
		return err
	}
	f := &Field{flag: fl, name: name, of: m, in: in, form: single, limits: map[string]int64{}}
	if err := f.setType(fl.typ); err != nil {
		return err
	}
	if err := f.constrain(); err != nil {
		return err
	}
	if had := in.find(name); had != nil && had.implicit && f.object != nil && f.reference == "" && had.form == f.form {
		f.golang = had.golang
		f.setObject(had.object)
		in.fields[slices.Index(in.fields, had)] = f
		return nil
	}
	return f.place()
}

// setObject makes o the fields of the field.
func (f *Field) setObject(o *object) {
	f.object = o
	o.of, o.status = f, f.in.status
}

// place appends the field to its object unless its name is in use.
func (f *Field) place() error {
	f.golang = goName(f.name)
	if f.in.status && f.in.of == nil && (f.name == "observedGeneration" || f.name == "conditions") {
		return f.refuse(f.name, "every status has "+f.name, "omit it")
	}
	if f.golang == "DeepCopy" || f.golang == "DeepCopyInto" {
		return f.refuse(f.name, "every object in Go has a method "+f.golang, "choose another name")
	}
	for _, other := range f.in.fields {
		if strings.EqualFold(other.golang, f.golang) {
			return f.refuse(f.flag.path, "duplicate of the field "+other.path(), "choose another name")
		}
	}
	f.in.fields = append(f.in.fields, f)
	return nil
}

var (
	jsonName        = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	kindName        = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*$`)
	notAlphanumeric = regexp.MustCompile(`[^a-zA-Z0-9]`)
)

// checkName rejects names that violate the API conventions.
func checkName(fl *flag, name string) error {
	switch {
	case name == "":
		return fl.refuse(cmp.Or(fl.path, fl.text), "the name is missing", "write "+fl.name+" size:int32")
	case len(name) > 63:
		return fl.refuse(name, "the name is longer than 63 characters", "choose a shorter name")
	case jsonName.MatchString(name):
		return nil
	}
	hint := "names consist of letters and digits, and start with a lower-case letter"
	better := flect.Camelize(notAlphanumeric.ReplaceAllString(name, "_"))
	if better != "" {
		better = strings.ToLower(better[:1]) + better[1:]
	}
	if jsonName.MatchString(better) {
		hint = "did you mean " + better + "?"
	}
	return fl.refuse(name, "invalid field name", hint)
}

// initialisms are words that Go names write in capitals.
var initialisms = []string{
	"ACL", "API", "CA", "CIDR", "CPU", "CRD", "DNS", "FQDN", "GID", "GPU", "HTTP", "HTTPS", "ID", "IP", "JSON", "JWT",
	"OS", "RBAC", "SQL", "SSH", "SSL",
	"TCP", "TLS", "TTL", "UDP", "UI", "UID", "URI", "URL", "UUID", "VM", "XML", "YAML",
}

// words matches the words of a name. A word starts at each capital that follows a lower-case letter or a digit.
var words = regexp.MustCompile(`[A-Z]*[^A-Z]+|[A-Z]+`)

// goName returns the Go name of a field: PodIP for "podIp".
func goName(name string) string {
	return words.ReplaceAllStringFunc(name, func(word string) string {
		if upper := strings.ToUpper(word); slices.Contains(initialisms, upper) {
			return upper
		}
		return strings.ToUpper(word[:1]) + word[1:]
	})
}

// setReference makes the field a reference to an object of another kind.
func (f *Field) setReference(text string) error {
	kind, part, keyed := strings.Cut(text, "/")
	if !kindName.MatchString(kind) || keyed && part != "key" {
		return f.refuse(f.typ, "a reference requires a kind", "write ref=ConfigMap, or ref=ConfigMap/key for a key in it")
	}
	f.reference, f.refers = kind, "a "+kind
	f.setObject(&object{})
	parts := []string{"name:string,minLength=1,maxLength=253,doc=\"name of the " + kind + ".\""}
	keys := []string{"name"}
	if !f.of.namespaced {
		parts = append(parts, "namespace:string,minLength=1,maxLength=63,doc=\"namespace of the "+kind+".\"")
		keys = append(keys, "namespace")
	}
	if f.form == list {
		f.keys = keys
	}
	if keyed {
		parts = append(parts, "key:string,minLength=1,maxLength=253,doc=\"key in the "+kind+".\"")
		f.reference, f.refers = kind+"Key", "a key of a "+kind
	}
	for _, text := range parts {
		if err := f.of.add(f.object, text); err != nil {
			return err
		}
	}
	return nil
}

// finish checks all fields of an object, starting with the innermost ones.
func (o *object) finish() error {
	var errs []error
	for _, f := range o.fields {
		if f.object != nil {
			if len(f.object.fields) == 0 {
				errs = append(errs, f.refuse(f.typ, "an object requires fields", fmt.Sprintf("add %s %s%s.name:string", f.flag.name,
					f.path(), f.form.brackets)))
				continue
			}
			if err := f.object.finish(); err != nil {
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
	switch f.form {
	case list:
		items, ok := value.([]any)
		if !ok {
			return errors.New("not a list")
		}
		return cmp.Or(f.acceptCount(len(items), list.low, list.high), f.acceptItems(items))
	case mapping:
		entries, ok := value.(map[string]any)
		if !ok {
			return errors.New("not a map")
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if err := f.acceptOne(entries[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return f.acceptCount(len(entries), mapping.low, mapping.high)
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
	is := func(kind schemaKind) bool { return f.scalar.kind == kind || f.scalar.kind == kindIntOrString }
	valid, err, quoted := false, error(nil), spell(value)
	switch v := value.(type) {
	case string:
		valid, err, quoted = is(kindText), f.acceptText(v), diagnostic.Quote(v)
	case int64:
		valid, err = is(kindInteger), f.acceptInteger(v)
	case bool:
		valid = f.scalar.kind == kindBoolean
	case map[string]any:
		valid = f.scalar.kind == kindObject
	}
	switch {
	case !valid:
		return fmt.Errorf("%s is not a valid %s", quoted, f.scalar.name)
	case err == nil && len(f.enum) > 0 && !slices.Contains(f.enum, value):
		return fmt.Errorf("%s is not in the enum", inJSON(value))
	}
	return err
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
	if _, err := f.scalar.parse(text); err != nil {
		return fmt.Errorf("%s is not %w", diagnostic.Quote(text), err)
	}
	if err := f.acceptCount(len([]rune(text)), "minLength", "maxLength"); err != nil {
		return fmt.Errorf("number of characters: %w", err)
	}
	if f.pattern != nil && !f.pattern.MatchString(text) {
		return fmt.Errorf("%s does not match the pattern", diagnostic.Quote(text))
	}
	if f.format != "" && !strfmt.Default.Validates(f.format, text) {
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
	return f.acceptCount(len(object), single.low, single.high)
}
