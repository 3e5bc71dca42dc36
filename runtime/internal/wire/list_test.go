package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

var (
	podKind = corev1.SchemeGroupVersion.WithKind("Pod")
	podType = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
)

const jsonType = "application/json"

// chunks is a body whose reads return at most size bytes. With size 0, one read returns all bytes and io.EOF.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	n := len(p)
	if c.size > 0 {
		n = min(n, c.size)
	}
	n = copy(p[:n], c.data)
	c.data = c.data[n:]
	if len(c.data) == 0 && (c.size == 0 || n == 0) {
		return n, io.EOF
	}
	return n, nil
}

// podList returns a list of n random pods, as JSON and as an object.
func podList(t testing.TB, n int) ([]byte, *corev1.PodList) {
	list := &corev1.PodList{}
	list.Kind, list.APIVersion = "PodList", "v1"
	list.ResourceVersion, list.Continue = "42", "more"
	for seed := range n {
		pod := random(&corev1.Pod{}, uint64(seed)).(*corev1.Pod)
		pod.TypeMeta, pod.Name = metav1.TypeMeta{}, fmt.Sprint(pod.Name, seed)
		list.Items = append(list.Items, *pod)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	decoded := &corev1.PodList{}
	if err := codec(data, decoded); err != nil {
		t.Fatal(err)
	}
	for i := range decoded.Items {
		decoded.Items[i].TypeMeta = podType
	}
	return data, decoded
}

func TestListsAreDecodedAsByTheCodecHoweverTheyArrive(t *testing.T) {
	data, want := podList(t, 20)
	for _, size := range []int{0, 1, 100, 5000} {
		d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, KeepManagedFields: true})
		page, err := d.List(&chunks{data, size}, jsonType, nil)
		if err != nil || page.ResourceVersion != "42" || page.Continue != "more" || len(page.Items) != len(want.Items) {
			t.Fatalf("got %v, %v", page, err)
		}
		for i, item := range page.Items {
			if !reflect.DeepEqual(item, &want.Items[i]) {
				t.Errorf("item %d:\ngot  %s\nwant %s", i, text(item), text(want.Items[i]))
			}
		}
	}
}

func TestItemsOfAListAreOfItsKind(t *testing.T) {
	body := `{"items":[{"metadata":{"name":"a"}},{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}],"metadata":{"resourceVersion":"1"},"apiVersion":"v1","kind":"PodList","more":[{}]}`
	for form, prototype := range map[string]object.Object{"typed": &corev1.Pod{}, "untyped": untypedPrototype(),
		"metadata": &metav1.PartialObjectMetadata{}} {
		page, err := decoderOf(t, prototype, Options{GVK: podKind}).List(strings.NewReader(body), jsonType, nil)
		if err != nil || len(page.Items) != 2 {
			t.Fatalf("%s: got %v, %v", form, page, err)
		}
		for _, item := range page.Items {
			if got := item.GetObjectKind().GroupVersionKind(); got != podKind {
				t.Errorf("%s: got %v", form, got)
			}
		}
	}
}

func TestListThatCannotBeReadIsAnError(t *testing.T) {
	for want, body := range map[string]string{
		"invalid character 'g'":  `garbage`,
		"unexpected end":         `{"kind":"PodList","items":[{"metadata":{"name":"a"}}`,
		"cannot unmarshal":       `{"kind":"PodList","items":{}}`,
		"cannot unmarshal \"7\"": `{"kind":"PodList","items":[7]}`,
		"item 1 is null":         `{"kind":"PodList","items":[{},null]}`,
		"want the end":           `{"kind":"PodList","items":[]} {}`,
		"twice":                  `{"kind":"PodList","items":[],"items":[]}`,
	} {
		for _, size := range []int{0, 1} {
			_, err := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind}).List(&chunks{[]byte(body), size}, jsonType, nil)
			if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", body, err, want)
			}
		}
	}
}

