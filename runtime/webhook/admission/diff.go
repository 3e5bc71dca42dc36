package admission

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

// differ computes the operations that change one JSON document to another, given two states of a Go value. The document
// may have fields that the Go type does not have. Parts that are equal keep their original notation.
type differ struct {
	// path is the path to the current value. Each step caches its text in the document after the operations so far.
	path []step
	ops  []Operation
	err  error // of the first value that could not be encoded
}

// step is a member of an object or an element of a list.
type step struct {
	name    string // in the form of a JSON pointer
	element int    // index in the document's original list; -1 for a member
	text    []byte // nil means absent
	known   bool   // text is set
}

func newDiffer(raw []byte) *differ {
	return &differ{path: []step{{text: bytes.TrimSpace(raw), known: true, element: -1}}}
}

func (d *differ) member(name string) { d.path = append(d.path, step{name: name, element: -1}) }
func (d *differ) leave()             { d.path = d.path[:len(d.path)-1] }

// text returns the document's text at the n-th step of the path, or nil.
func (d *differ) text(n int) []byte {
	s := &d.path[n]
	if !s.known {
		parent := d.text(n - 1)
		if s.element < 0 {
			s.text = wire.Member(parent, s.name)
		} else if elements := wire.Elements(parent); s.element < len(elements) {
			s.text = elements[s.element]
		}
		s.known = true
	}
	return s.text
}

// here returns the document's text at the path, or nil.
func (d *differ) here() []byte { return d.text(len(d.path) - 1) }

// fits reports whether text is an object that can have the member s, or a list that can have the element s.
func (s step) fits(text []byte) bool {
	return len(text) > 0 && (s.element < 0 && text[0] == '{' || s.element >= 0 && text[0] == '[')
}

