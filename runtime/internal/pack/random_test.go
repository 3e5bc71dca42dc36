package pack_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// prototypes returns an object of each type that the tests pack.
func prototypes() []object.Object {
	return []object.Object{
		&corev1.Pod{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Node{},
		&corev1.PersistentVolumeClaim{},
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.CronJob{}, &networkingv1.Ingress{},
		&rbacv1.Role{}, &metav1.PartialObjectMetadata{}, &gadget{}, &unstructured.Unstructured{},
	}
}

// gadget is a kind that has a field of each form that occurs in Go types of APIs.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	common            `json:",inline"`
	*Pointed          `json:",inline"`

	Small     int8                                      `json:"small"`
	Unsigned  uint16                                    `json:"unsigned"`
	Ratio     float64                                   `json:"ratio"`
	Short     float32                                   `json:"short"`
	Data      []byte                                    `json:"data,omitempty"`
	Blobs     map[string][]byte                         `json:"blobs,omitempty"`
	Limits    map[corev1.ResourceName]resource.Quantity `json:"limits,omitempty"`
	ByNumber  map[int32]string                          `json:"byNumber,omitempty"`
	Any       any                                       `json:"any,omitempty"`
	Anything  []any                                     `json:"anything,omitempty"`
	Extension runtime.RawExtension                      `json:"extension,omitempty"`
	Port      *intstr.IntOrString                       `json:"port,omitempty"`
	Every     metav1.Duration                           `json:"every,omitempty"`
	At        *metav1.Time                              `json:"at,omitempty"`
	Times     map[string]metav1.Time                    `json:"times,omitempty"`
	Exactly   metav1.MicroTime                          `json:"exactly,omitempty"`
	Pointers  []*corev1.EnvVar                          `json:"pointers,omitempty"`
	Lists     [][]string                                `json:"lists,omitempty"`
	Fixed     [2]int                                    `json:"fixed"`
	Self      *gadget                                   `json:"self,omitempty"`
	Own       ownJSON                                   `json:"own"`
	OwnBy     map[string]ownJSON                        `json:"ownBy,omitempty"`
	Empty     struct{}                                  `json:"empty"`
	Notify    chan int                                  `json:"-"`
	Deep      **string                                  `json:"deep,omitempty"`
}

type (
	common struct {
		Shared string `json:"shared,omitempty"`
	}
	// Pointed is embedded as a pointer.
	Pointed struct {
		Pointed string `json:"pointed,omitempty"`
	}
	// ownJSON has an unexported field that only its own JSON methods can read.
	ownJSON struct{ text string }
)

func (o ownJSON) MarshalJSON() ([]byte, error) { return json.Marshal(o.text) }

func (o *ownJSON) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.text) }