func TestFailureOfTheBodyIsNoFormError(t *testing.T) {
	failure := errors.New("reset")
	for _, body := range []string{"", `{"kind":"PodList","items":[{"metadata":`,
		`{"kind":"PodList","apiVersion":"v1","items":[]}`} {
		_, err := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind}).List(io.MultiReader(strings.NewReader(body),
			iotest.ErrReader(failure)), jsonType, nil)
		if err != failure {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestItemIsAsLongAsAllowedAndNotLonger(t *testing.T) {
	body := func(size int) io.Reader {
		const name = `{"metadata":{"name":"`
		return io.MultiReader(strings.NewReader(`{"kind":"PodList","items":[`+name),
			strings.NewReader(strings.Repeat("x", size-len(name)-3)), strings.NewReader(`"}}],"apiVersion":"v1"}`))
	}
	d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind})
	if page, err := d.List(body(MaxObject-1), jsonType, nil); err != nil || len(page.Items) != 1 {
		t.Errorf("got %v", err)
	}
	if _, err := d.List(body(MaxObject*2), jsonType, nil); !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestManagedFieldsAreNotBuiltUnlessTheyAreKept(t *testing.T) {
	data, _ := podList(t, 30)
	for _, keep := range []bool{true, false} {
		for _, prototype := range []object.Object{&corev1.Pod{}, untypedPrototype(), &metav1.PartialObjectMetadata{}} {
			page, err := decoderOf(t, prototype, Options{GVK: podKind, KeepManagedFields: keep}).List(bytes.NewReader(data),
				jsonType, nil)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, item := range page.Items {
				found += len(item.GetManagedFields())
			}
			if (found > 0) != keep {
				t.Errorf("%T, keep %v: there are %d", prototype, keep, found)
			}
		}
	}
	d := decoderOf(t, &sealed{}, Options{})
	if got, err := decodeObject(d, []byte(`{"metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`)); err != nil ||
		got.GetManagedFields() != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestKnownStatesAreNotRebuilt(t *testing.T) {
	item := func(name, version string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"n","uid":"u-%s","resourceVersion":%q},"spec":{"nodeName":7}}`, name, name, version)
	}
	have := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "known"}}
	asked := 0
	known := func(id Identity) (object.Object, bool) {
		asked++
		if string(id.Namespace) != "n" || string(id.UID) != "u-"+string(id.Name) {
			t.Errorf("asked for %s", id)
		}
		return have, string(id.Name) == "known" && string(id.ResourceVersion) == "5"
	}
	list := func(items ...string) (*Page[object.Object], error) {
		body := `{"kind":"PodList","apiVersion":"v1","items":[` + strings.Join(items, ",") + `]}`
		return decoderOf(t, &corev1.Pod{}, Options{GVK: podKind}).List(&chunks{[]byte(body), 64}, jsonType, known)
	}
	// The spec cannot be decoded, so only an object that is reused from the caller succeeds.
	if page, err := list(item("known", "5")); err != nil || page.Items[0] != have {
		t.Errorf("got %v, %v", page, err)
	}
	for _, other := range []string{item("known", "6"), item("other", "5"), strings.Replace(item("known", "5"), `"spec"`,
		`"metadata":{},"spec"`, 1)} {
		if page, err := list(item("known", "5"), other); err == nil {
			t.Errorf("%s: got %v", other, page)
		}
	}
	if asked == 0 {
		t.Error("no known object was looked up")
	}
	escaped := strings.Replace(item("known", "5"), `"known"`, `"\u006bnown"`, 1)
	if page, err := list(escaped); err == nil {
		t.Errorf("%s: got %v", escaped, page)
	}
}

// FuzzList decodes lists in pieces of any size and compares the objects with the codec's.
func FuzzList(f *testing.F) {
	data, _ := podList(f, 2)
	f.Add(data, uint8(0))
	for i, item := range gadgets {
		f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`+item+`]}`), uint8(i))
		f.Add([]byte(item), uint8(i))
		f.Add([]byte(`{"kind":"PodList","items":[{"metadata":{}},{"metadata":{"name":"b"}},`+item+
			`,{"metadata":{"name":"c"}},{"metadata":{"name":"d"}}]}`), uint8(2*i))
	}
	decoders := [2]*Decoder[object.Object]{}
	for i := range decoders {
		decoders[i] = decoderOf(f, &gadget{}, Options{GVK: gadgetKind, KeepManagedFields: true})
	}
	decoders[0].backlog = 16 // several goroutines decode
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		d := decoders[size%2]
		var want struct {
			Kind     string          `json:"kind"`
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []*gadget       `json:"items"`
		}
		wantErr := codec(data, &want)
		page, err := d.List(&chunks{data, int(size)}, jsonType, nil)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%q: got %v", data, err)
			}
			return // the decoder validates lists more strictly than the codec
		}
		if wantErr != nil || len(page.Items) != len(want.Items) {
			t.Fatalf("%q: got %v, the codec %v", data, page, wantErr)
		}
		for i, item := range page.Items {
			want.Items[i].TypeMeta = metav1.TypeMeta{Kind: "Gadget", APIVersion: "example.com/v1"}
			if !reflect.DeepEqual(item, want.Items[i]) {
				t.Fatalf("%q: item %d is %s, want %s", data, i, text(item), text(want.Items[i]))
			}
		}
	})
}