// pointer returns the JSON pointer of the first n+1 steps.
func (d *differ) pointer(n int) string {
	var b strings.Builder
	for _, s := range d.path[1 : n+1] {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(s.name, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// set sets the value at the path, and creates missing parents.
func (d *differ) set(value []byte) {
	last := len(d.path) - 1
	at := last // the step whose value is written
	for n := range last {
		if !d.path[n+1].fits(d.text(n)) {
			at = n
			break
		}
	}
	for n := last; n > at; n-- { // all of them are members, since the list of an element exists
		name, _ := json.Marshal(d.path[n].name) // strings can always be encoded
		value = slices.Concat([]byte("{"), name, []byte(":"), value, []byte("}"))
	}
	op := "add"
	if d.text(at) != nil {
		op = "replace"
	}
	d.ops = append(d.ops, Operation{Op: op, Path: d.pointer(at), Value: value})
	d.path[at].text, d.path[at].known = value, true // basis for later lookups below
	for n := at + 1; n <= last; n++ {
		d.path[n].known = false
	}
}

// encode sets the value at the path to the JSON of v.
func (d *differ) encode(v any) {
	value, err := json.Marshal(v)
	if err != nil {
		d.fail(err)
		return
	}
	d.set(value)
}

// remove removes the value at the path, if it exists.
func (d *differ) remove() {
	if last := len(d.path) - 1; d.here() != nil {
		d.ops = append(d.ops, Operation{Op: "remove", Path: d.pointer(last)})
		d.path[last].text = nil
	}
}

func (d *differ) fail(err error) { d.err = cmp.Or(d.err, err) }

// comparer adds the operations that change one value of a type to another. It is immutable after its creation.
type comparer struct {
	diff func(d *differ, before, after reflect.Value)
}

// comparers holds the comparers of a type and of the types within it, and creates them on demand.
type comparers map[reflect.Type]*comparer

func newComparer(t reflect.Type) *comparer {
	if t == reflect.TypeFor[unstructured.Unstructured]() {
		return &comparer{func(d *differ, before, after reflect.Value) { diffUntyped(d, before.Field(0), after.Field(0)) }}
	}
	return comparers{}.of(t)
}

func (cs comparers) of(t reflect.Type) *comparer {
	if c, ok := cs[t]; ok {
		return c
	}
	c := &comparer{}
	cs[t] = c // stored before comparing the parts of t, which may include t
	c.diff = cs.diffOf(t)
	return c
}

func (cs comparers) diffOf(t reflect.Type) func(d *differ, before, after reflect.Value) {
	if encodesItself(t) {
		return diffEncoded
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return diffScalar
	case reflect.Pointer:
		return cs.diffOfPointer(t)
	case reflect.Struct:
		return cs.diffOfStruct(t)
	case reflect.Map:
		if key := t.Key(); key.Kind() == reflect.String && !encodesItself(key) {
			return cs.diffOfMap(t)
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return cs.diffOfSlice(t)
		}
	}
	return diffEncoded
}

// encodesItself reports whether type t has its own encoding method.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Name() != "" && (p.Implements(reflect.TypeFor[json.Marshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextMarshaler]()))
}

// diffEncoded compares the JSON of the values.
func diffEncoded(d *differ, before, after reflect.Value) {
	if reflect.DeepEqual(before.Interface(), after.Interface()) {
		return
	}
	was, wasErr := marshal(before)
	is, isErr := marshal(after)
	if err := cmp.Or(isErr, wasErr); err != nil {
		d.fail(err)
		return
	}
	if bytes.Equal(was, is) {
		return
	}
	var old, new any
	if utiljson.Unmarshal(was, &old) != nil || utiljson.Unmarshal(is, &new) != nil {
		d.set(is)
		return
	}
	d.untyped(old, new)
}

// marshal returns the JSON of v. It calls the method of the pointer to v if that has one.
func marshal(v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr()
	}
	return json.Marshal(v.Interface())
}

func diffScalar(d *differ, before, after reflect.Value) {
	if !before.Equal(after) {
		d.encode(after.Interface())
	}
}

func (cs comparers) diffOfPointer(t reflect.Type) func(d *differ, before, after reflect.Value) {
	elem := cs.of(t.Elem())
	return func(d *differ, before, after reflect.Value) {
		switch {
		case before.IsNil() && after.IsNil():
		case before.IsNil() || after.IsNil():
			d.encode(after.Interface())
		default:
			elem.diff(d, before.Elem(), after.Elem())
		}
	}
}

// member is a field of a struct with its comparer.
type member struct {
	wire.Field
	*comparer
	whole bool // the Go type has all fields that the document can have
}

func (cs comparers) diffOfStruct(t reflect.Type) func(d *differ, before, after reflect.Value) {
	fields, ok := wire.Fields(t)
	if !ok {
		return diffEncoded
	}
	var members []member
	for _, f := range fields {
		members = append(members, member{f, cs.of(f.Type), f.Type.Kind() != reflect.Struct || encodesItself(f.Type)})
	}
	return func(d *differ, before, after reflect.Value) {
		for i := range members {
			m := &members[i]
			d.member(m.Name)
			m.compare(d, before.FieldByIndex(m.Index), after.FieldByIndex(m.Index))
			d.leave()
		}
	}
}

// compare compares a field of two structs. An omitted field may be in the document, as an explicit zero or in part.
func (m *member) compare(d *differ, before, after reflect.Value) {
	was, is := !m.omits(before), !m.omits(after)
	switch {
	case !was && !is:
	case was && !is && m.whole:
		d.remove()
	case !was && is && (m.whole || len(d.here()) == 0 || d.here()[0] != '{'):
		if value, err := marshal(after); err != nil {
			d.fail(err)
		} else if !bytes.Equal(value, d.here()) { // the omitted zero differs from the new value
			d.set(value)
		}
	default:
		m.diff(d, before, after)
	}
}

// omits reports whether v is omitted from the JSON.
func (m *member) omits(v reflect.Value) bool {
	if m.OmitZero && isZero(v) {
		return true
	}
	if !m.OmitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// zeroer is a type with its own definition of zero.
type zeroer interface{ IsZero() bool }

// isZero reports whether v is zero, by a method of its type or its pointer type, and otherwise by Go's definition.
func isZero(v reflect.Value) bool {
	if !v.Type().Implements(reflect.TypeFor[zeroer]()) &&
		reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[zeroer]()) {
		pointer := reflect.New(v.Type()) // v may be in a map, in which case it has no address
		pointer.Elem().Set(v)
		v = pointer
	}
	if z, ok := v.Interface().(zeroer); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	return v.IsZero()
}

func (cs comparers) diffOfMap(t reflect.Type) func(d *differ, before, after reflect.Value) {
	elem := cs.of(t.Elem())
	return func(d *differ, before, after reflect.Value) {
		if before.IsNil() != after.IsNil() {
			d.encode(after.Interface())
			return
		}
		keys := map[string]reflect.Value{}
		for _, side := range []reflect.Value{before, after} {
			for _, key := range side.MapKeys() {
				keys[key.String()] = key
			}
		}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			was, is := before.MapIndex(keys[name]), after.MapIndex(keys[name])
			d.member(name)
			switch {
			case !is.IsValid():
				d.remove()
			case !was.IsValid():
				d.encode(is.Interface())
			default:
				elem.diff(d, was, is)
			}
			d.leave()
		}
	}
}

func (cs comparers) diffOfSlice(t reflect.Type) func(d *differ, before, after reflect.Value) {
	elem := cs.of(t.Elem())
	return func(d *differ, before, after reflect.Value) {
		if reflect.DeepEqual(before.Interface(), after.Interface()) {
			return
		}
		if before.IsNil() || after.IsNil() {
			d.encode(after.Interface())
			return
		}
		d.list(lists{before, after, elem.diff})
	}
}

// untyped compares values that consist of map[string]any, []any, string, bool, int64, float64 and nil.
func (d *differ) untyped(before, after any) {
	switch after := after.(type) {
	case map[string]any:
		if was, ok := before.(map[string]any); ok && was != nil {
			d.untypedObject(was, after)
			return
		}
	case []any:
		if was, ok := before.([]any); ok {
			if !reflect.DeepEqual(was, after) {
				d.list(lists{reflect.ValueOf(was), reflect.ValueOf(after), diffUntyped})
			}
			return
		}
	}
	if reflect.DeepEqual(before, after) {
		return
	}
	was, wasErr := json.Marshal(before)
	is, err := json.Marshal(after)
	if err != nil {
		d.fail(err)
	} else if wasErr != nil || !bytes.Equal(was, is) { // an int may equal an int64
		d.set(is)
	}
}

func diffUntyped(d *differ, before, after reflect.Value) {
	d.untyped(before.Interface(), after.Interface())
}

func (d *differ) untypedObject(before, after map[string]any) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := before[name]
		is, has := after[name]
		d.member(name)
		switch {
		case !has:
			d.remove()
		case !had:
			d.encode(is)
		default:
			d.untyped(was, is)
		}
		d.leave()
	}
}
