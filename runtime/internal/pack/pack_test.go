package pack_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// unexported makes cmp compare unexported fields.
var unexported = cmp.Exporter(func(reflect.Type) bool { return true })

func packerOf(t testing.TB, prototype object.Object) *pack.Packer[object.Object] {
	t.Helper()
	p, err := pack.New(prototype)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUnpackedObjectEqualsTheOriginal(t *testing.T) {
	eachObject(t, 100, func(t *testing.T, prototype object.Object, p *pack.Packer[object.Object], n uint64) {
		obj, same := random(prototype, n), random(prototype, n)
		packed, err := p.Pack(obj)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(obj, same) {
			t.Fatalf("%T %d was modified", prototype, n)
		}
		got, err := p.Unpack(packed)
		if err != nil {
			t.Fatalf("%T %d: %v", prototype, n, err)
		}
		if !reflect.DeepEqual(got, obj) {
			t.Fatalf("%T %d: %s", prototype, n, cmp.Diff(obj, got, unexported))
		}
		if key := p.Key(packed); key != object.KeyOf(obj) {
			t.Errorf("key %q, want %q", key, object.KeyOf(obj))
		}
		checkLabels(t, p, packed, obj.GetLabels())
	})
}

// checkLabels compares the labels that are read from the packed object with want.
func checkLabels(t *testing.T, p *pack.Packer[object.Object], packed pack.Packed, want map[string]string) {
	t.Helper()
	var got pack.Labels
	p.LabelsOf(packed, &got)
	for key, value := range want {
		if in, has := got.Lookup(key); !has || in != value || !got.Has(key) || got.Get(key) != value {
			t.Errorf("label %q is %q, %v, want %q", key, in, has, value)
		}
	}
	if got.Has("no such label") || got.Get("no such label") != "" {
		t.Error("it has a label that the object has not")
	}
}

// eachObject calls property with count random objects of each prototype per seed.
func eachObject(t *testing.T, count uint64, property func(*testing.T, object.Object, *pack.Packer[object.Object],
	uint64)) {
	t.Helper()
	seeds.Each(t, 1, func(t *testing.T, seed uint64) {
		for _, prototype := range prototypes() {
			p := packerOf(t, prototype)
			for n := range count {
				property(t, prototype, p, seed*count+n)
			}
		}
	})
}

func TestDecodedObjectsStayWhatTheyAre(t *testing.T) {
	eachObject(t, 40, func(t *testing.T, prototype object.Object, p *pack.Packer[object.Object], n uint64) {
		data, err := json.Marshal(random(prototype, n))
		if err != nil {
			t.Fatal(err)
		}
		decoded := reflect.New(reflect.TypeOf(prototype).Elem()).Interface().(object.Object)
		var into any = decoded
		if u, ok := decoded.(*unstructured.Unstructured); ok {
			into = &u.Object
		}
		if err := utiljson.Unmarshal(data, into); err != nil {
			return // a string is not valid UTF-8
		}
		packed, err := p.Pack(decoded)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Unpack(packed); err != nil || !reflect.DeepEqual(got, decoded) {
			t.Fatalf("%T %d: %v\n%s", prototype, n, err, cmp.Diff(decoded, got, unexported))
		}
	})
}

func TestObjectsStaySmallWhateverStringsRepeat(t *testing.T) {
	p := packerOf(t, &corev1.ConfigMap{})
	for i := range 20_000 {
		o := &corev1.ConfigMap{Data: map[string]string{"the key of all": "the value of all",
			fmt.Sprint("key of ", i/4): fmt.Sprint("value of ", i)}}
		packed, err := p.Pack(o)
		if err != nil {
			t.Fatal(err)
		}
		if i > 100 && len(packed) > 50 {
			t.Fatalf("object %d is packed in %d bytes", i, len(packed))
		}
		if got, err := p.Unpack(packed); err != nil || !reflect.DeepEqual(got, object.Object(o)) {
			t.Fatalf("got %v, %v", got, err)
		}
	}
}

// TestQuantityStaysAsItIsPrinted packs quantities that servers do not write, and quantities after arithmetic or
// formatting. Their value and their notation must not change.
func TestQuantityStaysAsItIsPrinted(t *testing.T) {
	type quantities map[string]resource.Quantity
	p := packerOf(t, &kind[quantities]{})
	have := quantities{"zero": {}, "made": *resource.NewScaledQuantity(15, 4), "milli": *resource.NewMilliQuantity(2500,
		resource.BinarySI)}
	for _, text := range quantityTexts {
		q := resource.MustParse(text)
		have[text] = q
		_ = q.String()
		have[text+" printed"] = q
	}
	packed, err := p.Pack(&kind[quantities]{Field: have})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range have {
		q := got.(*kind[quantities]).Field[name]
		if q.Cmp(want) != 0 || q.String() != want.String() {
			t.Errorf("%s: %s became %s", name, want.String(), q.String())
		}
	}
}

// TestQuantityThatWouldTakeLongIsRefused checks that Unpack rejects exponents whose value would not fit into memory.
func TestQuantityThatWouldTakeLongIsRefused(t *testing.T) {
	p := packerOf(t, &kind[resource.Quantity]{})
	packed, err := p.Pack(&kind[resource.Quantity]{Field: resource.MustParse("1234567890123456789e100")})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Index(string(packed), "e99")
	if text < 0 {
		t.Fatalf("the text is not in %q", packed)
	}
	hostile := string(packed[:text]) + "e2147483000" + string(packed[text+len("e99"):])

	if got, err := p.Unpack(pack.Packed(hostile)); err == nil {
		t.Errorf("got %v", got)
	}
}

func TestStatesAreComparedWithoutUnpacking(t *testing.T) {
	for _, prototype := range []object.Object{&corev1.Pod{}, &unstructured.Unstructured{Object: map[string]any{}}} {
		p := packerOf(t, prototype)
		state := func(uid, version string) pack.Packed {
			o := prototype.DeepCopyObject().(object.Object)
			o.SetName("a")
			o.SetUID(types.UID(uid))
			o.SetResourceVersion(version)
			packed, err := p.Pack(o)
			if err != nil {
				t.Fatal(err)
			}
			return packed
		}
		ids := []string{"", "1", "12", "a", "ab", "0b8f2a1e-6c1d-4f43-9d43-3a5d1f6f8a00",
			"0b8f2a1e-6c1d-4f43-9d43-3a5d1f6f8a01"}
		for _, uid := range ids {
			for _, version := range ids {
				a := state(uid, version)
				for _, otherUID := range ids {
					for _, otherVersion := range ids {
						b := state(otherUID, otherVersion)
						sameObject := uid == otherUID
						same := sameObject && version == otherVersion && version != ""
						if a.SameObject(b) != sameObject || a.SameState(b) != same {
							t.Errorf("%q@%q and %q@%q: %v, %v", uid, version, otherUID, otherVersion, a.SameObject(b), a.SameState(b))
						}
						if a.IsState([]byte(otherUID), []byte(otherVersion)) != same {
							t.Errorf("%q@%q is taken for %q@%q, or not", uid, version, otherUID, otherVersion)
						}
					}
				}
			}
		}
	}
}

// kind is an object with one field of type F.
type kind[F any] struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Field F
}

