package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// codec decodes data with apimachinery's JSON decoder.
func codec(data []byte, into any) error { return utiljson.Unmarshal(data, into) }

// decodeObject returns the object in data.
func decodeObject(d *Decoder[object.Object], data []byte) (object.Object, error) {
	c := d.cursor()
	defer d.release(c)
	c.reset(data, 0, true)
	if b, err := c.peek(); err != nil || b != '{' {
		return nil, errors.New("no object")
	}
	obj, err := d.object(c)
	if err == nil {
		err = c.end()
	}
	return obj, err
}

// compare decodes data with d and with the codec, and compares the objects.
func compare(t *testing.T, d *Decoder[object.Object], prototype object.Object, data []byte) {
	t.Helper()
	got, err := decodeObject(d, data)
	want := reflect.New(reflect.TypeOf(prototype).Elem()).Interface().(object.Object)
	wantErr := codec(data, want)
	if untyped, ok := want.(*unstructured.Unstructured); ok {
		wantErr = codec(data, &untyped.Object) // the codec checks the kind only later
	}
	if trimmed := strings.TrimLeft(string(data), " \t\r\n"); !strings.HasPrefix(trimmed, "{") {
		wantErr = errors.New("no object")
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%T from %.300q:\ngot  %v\nwant %v", prototype, data, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%T from %.2000q:\ngot  %s\nwant %s", prototype, data, text(got), text(want))
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}

func TestRandomObjectsAreDecodedAsByTheCodec(t *testing.T) {
	for _, prototype := range prototypes() {
		d := decoderOf(t, prototype, Options{KeepManagedFields: true})
		untyped := decoderOf(t, untypedPrototype(), Options{KeepManagedFields: true})
		for seed := range uint64(10) {
			data, err := json.Marshal(random(prototype, seed))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, d, prototype, data)
			compare(t, untyped, untypedPrototype(), data)
			pretty, err := json.MarshalIndent(random(prototype, seed), "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, d, prototype, pretty)
		}
	}
}

