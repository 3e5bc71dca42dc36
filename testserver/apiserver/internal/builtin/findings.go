package builtin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Findings collects what is wrong with an object, in the words of the API server.
type Findings struct{ List field.ErrorList }

// Add adds problems.
func (f *Findings) Add(found ...*field.Error) { f.List = append(f.List, found...) }

// Required adds that something is not there.
func (f *Findings) Required(path *field.Path, detail string) { f.Add(field.Required(path, detail)) }

// invalid adds one problem for each message.
func (f *Findings) invalid(path *field.Path, value any, messages ...string) {
	for _, message := range messages {
		f.Add(field.Invalid(path, value, message))
	}
}

// written is invalid for what a declaration would have found too, if it had looked.
func (f *Findings) written(path *field.Path, value any, messages ...string) {
	before := len(f.List)
	f.invalid(path, value, messages...)
	f.List[before:].MarkFromImperative()
}

// named is a value with the name of its field.
type named[T any] struct {
	name  string
	value T
}

func as[T any](name string, value T) named[T] { return named[T]{name, value} }

// inOrder ranges over values as they are given, which upstream looks at in this order.
func inOrder[T any](values ...named[T]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, one := range values {
			if !yield(one.name, one.value) {
				return
			}
		}
	}
}

func (f *Findings) label(path *field.Path, value string) {
	f.invalid(path, value, utilvalidation.IsDNS1123Label(value)...)
}

func (f *Findings) qualified(path *field.Path, value string) {
	f.invalid(path, value, utilvalidation.IsQualifiedName(value)...)
}

func (f *Findings) port(path *field.Path, value int32) {
	f.invalid(path, value, utilvalidation.IsValidPortNum(int(value))...)
}

func (f *Findings) ip(path *field.Path, value string, existing ...string) bool {
	found := utilvalidation.IsValidIPForLegacyField(path, value, true, existing)
	f.Add(found...)
	return len(found) == 0
}

func (f *Findings) labels(path *field.Path, values map[string]string) {
	f.Add(metav1validation.ValidateLabels(values, path)...)
}

func (f *Findings) selector(path *field.Path, selector *metav1.LabelSelector) {
	f.Add(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)...)
}

// unchanged is immutable for fields of which the server does not say what they should have become.
func (f *Findings) unchanged(path *field.Path, now, was any) {
	if !equality.Semantic.DeepEqual(now, was) {
		f.invalid(path, nil, validation.FieldImmutableErrorMsg)
	}
}

func sortedMap[K cmp.Ordered, V any](values map[K]V) []K { return slices.Sorted(maps.Keys(values)) }

// Deref is the value of a pointer, or that of its type.
func Deref[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

// goValue is a value as the API server shows it in errors: of its own Go types, with the names of their fields and all that is not set.
type goValue struct{ value any }

func (s goValue) MarshalJSON() ([]byte, error) { return appendShown(nil, reflect.ValueOf(s.value)) }

// Show makes problems show values of API types as the API server does.
func Show(problems field.ErrorList) field.ErrorList {
	for _, problem := range problems {
		t := reflect.TypeOf(problem.BadValue)
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
			t = t.Elem()
		}
		if t != nil && t.Kind() == reflect.Struct && isAPI(t) {
			problem.BadValue = goValue{problem.BadValue}
		}
	}
	return problems
}

func isAPI(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "k8s.io/api/") }

func appendShown(text []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(text, "null"...), nil
		}
		return appendShown(text, v.Elem())
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		text = append(text, '[')
		for i := range v.Len() {
			if i > 0 {
				text = append(text, ',')
			}
			var err error
			if text, err = appendShown(text, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(text, ']'), nil
	case reflect.Struct:
		if isAPI(v.Type()) {
			text, _, err := appendMembers(append(text, '{'), v, true)
			return append(text, '}'), err
		}
	}
	data, err := json.Marshal(v.Interface())
	return append(text, data...), err
}

// appendMembers writes the fields of a struct, and those of what it embeds as if they were its own.
func appendMembers(text []byte, v reflect.Value, first bool) ([]byte, bool, error) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		var err error
		if f.Anonymous && isAPI(f.Type) {
			if text, first, err = appendMembers(text, v.Field(i), first); err != nil {
				return nil, false, err
			}
			continue
		}
		if f.Anonymous { // what the kind is, its own types do not say
			if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
				continue
			}
			data, err := json.Marshal(v.Field(i).Interface())
			if err != nil {
				return nil, false, err
			}
			if inner := bytes.Trim(data, "{}"); len(inner) > 0 {
				if !first {
					text = append(text, ',')
				}
				text, first = append(text, data[1:len(data)-1]...), false
			}
			continue
		}
		if !first {
			text = append(text, ',')
		}
		first = false
		text = append(strconv.AppendQuote(text, f.Name), ':')
		if text, err = appendShown(text, v.Field(i)); err != nil {
			return nil, false, err
		}
	}
	return text, first, nil
}

// Set gives a value that is not there a default.
func Set[T comparable](value *T, usual T) {
	if *value == *new(T) {
		*value = usual
	}
}

// SetPointer is Set for what may be absent.
func SetPointer[T any](value **T, usual T) {
	if *value == nil {
		*value = &usual
	}
}
