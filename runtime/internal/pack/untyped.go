package pack

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// First byte of an untyped value.
const (
	untypedNil = iota
	untypedFalse
	untypedTrue
	untypedInt
	untypedFloat
	untypedString
	untypedMap
	untypedList
	untypedNilMap
	untypedNilList
)

func packInterface(w *writer, v reflect.Value) { w.untyped(v.Interface()) }

func unpackInterface(r *reader, v reflect.Value) {
	if value := r.untyped(); value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

// untyped writes a value of a type that decoders create for untyped data.
func (w *writer) untyped(value any) {
	switch value := value.(type) {
	case nil:
		w.byte(untypedNil)
	case bool:
		if value {
			w.byte(untypedTrue)
		} else {
			w.byte(untypedFalse)
		}
	case int64:
		w.byte(untypedInt)
		w.int(value)
	case float64:
		w.byte(untypedFloat)
		w.uint(math.Float64bits(value))
	case string:
		w.byte(untypedString)
		w.text(value)
	case map[string]any:
		if value == nil {
			w.byte(untypedNilMap)
			return
		}
		w.byte(untypedMap)
		w.members(value, nil)
	case []any:
		if value == nil {
			w.byte(untypedNilList)
			return
		}
		w.byte(untypedList)
		w.uint(uint64(len(value)))
		for _, element := range value {
			w.untyped(element)
		}
	default:
		w.fail(fmt.Errorf("an untyped value is a %T", value))
	}
}

// members writes the members of m in order. It omits members that have the same value in omit.
func (w *writer) members(m map[string]any, omit map[string]string) {
	start := len(w.keys)
	for key, value := range m {
		if text, ok := value.(string); ok && text != "" && omit[key] == text {
			continue
		}
		w.keys = append(w.keys, key)
	}
	keys := w.keys[start:]
	slices.Sort(keys)
	w.uint(uint64(len(keys)))
	for _, key := range keys {
		w.text(key)
		w.untyped(m[key])
	}
	w.keys = w.keys[:len(w.keys)-len(keys)]
}

// untyped returns the value at the reader's position.
func (r *reader) untyped() any {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch tag := r.byte(); tag {
	case untypedNil:
		return nil
	case untypedFalse, untypedTrue:
		return tag == untypedTrue
	case untypedInt:
		return r.int()
	case untypedFloat:
		return math.Float64frombits(r.uint())
	case untypedString:
		return r.boxedText()
	case untypedMap:
		return r.members(r.count())
	case untypedList:
		return r.elements()
	case untypedNilMap:
		return map[string]any(nil)
	case untypedNilList:
		return []any(nil)
	default:
		r.fail("no untyped value begins with %d", tag)
		return nil
	}
}

// boxedText returns the text at the reader's position as an any, without an allocation if the text is in the table.
func (r *reader) boxedText() any {
	start := r.at
	if head := r.uint(); head&3 == knownText {
		return r.known(head >> 2).boxed
	}
	if r.err == nil {
		r.at = start
	}
	return r.text()
}

func (r *reader) members(count int) map[string]any {
	m := make(map[string]any, min(count, maxPrealloc))
	for i := 0; i < count && r.err == nil; i++ {
		key := r.text()
		m[key] = r.untyped()
	}
	return m
}

func (r *reader) elements() []any {
	count := r.count()
	list := make([]any, 0, min(count, maxPrealloc))
	for i := 0; i < count && r.err == nil; i++ {
		list = append(list, r.untyped())
	}
	return list
}

// count returns the number of elements that follow. Each takes at least one byte.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(r.left()) {
		r.stop(errShort)
		return 0
	}
	return int(n)
}

// metadata is the member of an unstructured object that contains its identity.
const metadata = "metadata"

// packUnstructured packs an unstructured object, without repeating its identity in the metadata.
func packUnstructured(w *writer, v reflect.Value) {
	object := v.Addr().Interface().(*unstructured.Unstructured).Object
	w.length(len(object), object == nil)
	keys := sortedKeys(w, object)
	for _, key := range keys {
		w.text(key)
		meta, ok := object[key].(map[string]any)
		if key == metadata && ok && meta != nil {
			w.byte(untypedMap)
			w.members(meta, w.id.members())
			continue
		}
		w.untyped(object[key])
	}
	w.keys = w.keys[:len(w.keys)-len(keys)]
}

func unpackUnstructured(r *reader, v reflect.Value) {
	count, ok := r.length()
	if !ok {
		return
	}
	object := r.members(count)
	if meta, ok := object[metadata].(map[string]any); ok && meta != nil {
		for key, text := range r.id.members() {
			if text != "" {
				meta[key] = text
			}
		}
	}
	v.Addr().Interface().(*unstructured.Unstructured).Object = object
}

// members returns the identity as members of an unstructured object's metadata.
func (id identity) members() map[string]string {
	return map[string]string{"uid": id.uid, "resourceVersion": id.version, "namespace": id.namespace, "name": id.name}
}