// gadgets contains objects, most of which a server would not write.
var gadgets = []string{
	`{}`, ` { } `, `{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"a","labels":{"a":"b","c":null}}}`,
	`{"KIND":"x","Spec":{"Color":"no"},"spec":{"COLOR":"no","color":"yes","NoTag":"t","notag":"n","Hidden":"h","-":"d"}}`,
	`{"spec":{"on":true,"odd":{"shared":"s","pointed":"p","quoted":"7"},"fixed":[1,2,3]}}`,
	`{"spec":null,"status":null,"metadata":null}`,
	`{"spec":{"replicas":null,"items":null,"limits":null,"any":null,"port":null,"at":null,"every":null,"data":null,"extension":null}}`,
	`{"spec":{"replicas":1},"spec":{"replicas":2,"small":3}}`,
	`{"metadata":{"labels":{"a":"1"}},"metadata":{"labels":{"b":"2"}}}`,
	`{"status":{"plain":{"ints":[1,2,3],"ints":[4]}}}`,
	`{"status":{"conditions":[{"type":"A","status":"True"},{"type":"B"}],"conditions":[{"reason":"R"}]}}`,
	`{"status":{"plain":{"item":{"name":"a","weight":1},"item":{"name":"b"}}}}`,
	`{"status":{"plain":{"map":{"a":{"b":1}},"map":{"a":{"c":2}}}}}`,
	`{"status":{"plain":{"ints":[],"sizes":[1,null,2]}}}`,
	`{"status":{"plain":{"any":1e3}}}`, `{"status":{"plain":{"any":-0}}}`, `{"status":{"plain":{"any":1.0}}}`,
	`{"status":{"plain":{"any":9223372036854775807,"map":{"a":9223372036854775808,"b":-9223372036854775809}}}}`,
	`{"status":{"plain":{"any":1e400}}}`, `{"status":{"plain":{"ints":[1e2]}}}`, `{"status":{"plain":{"ints":[1.5]}}}`,
	`{"status":{"plain":{"ints":[9223372036854775808]}}}`, `{"status":{"plain":{"ints":[-9223372036854775808]}}}`,
	`{"spec":{"small":128}}`, `{"spec":{"small":-128,"unsigned":65535}}`, `{"spec":{"unsigned":-1}}`,
	`{"spec":{"short":1e39}}`,
	`{"spec":{"ratio":"1"}}`, `{"spec":{"on":"true"}}`, `{"spec":{"on":1}}`, `{"spec":{"color":1}}`,
	`{"spec":{"items":{}}}`,
	`{"spec":{"data":"aGk="}}`, `{"spec":{"data":"aGk"}}`, `{"spec":{"data":"a\u0047k="}}`, `{"spec":{"data":[104,105]}}`,
	`{"spec":{"data":""}}`,
	`{"spec":{"data":"aG\nk="}}`, `{"spec":{"data":"aG\\nk="}}`,
	`{"spec":{"at":"2026-01-02T03:04:05Z","exactly":"2026-01-02T03:04:05.000006Z","every":"1h"}}`,
	`{"spec":{"at":"2026-01-02T03:04:05.5+02:00"}}`, `{"spec":{"at":"2026-01-02"}}`, `{"spec":{"at":""}}`,
	`{"spec":{"at":7}}`,
	`{"spec":{"at":"2026-01-02T3:04:05Z"}}`, `{"spec":{"at":"2026-01-02T03:04:05,5Z"}}`,
	`{"spec":{"at":"\u0032026-01-02T03:04:05Z"}}`,
	`{"spec":{"port":"http","portOrNil":80}}`, `{"spec":{"port":1.5}}`, `{"spec":{"port":2147483648}}`,
	`{"spec":{"limits":{"cpu":"100m","memory":1}}}`, `{"spec":{"limits":{"cpu":"x"}}}`,
	`{"spec":{"byNumber":{"1":"a"},"lists":[["a"],[],null],"deep":"d","self":{"self":{"color":"c"}}}}`,
	`{"spec":{"itemsOf":{"a":{"name":"x"},"a":{"weight":2}},"pointers":[{"name":"a"},null]}}`,
	`{"spec":{"extension":{"a": [1, 2 ]},"extras":[null,{},"s",1]}}`,
	`{"metadata":{"managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}],"generation":"1"}}`,
	"{\"metadata\":{\"name\":\"\xff\xfe\",\"\xff\":1}}",
	`{"metadata":{"name":"\ud800","uid":"\ud83d\ude00","namespace":"\udc00\ud800x"}}`,
	`{"metadata":{"name":"\u00e9\n\/\b\f\r\t\"\\"}}`, `{"metadata":{"name":"\x"}}`, `{"metadata":{"name":"\u00g0"}}`,
	`{"metadata":{"name":"\'"}}`,
	"{\"metadata\":{\"name\":\"a\x01\"}}", "{\"metadata\":{\"name\":\"a\x7f\"}}", "{\"a\x00\":1}",
	"{\"metadata\":{\"name\":\"tab\there\"}}",
	`{"\u006betadata":{},"\u006dedata":1,"metadat\u0061":{"name":"escaped"}}`,
	`{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":+1}`, `{"a":0x1}`, `{"a":1_0}`, `{"a":NaN}`,
	`{"a":-0.0e-0}`,
	`{"a":tru}`, `{"a":nulll}`, `{"a":falsey}`, `{"a":True}`, `{'a':1}`, `{a:1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`,
	`{"a" 1}`, `{"a":1 "b":2}`,
	`{"a":[1,]}`, `{"a":[,]}`, `{"a":[1 2]}`, `{"a":[}`, `{"a":{]}`, `{"a":"}`, `{`, `{"`, `{"a`, `{"a":`, `{"a":1`,
	`{"a":"b"`, `{"a":"\`, `{"a":"\u12`, `{"a":t`,
	`{} x`, `{}{}`, `{}]`, ` `, ``, `null`, `[]`, `1`, `"a"`, `tru`, "\ufeff{}", "{}\x00", "{\"a\":1}\n\n",
}

func TestOddObjectsAreDecodedAsByTheCodec(t *testing.T) {
	for _, prototype := range append(prototypes(), untypedPrototype()) {
		d := decoderOf(t, prototype, Options{KeepManagedFields: true})
		for _, data := range gadgets {
			compare(t, d, prototype, []byte(data))
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, prototype := range append(prototypes(), untypedPrototype()) {
		d := decoderOf(t, prototype, Options{KeepManagedFields: true})
		for _, levels := range []int{maxDepth - 1, maxDepth, 4 * maxDepth} {
			for _, open := range []string{`[`, `{"a":`} {
				shut := map[string]string{`[`: `]`, `{"a":`: `}`}[open]
				deep := strings.Repeat(open, levels-1) + "1" + strings.Repeat(shut, levels-1)
				compare(t, d, prototype, []byte(`{"unknown":`+deep+`}`))
				compare(t, d, prototype, []byte(`{"status":{"plain":{"any":`+strings.Repeat(open, levels-3)+"1"+strings.Repeat(shut,
					levels-3)+`}}}`))
			}
		}
	}
}

func TestRecursionOfATypeIsBounded(t *testing.T) {
	d := decoderOf(t, &gadget{}, Options{})
	for _, levels := range []int{maxDepth - 5, maxDepth} {
		deep := `{"status":{"plain":{"item":` + strings.Repeat(`{"sub":[`, levels/2) + strings.Repeat(`]}`, levels/2) + `}}}`
		compare(t, d, &gadget{}, []byte(deep))
	}
}

// FuzzTyped decodes arbitrary bytes into each type. The result must equal the codec's, and the decoder must fail in
// exactly the cases in which the codec fails.
func FuzzTyped(f *testing.F) {
	all := prototypes()
	decoders := make([]*Decoder[object.Object], len(all))
	for i, prototype := range all {
		decoders[i] = decoderOf(f, prototype, Options{KeepManagedFields: true})
		data, err := json.Marshal(random(prototype, 1))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
	}
	for i, data := range gadgets {
		f.Add(uint8(i), []byte(data))
		f.Add(uint8(4), []byte(data)) // the type that has all the fields
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		i := int(which) % len(all)
		compare(t, decoders[i], all[i], data)
	})
}

// FuzzUntyped compares the values of unstructured objects with the codec's.
func FuzzUntyped(f *testing.F) {
	for _, data := range gadgets {
		f.Add([]byte(data))
	}
	d := decoderOf(f, untypedPrototype(), Options{KeepManagedFields: true})
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, d, untypedPrototype(), data) })
}