func (g *gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

// filler fills values at random with what decoders produce.
type filler struct{ *rand.Rand }

func random(prototype object.Object, seed uint64) object.Object {
	f := filler{rand.New(rand.NewPCG(seed, 1))}
	if _, ok := prototype.(*unstructured.Unstructured); ok {
		u := &unstructured.Unstructured{Object: f.untypedMap(4)}
		if seed%4 > 0 {
			u.Object["metadata"] = f.untypedMap(2)
			u.SetNamespace(f.text())
			u.SetName(f.text())
			u.SetUID(types.UID(f.text()))
			u.SetResourceVersion(f.text())
		}
		return u
	}
	v := reflect.New(reflect.TypeOf(prototype).Elem())
	f.fill(v.Elem(), 0)
	return v.Interface().(object.Object)
}

func (f filler) text() string {
	all := []string{
		"", "a", "default", "app.kubernetes.io/name", "Ready", "0", "7", "007", "123456789012345678", "1234567890123456789",
		"-1",
		"0b8f2a1e-6c1d-4f43-9d43-3a5d1f6f8a00", "0B8F2A1E-6C1D-4F43-9D43-3A5D1F6F8A00", "deadbeefdeadbeefdeadbeef",
		"deadbeefdeadbeefdeadbee",
		"a long text of which there is more than what is kept in the table of those that repeat", "\xff\x00é",
	}
	if f.IntN(2) == 0 {
		return all[f.IntN(len(all))]
	}
	b := make([]byte, f.IntN(20))
	for i := range b {
		b[i] = byte('a' + f.IntN(26))
	}
	return string(b)
}

// quantityTexts contains quantities in many notations.
var quantityTexts = []string{
	"0", "1", "100m", "1000m", "1500m", "1Gi", "1024Mi", "1e3", "1.5", "0.1Gi", "9223372036854775807",
	"9223372036854775808", "3.14159n", "12E",
	"-5", "+5", "1.000", "123456789012345678901234567890", "0.000000001m", "5Ki", "1E3", "00100",
	"1.23456789012345678901e-300", "1e-20",
	"5e-9", "7E", "1.5Ki", "8Mi", "1e299", "1e300", "1e999999", "-1.5Gi", "0.5", ".5", "5.", "1n", "999999999999999999",
	"1Ei", "16Ei",
}

// quantity returns a quantity in the canonical notation that servers send.
func (f filler) quantity() resource.Quantity {
	made := resource.MustParse(quantityTexts[f.IntN(len(quantityTexts))])
	if f.IntN(4) == 0 {
		made = *resource.NewMilliQuantity(f.Int64N(1e6), resource.BinarySI)
	}
	return resource.MustParse(made.String())
}

func (f filler) time() time.Time {
	switch t := time.Unix(f.Int64N(4e9)-1e9, f.Int64N(2)*f.Int64N(1e9)); f.IntN(5) {
	case 0:
		return t.UTC()
	case 1:
		return time.Time{}
	case 2:
		return time.Time{}.Local()
	default:
		return t
	}
}

func (f filler) untyped(depth int) any {
	switch f.IntN(9) {
	case 0:
		return nil
	case 1:
		return f.IntN(2) == 0
	case 2:
		return f.Int64() - f.Int64()
	case 3:
		return f.NormFloat64()
	case 4, 5:
		if depth > 0 {
			return f.untypedMap(depth - 1)
		}
	case 6:
		if depth > 0 {
			list := make([]any, f.IntN(4))
			for i := range list {
				list[i] = f.untyped(depth - 1)
			}
			return list
		}
	case 7:
		return [](any){map[string]any(nil), []any(nil)}[f.IntN(2)]
	}
	return f.text()
}

func (f filler) untypedMap(depth int) map[string]any {
	m := make(map[string]any)
	for range f.IntN(6) {
		m[f.text()] = f.untyped(depth)
	}
	return m
}

// fill sets v, which is at the given depth below the object.
func (f filler) fill(v reflect.Value, depth int) {
	if !v.CanSet() && v.Kind() != reflect.Struct || depth > 0 && f.IntN(4) == 0 {
		return
	}
	var addr any
	if v.Addr().CanInterface() {
		addr = v.Addr().Interface()
	}
	switch into := addr.(type) {
	case *time.Time:
		*into = f.time()
		return
	case *resource.Quantity:
		*into = f.quantity()
		return
	case *ownJSON:
		into.text = strings.ToValidUTF8(f.text(), "")
		return
	case *metav1.TypeMeta:
		return
	case *intstr.IntOrString:
		*into = intstr.Parse(strings.ToValidUTF8(f.text(), ""))
		return
	case *metav1.FieldsV1:
		if err := into.UnmarshalJSON([]byte(`{"f:a":{}}`)); err != nil {
			panic(err)
		}
		return
	case *runtime.RawExtension:
		into.Raw = []byte(`{"a":1}`)
		return
	}
	few := f.IntN(4)
	if depth > 6 {
		few = 0
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.Int64() >> (64 - f.IntN(v.Type().Bits())) * int64(1-2*f.IntN(2)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Uint64() >> (64 - f.IntN(v.Type().Bits())))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.NormFloat64())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if depth <= 6 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), few, few))
		for i := range few {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range few {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(elem, depth+1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Interface:
		if v.NumMethod() > 0 {
			return
		}
		if value := f.untyped(3); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	}
}
