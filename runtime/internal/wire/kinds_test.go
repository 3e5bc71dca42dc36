package wire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// gadget is a kind of a CRD that has a field of each form that occurs in Go types of APIs.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   gadgetSpec   `json:"spec,omitempty"`
	Status gadgetStatus `json:"status,omitempty"`
}

type gadgetSpec struct {
	Common `json:",inline"`

	Odd       oddSpec                          `json:"odd"`
	Replicas  *int32                           `json:"replicas,omitempty"`
	Small     int8                             `json:"small"`
	Unsigned  uint16                           `json:"unsigned"`
	Ratio     float64                          `json:"ratio"`
	Short     float32                          `json:"short"`
	On        bool                             `json:"on"`
	Data      []byte                           `json:"data,omitempty"`
	Blobs     map[string][]byte                `json:"blobs,omitempty"`
	Limits    map[corev1.ResourceName]quantity `json:"limits,omitempty"`
	ByNumber  map[int]string                   `json:"byNumber,omitempty"`
	Any       any                              `json:"any,omitempty"`
	Anything  []any                            `json:"anything,omitempty"`
	Extension runtime.RawExtension             `json:"extension,omitempty"`
	Extras    []runtime.RawExtension           `json:"extras,omitempty"`
	Port      intstr.IntOrString               `json:"port,omitempty"`
	PortOrNil *intstr.IntOrString              `json:"portOrNil,omitempty"`
	Every     metav1.Duration                  `json:"every,omitempty"`
	At        *metav1.Time                     `json:"at,omitempty"`
	Exactly   metav1.MicroTime                 `json:"exactly,omitempty"`
	Items     []gadgetItem                     `json:"items,omitempty"`
	ItemsOf   map[string]gadgetItem            `json:"itemsOf,omitempty"`
	Pointers  []*gadgetItem                    `json:"pointers,omitempty"`
	Lists     [][]string                       `json:"lists,omitempty"`
	Fixed     [2]int                           `json:"fixed"`
	Self      *gadgetSpec                      `json:"self,omitempty"`
	Named     labels                           `json:"named,omitempty"`
	Version   metav1.GroupVersionKind          `json:"version,omitempty"`
	Hidden    string                           `json:"-"`
	NoTag     string
	Deep      **string `json:"deep,omitempty"`
}

type (
	quantity = resource.Quantity
	labels   map[string]string
	// oddSpec has features that the decoder leaves to the codec.
	oddSpec struct {
		common   `json:",inline"`
		*Pointed `json:",inline"`
		Quoted   int64 `json:"quoted,string,omitempty"`
	}
	common struct {
		Shared string `json:"shared,omitempty"`
	}
	// Common is embedded.
	Common struct {
		Shadowed string   `json:"on"`
		Color    string   `json:"color,omitempty"`
		Sizes    []uint32 `json:"sizes,omitempty"`
	}
	// Pointed is embedded as a pointer.
	Pointed struct {
		Pointed string `json:"pointed,omitempty"`
	}
	gadgetItem struct {
		Name   string       `json:"name"`
		Weight int          `json:"weight,omitempty"`
		Sub    []gadgetItem `json:"sub,omitempty"`
	}
	gadgetStatus struct {
		Phase      string             `json:"phase,omitempty"`
		Conditions []metav1.Condition `json:"conditions,omitempty"`
		Plain      plainGadget        `json:"plain"`
	}
	// plainGadget has only fields that the decoder decodes itself.
	plainGadget struct {
		Common `json:",inline"`
		Item   *gadgetItem    `json:"item"`
		Ints   []int64        `json:"ints"`
		Map    map[string]any `json:"map"`
		Any    any            `json:"any"`
	}
)

func (g *gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

// sealed is a kind with its own decoder.
type sealed struct{ gadget }

func (s *sealed) UnmarshalJSON(data []byte) error { return codec(data, &s.gadget) }

// node is a recursive kind: it contains itself in every form, as the schema of a CRD does.
type node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Title             string          `json:"title,omitempty" protobuf:"bytes,2,opt,name=title"`
	Not               *node           `json:"not,omitempty" protobuf:"bytes,3,opt,name=not"`
	AllOf             []node          `json:"allOf,omitempty" protobuf:"bytes,4,rep,name=allOf"`
	Properties        map[string]node `json:"properties,omitempty" protobuf:"bytes,5,rep,name=properties"`
	Additional        *nodeOrBool     `json:"additional,omitempty" protobuf:"bytes,6,opt,name=additional"`
}

