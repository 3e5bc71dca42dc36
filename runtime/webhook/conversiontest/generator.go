package conversiontest

import (
	"encoding"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// generator generates values in the form in which an API server sends them. Half of all optional values are absent.
type generator struct {
	*rand.Rand
	fill map[reflect.Type]func(*rand.Rand, reflect.Value)
}

// maxDepth limits the depth of recursive types.
const maxDepth = 8

// known generates values of those apimachinery types that have their own encoding.
var known = map[reflect.Type]func(g generator) any{
	reflect.TypeFor[metav1.Time](): func(g generator) any { return metav1.Unix(1_700_000_000+int64(g.IntN(1e6)), 0) },
	reflect.TypeFor[metav1.MicroTime](): func(g generator) any {
		return metav1.NewMicroTime(time.Unix(1_700_000_000, int64(g.IntN(1e6))*1000))
	},
	reflect.TypeFor[metav1.Duration](): func(g generator) any {
		return metav1.Duration{Duration: time.Duration(g.IntN(1e6)) * time.Second}
	},
	reflect.TypeFor[resource.Quantity](): func(g generator) any {
		return resource.MustParse(strconv.Itoa(g.IntN(2000)) + "m")
	},
	reflect.TypeFor[intstr.IntOrString](): func(g generator) any {
		return []intstr.IntOrString{intstr.FromInt32(g.Int32()), intstr.FromString(g.word())}[g.IntN(2)]
	},
	reflect.TypeFor[runtime.RawExtension](): func(g generator) any {
		return runtime.RawExtension{Raw: []byte(`{"number":` + strconv.Itoa(g.IntN(100)) + `}`)}
	},
	reflect.TypeFor[metav1.TypeMeta](): func(generator) any { return metav1.TypeMeta{} }, // conversions set it
	reflect.TypeFor[metav1.ObjectMeta](): func(g generator) any {
		return metav1.ObjectMeta{Name: "a" + g.word(), Namespace: g.word(), Labels: g.words(), Annotations: g.words()}
	},
}

func (g generator) word() string {
	word := make([]rune, g.IntN(6))
	for i := range word {
		word[i] = []rune("abcdefghijklmnopqrstuvwxyz0123456789-. äß\"\\<&")[g.IntN(45)]
	}
	return string(word)
}

func (g generator) words() map[string]string {
	words := map[string]string{}
	for range g.IntN(3) {
		words["k"+g.word()] = g.word()
	}
	return words
}

// value fills v, which must be addressable and zero.
func (g generator) value(v reflect.Value, depth int) {
	t := v.Type()
	if fill, ok := g.fill[t]; ok {
		fill(g.Rand, v)
		return
	}
	if newValue, ok := known[t]; ok {
		v.Set(reflect.ValueOf(newValue(g)))
		return
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		g.raw(v)
		return
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(g.word())
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(g.IntN(200)) - 100)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(g.IntN(100)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(g.IntN(100)) / 4)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			v.Set(reflect.ValueOf(g.word()))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				g.value(v.Field(i), depth)
			}
		}
	default:
		if depth < maxDepth && g.IntN(2) == 0 {
			g.container(v, depth+1)
		}
	}
}

func (g generator) container(v reflect.Value, depth int) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		g.value(v.Elem(), depth)
	case reflect.Slice:
		n := 1 + g.IntN(3)
		v.Set(reflect.MakeSlice(t, n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			g.value(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		for range 1 + g.IntN(2) {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			g.value(key, depth)
			g.value(value, depth)
			v.SetMapIndex(key, value)
		}
	}
}

// raw fills a type that holds arbitrary JSON. Other types with their own decoding require [Fill].
func (g generator) raw(v reflect.Value) {
	if v.Kind() == reflect.Struct {
		if field := v.FieldByName("Raw"); field.IsValid() && field.CanSet() && field.Type() == reflect.TypeFor[[]byte]() {
			field.SetBytes([]byte(`{"number":` + strconv.Itoa(g.IntN(100)) + `}`))
		}
	}
}

// maxShrinks limits the attempts to shrink a counterexample.
const maxShrinks = 5000

// shrink returns an object that fails and that passes if any part of it is removed.
func shrink(obj object.Object, fails func(object.Object) bool) object.Object {
	attempts := 0
	for smaller := true; smaller; {
		smaller = false
		copied := obj.DeepCopyObject().(object.Object)
		visit(reflect.ValueOf(copied).Elem(), func(do, undo func()) {
			if attempts == maxShrinks {
				return
			}
			attempts++
			do()
			if fails(copied) {
				smaller = true
			} else {
				undo()
			}
		})
		obj = copied
	}
	return obj
}

// attempt applies do to shrink an object; undo restores it.
type attempt func(do, undo func())

// visit tries smaller values for all parts of v, beginning with large parts.
func visit(v reflect.Value, try attempt) {
	if !v.CanSet() {
		return
	}
	if !v.IsZero() {
		replace(v, reflect.Zero(v.Type()), try)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Elem(), try)
		}
	case reflect.Struct:
		if _, whole := known[v.Type()]; whole && v.Type() != reflect.TypeFor[metav1.ObjectMeta]() {
			return
		}
		for i := range v.NumField() {
			visit(v.Field(i), try)
		}
	case reflect.Slice:
		for i := v.Len() - 1; i >= 0; i-- {
			less := reflect.MakeSlice(v.Type(), 0, v.Len())
			replace(v, reflect.AppendSlice(reflect.AppendSlice(less, v.Slice(0, i)), v.Slice(i+1, v.Len())), try)
		}
		for i := range v.Len() {
			visit(v.Index(i), try)
		}
	case reflect.Map:
		visitMap(v, try)
	case reflect.String:
		if v.Len() > 1 {
			replace(v, reflect.ValueOf("a").Convert(v.Type()), try)
		}
	}
}

// replace tries less instead of v.
func replace(v, less reflect.Value, try attempt) {
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	try(func() { v.Set(less) }, func() { v.Set(before) })
}

func visitMap(v reflect.Value, try attempt) {
	for _, key := range v.MapKeys() {
		before := v.MapIndex(key)
		try(func() { v.SetMapIndex(key, reflect.Value{}) }, func() { v.SetMapIndex(key, before) })
	}
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem() // elements of a map cannot be set
		value.Set(v.MapIndex(key))
		visit(value, func(do, undo func()) {
			try(func() { do(); v.SetMapIndex(key, value) }, func() { undo(); v.SetMapIndex(key, value) })
		})
	}
}