func TestSlicesHaveNoSpareCapacity(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	c := d.cursor()
	for n := range 40 {
		args := strings.TrimSuffix(strings.Repeat(`"a",`, n), ",")
		containers := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"args":[%s]},`, args), 3), ",")
		c.reset([]byte(`{"spec":{"containers":[`+containers+`]}}`), 0, true)
		obj, err := d.object(c)
		pod, _ := obj.(*corev1.Pod)
		if err != nil || len(pod.Spec.Containers) != 3 || cap(pod.Spec.Containers) != 3 {
			t.Fatalf("got %v of %d, %v", pod, cap(pod.Spec.Containers), err)
		}
		for _, container := range pod.Spec.Containers {
			want := cap(append([]string(nil), make([]string, n)...)) // the capacity that Go allocates for n elements at once
			if len(container.Args) != n || cap(container.Args) > want {
				t.Errorf("%d elements have room for %d, want %d", n, cap(container.Args), want)
			}
		}
	}
}

func TestElementsThatFailedAreNotLeftToOthers(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	c := d.cursor()
	c.reset([]byte(`{"spec":{"containers":[{"name":"a","image":"i"},{"name":7}]}}`), 0, true)
	if _, err := d.object(c); err == nil {
		t.Fatal("a name that is a number was decoded")
	}
	c.reset([]byte(`{"spec":{"containers":[{},{}]}}`), 0, true)
	obj, err := d.object(c)
	pod, _ := obj.(*corev1.Pod)
	if err != nil || len(pod.Spec.Containers) != 2 || pod.Spec.Containers[0].Name != "" ||
		pod.Spec.Containers[0].Image != "" {
		t.Errorf("got %v, %v", pod, err)
	}
}

// TestBuffersOfFullSizeAreUsedAgain measures allocated bytes, because under the race detector the pool drops every
// fourth buffer.
func TestBuffersOfFullSizeAreUsedAgain(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	text := strings.Repeat(" ", 4*fullBuffer)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	const bodies = 50
	for range bodies {
		s := d.source(strings.NewReader(text))
		for s.fill() == nil {
			s.start = s.end
		}
		s.close()
	}
	goruntime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / bodies; n > 3*fullBuffer/4 {
		t.Errorf("%d bytes are allocated for each body", n)
	}
}

func same(a, b string) bool { return a == b && unsafe.StringData(a) == unsafe.StringData(b) }

func TestStringsThatRepeatAreAllocatedOnce(t *testing.T) {
	d := decoderOf(t, &corev1.Pod{}, Options{})
	var pods [2]*corev1.Pod
	for i := range pods {
		data := fmt.Sprintf(`{"metadata":{"name":"pod-%d","namespace":"team","labels":{"app":"shop"}}}`, i)
		obj, err := decodeObject(d, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		pods[i] = obj.(*corev1.Pod)
	}
	if !same(pods[0].Namespace, pods[1].Namespace) || !same(pods[0].Labels["app"], pods[1].Labels["app"]) {
		t.Error("strings are there twice")
	}
}

func TestTableOfStringsIsBounded(t *testing.T) {
	var table interner
	for i := range 10 * maxStrings {
		text := fmt.Sprint("text ", i)
		if got := table.text([]byte(text)); got != text {
			t.Fatalf("got %q", got)
		}
		if got := table.boxed([]byte(text)); got != text {
			t.Fatalf("got %q", got)
		}
		if len(table.texts) > maxStrings || len(table.boxes) > maxStrings {
			t.Fatalf("there are %d and %d", len(table.texts), len(table.boxes))
		}
	}
	long := make([]byte, internLongest+1)
	if same(table.text(long), table.text(long)) {
		t.Error("a long string is kept")
	}
}

// unnamed is a kind with anonymous structs, which get the methods of the types that they embed. The codec calls these
// methods only for pointers to such structs.
type unnamed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Plain struct {
		Spelled
		More int `json:"more"`
	} `json:"plain"`
	Pointer *struct {
		Spelled
		More int `json:"more"`
	} `json:"pointer"`
	Twice **struct{ Spelled } `json:"twice"`
	Text  struct {
		Lettered
		More int `json:"more"`
	} `json:"text"`
	TextPointer *struct{ Lettered }            `json:"textPointer"`
	List        []struct{ Spelled }            `json:"list"`
	Pointers    []*struct{ Spelled }           `json:"pointers"`
	Array       [2]struct{ Spelled }           `json:"array"`
	Map         map[string]struct{ Spelled }   `json:"map"`
	PointersOf  map[string]*struct{ Lettered } `json:"pointersOf"`
	Odd         struct {
		*Pointed
		Spelled
		Quoted int `json:"quoted,string"`
	} `json:"odd"`
	OddPointer *struct {
		*Pointed
		Spelled
	} `json:"oddPointer"`
	Deep struct{ In struct{ Spelled } } `json:"deep"`
}

func (u *unnamed) DeepCopyObject() runtime.Object { c := *u; return &c }

// Spelled has its own JSON decoder.
type Spelled struct {
	Word string `json:"word"`
	By   string `json:"-"`
}

// UnmarshalJSON accepts every value except true.
func (s *Spelled) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		return errors.New("true is no word")
	}
	s.By = "itself: " + string(data)
	return nil
}

// Lettered has its own text decoder.
type Lettered struct {
	Word string `json:"word"`
	By   string `json:"-"`
}

// UnmarshalText accepts every text.
func (l *Lettered) UnmarshalText(data []byte) error {
	l.By = "itself: " + string(data)
	return nil
}

func TestStructsWithoutANameAreDecodedAsByTheCodec(t *testing.T) {
	d := decoderOf(t, &unnamed{}, Options{KeepManagedFields: true})
	values := []string{`{"word":"a"}`, `{"word":"a","more":3,"By":"x","WORD":"b"}`, `{}`, `null`, `true`, `7`, `"text"`,
		`[]`, `[{"word":"a"}]`,
		`[null,{"word":"b","quoted":"7"}]`, `{"a":{"word":"a"},"b":null}`, `{"pointed":"p","quoted":"7","word":"w"}`,
		`{"In":{"word":"w"}}`, `{"word":7}`, `{"word":`}
	names := []string{"plain", "pointer", "twice", "text", "textPointer", "list", "pointers", "array", "map", "pointersOf",
		"odd", "oddPointer", "deep"}
	for _, name := range names {
		for _, value := range values {
			compare(t, d, &unnamed{}, []byte(`{"`+name+`":`+value+`}`))
			for _, again := range values {
				compare(t, d, &unnamed{}, []byte(`{"`+name+`":`+value+`,"`+name+`":`+again+`}`))
			}
		}
	}
}

func TestMaskDoesNotReachIntoWhatDecodesItself(t *testing.T) {
	for path, ok := range map[string]bool{"plain.more": true, "deep.In.word": true, "list.word": true,
		"pointer.more": false, "odd.word": false, "twice.word": false} {
		if _, err := NewDecoder(&unnamed{}, Options{Mask: []string{path}}); (err == nil) != ok {
			t.Errorf("%s: got %v", path, err)
		}
	}
	var _ json.Unmarshaler = &struct{ Spelled }{}
}

// TestOddBytesAreFoundWhereTheyAre compares the search in words with a loop over their bytes.
func TestOddBytesAreFoundWhereTheyAre(t *testing.T) {
	for at := range 8 {
		for b := range 256 {
			for _, rest := range []byte{' ', 'a', 0x7f, '!', '#', '[', ']'} {
				data := bytes.Repeat([]byte{rest}, 8)
				data[at] = byte(b)
				odd := b < ' ' || b == '"' || b == '\\' || b >= 0x80
				found := oddBytes(word(data, 0))
				if (found != 0) != odd || odd && bits.TrailingZeros64(found)/8 != at {
					t.Fatalf("%q: got %x", data, found)
				}
			}
		}
	}
}