func (n *node) DeepCopyObject() runtime.Object { c := *n; return &c }

func (n *node) Reset() {}

func (n *node) Size() int { return 0 }

func (n *node) Unmarshal([]byte) error { panic("a recursive type is not asked for in protobuf") }

// nodeOrBool has its own decoder, which accepts true, false or a node.
type nodeOrBool struct {
	Allows bool
	Node   *node
}

func (n nodeOrBool) MarshalJSON() ([]byte, error) {
	if n.Node != nil {
		return json.Marshal(n.Node)
	}
	return json.Marshal(n.Allows)
}

func (n *nodeOrBool) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		n.Allows, n.Node = true, &node{}
		return codec(data, n.Node)
	}
	return json.Unmarshal(data, &n.Allows)
}

var gadgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}

// prototypes returns an object of each type that the tests decode.
func prototypes() []object.Object {
	return []object.Object{
		&corev1.Pod{}, &corev1.Secret{}, &appsv1.Deployment{}, &node{},
		&gadget{}, &sealed{}, &metav1.PartialObjectMetadata{},
	}
}

func decoderOf(t testing.TB, prototype object.Object, opts Options) *Decoder[object.Object] {
	t.Helper()
	d, err := NewDecoder(prototype, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// filler fills values from a seed.
type filler struct{ *rand.Rand }

func newFiller(seed uint64) filler { return filler{rand.New(rand.NewPCG(seed, 7))} }

func (f filler) word() string {
	words := []string{"", "a", "app.kubernetes.io/name", "ünïcödé", "with \"quotes\" \\ and\nlines", "\u2028", "<html>&",
		"😀", "\x7f", strings.Repeat("long ", 40)}
	if f.IntN(3) == 0 {
		return fmt.Sprintf("word-%d", f.Uint64())
	}
	return words[f.IntN(len(words))]
}

func (f filler) fill(v reflect.Value, depth int) {
	switch into := v.Addr().Interface().(type) {
	case *metav1.Time:
		*into = metav1.Unix(f.Int64N(4e9), 0)
		return
	case *metav1.MicroTime:
		*into = metav1.NewMicroTime(time.Unix(f.Int64N(4e9), f.Int64N(1e6)*1000))
		return
	case *resource.Quantity:
		*into = *resource.NewMilliQuantity(f.Int64N(1e9), resource.DecimalSI)
		return
	case *intstr.IntOrString:
		*into = intstr.FromInt32(f.Int32())
		if f.IntN(2) == 0 {
			*into = intstr.FromString(f.word())
		}
		return
	case *runtime.RawExtension:
		into.Raw = fmt.Appendf(nil, `{"a":%d}`, f.Int())
		return
	case *metav1.FieldsV1:
		if err := into.UnmarshalJSON([]byte(`{"f:a":{".":{}}}`)); err != nil {
			panic(err)
		}
		return
	case *nodeOrBool:
		into.Allows = f.IntN(2) == 0
		return
	case *any:
		*into = []any{nil, true, f.Int64(), f.Float64() + .5, f.word(), map[string]any{f.word(): int64(1)}}[f.IntN(6)]
		return
	}
	f.fillKind(v, depth)
}

func (f filler) fillKind(v reflect.Value, depth int) {
	few := 0
	if depth < 7 {
		few = f.IntN(4)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.Int64() >> f.IntN(64))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Uint64() >> f.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(f.NormFloat64())))
	case reflect.Pointer:
		if few > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		for range few {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			f.fill(v.Index(v.Len()-1), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		for range few {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(value, depth+1)
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				f.fill(v.Field(i), depth+1)
			}
		}
	}
}

// random returns an object of prototype's type with random contents.
func random(prototype object.Object, seed uint64) object.Object {
	v := reflect.New(reflect.TypeOf(prototype).Elem())
	newFiller(seed).fill(v.Elem(), 0)
	return v.Interface().(object.Object)
}

func untypedPrototype() object.Object { return &unstructured.Unstructured{} }