func (k *kind[F]) DeepCopyObject() runtime.Object { return k }

func TestTypeThatCannotBePackedIsAnErrorThatNamesTheField(t *testing.T) {
	type hidden struct{ Deep []struct{ secret int } }
	for want, prototype := range map[string]object.Object{
		".Field: a chan int cannot be packed":                        &kind[chan int]{},
		".Field[]: a func() cannot be packed":                        &kind[map[string]func()]{},
		".Field: a map by float64 cannot be packed":                  &kind[map[float64]int]{},
		".Field.Deep[].secret: an unexported field cannot be packed": &kind[*hidden]{},
		"the prototype is <nil>, which is not a pointer to a struct": nil,
	} {
		if _, err := pack.New(prototype); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestValueThatNoDecoderMakesIsAnError(t *testing.T) {
	untyped := &unstructured.Unstructured{Object: map[string]any{"a": int32(1)}}
	extension := &kind[runtime.RawExtension]{Field: runtime.RawExtension{Object: &corev1.Pod{}}}
	for _, o := range []object.Object{untyped, extension} {
		p := packerOf(t, o)
		if packed, err := p.Pack(o); err == nil {
			t.Errorf("%T is packed as %q", o, packed)
		}
	}
	if _, err := packerOf(t, untyped).Pack(&corev1.Pod{}); err == nil {
		t.Error("a pod is packed as an unstructured object")
	}
	if _, err := packerOf(t, &corev1.Pod{}).Pack((*corev1.Pod)(nil)); err == nil {
		t.Error("no object is packed")
	}
}
