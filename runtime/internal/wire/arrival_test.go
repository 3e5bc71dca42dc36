package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// arrival is a body whose reads return the elements of reads in order.
type arrival struct {
	reads [][]byte
	eof   bool // the last bytes and io.EOF come in one read
}

func (a *arrival) Read(p []byte) (int, error) {
	if len(a.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, a.reads[0])
	if a.reads[0] = a.reads[0][n:]; len(a.reads[0]) == 0 {
		a.reads = a.reads[1:]
	}
	if a.eof && len(a.reads) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// arrivals calls check with a body for each way in which data can arrive: cut in two, byte by byte, with io.EOF in the
// last read or after it, and with empty reads in between. If everywhere is false, only some positions are cut, and
// which ones depends on call.
func arrivals(everywhere bool, call int, data []byte, check func(how string, body io.Reader)) {
	var bytewise, slowly [][]byte
	for i := range data {
		bytewise = append(bytewise, data[i:i+1])
		slowly = append(slowly, nil, data[i:i+1], nil, nil)
	}
	for _, eof := range []bool{false, true} {
		check(fmt.Sprintf("at once, end with it %v", eof), &arrival{[][]byte{data}, eof})
		check(fmt.Sprintf("byte by byte, end with it %v", eof), &arrival{slices.Clone(bytewise), eof})
		for i := range data {
			if !everywhere && (i+call)%37 > 0 || eof && i%16 > 0 { // with eof, most cuts end alike
				continue
			}
			check(fmt.Sprintf("cut behind %q, end with it %v", data[max(0, i-12):i], eof),
				&arrival{[][]byte{data[:i], data[i:]}, eof})
		}
	}
	check("byte by byte, with empty reads", &arrival{slowly, false})
}

// arriving returns decoders with different strategies, by name.
func arriving(t *testing.T, prototype object.Object, kind Options) map[string]*Decoder[object.Object] {
	kind.Formats = []Format{Protobuf, JSON}
	alone, many := decoderOf(t, prototype, kind), decoderOf(t, prototype, kind)
	many.backlog = 32
	kind.Mask = []string{"metadata.labels", "kind"}
	return map[string]*Decoder[object.Object]{"alone": alone, "with others": many, "masked": decoderOf(t, prototype, kind)}
}

// arrivingPods returns pods whose strings are difficult to split.
func arrivingPods() *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	list.ResourceVersion, list.Continue = "42", "mo\"re"
	for i, label := range []string{"plain", "grün 😀\u2028", "\\\"/\n\t", "x"} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("pod-", i), Namespace: "n", UID: "u", ResourceVersion: "7", Generation: -12345678901,
			Labels: map[string]string{"a": label}, Annotations: map[string]string{},
		}}
		pod.Spec.Priority, pod.Spec.HostNetwork = new(int32(-12)), i == 1
		list.Items = append(list.Items, pod)
	}
	return list
}

// arrivingLists returns lists of pods in each format, by content type and a description.
func arrivingLists(t *testing.T) map[[2]string][]byte {
	list := arrivingPods()
	plain, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	pretty, _ := json.MarshalIndent(list, "", " \t")
	var members map[string]json.RawMessage
	if err := json.Unmarshal(plain, &members); err != nil {
		t.Fatal(err)
	}
	lists := map[[2]string][]byte{
		{jsonType, "plain"}:  plain,
		{jsonType, "pretty"}: pretty,
		{jsonType, "turned"}: []byte(`{ "items" : ` + string(members["items"]) +
			` , "more":[{"a":[1.5e+3,-0,true,false,null]}], "metadata":` +
			string(members["metadata"]) + `,"apiVersion":"v\u0031","\u006bind":"PodList"}` + "\r\n"),
		{jsonType, "empty"}: []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"42"},"items":[]}`),
		{jsonType,
			"spaces"}: []byte(` { "kind" : "PodList" , "apiVersion" : "v1" , "items" : [ ] , "metadata" : { "resourceVersion" : "42" } } `),
		{jsonType, "no-list"}: []byte(`{"kind":"PodList","apiVersion":"v1","items":null,"metadata":{}}`),
	}
	for format, s := range binaryServers(t) {
		lists[[2]string{string(format), "plain"}] = s.encode(t, list)
		lists[[2]string{string(format), "empty"}] = s.encode(t, &corev1.PodList{TypeMeta: list.TypeMeta,
			ListMeta: list.ListMeta, Items: []corev1.Pod{}})
	}
	return lists
}

func TestListIsTheSameHoweverItArrives(t *testing.T) { testListArrives(t, false) }

func TestListIsTheSameCutAtEveryByte(t *testing.T) { testListArrives(t, true) }

func testListArrives(t *testing.T, everywhere bool) {
	have := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "known"}}
	known := func(id Identity) (object.Object, bool) { return have, string(id.Name) == "pod-2" }
	call := 0
	for form, prototype := range map[string]object.Object{"typed": &corev1.Pod{}, "untyped": untypedPrototype()} {
		for what, data := range arrivingLists(t) {
			if form == "untyped" && what[0] == string(Protobuf) {
				continue
			}
			for who, d := range arriving(t, prototype, Options{GVK: podKind}) {
				for _, known := range []Known[object.Object]{nil, known} {
					want, err := d.List(bytes.NewReader(data), what[0], known)
					if err != nil || len(want.Items) == 0 && (what[1] == "plain" || what[1] == "turned" || what[1] == "open") {
						t.Fatalf("%s %v %s: got %v, %v", form, what, who, want, err)
					}
					call++
					arrivals(everywhere, call, data, func(how string, body io.Reader) {
						got, err := d.List(body, what[0], known)
						if err != nil || !reflect.DeepEqual(got, want) {
							t.Fatalf("%s %v %s, %s: %v, got %v, want %v", form, what, who, how, err, text(got), text(want))
						}
					})
				}
			}
		}
	}
}

func TestStreamIsTheSameHoweverItArrives(t *testing.T) { testStreamArrives(t, false) }

func TestStreamIsTheSameCutAtEveryByte(t *testing.T) { testStreamArrives(t, true) }

func testStreamArrives(t *testing.T, everywhere bool) {
	pods := arrivingPods().Items
	for i := range pods {
		pods[i].TypeMeta = podType
	}
	end := &corev1.Pod{TypeMeta: podType, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	happened := []watch.Event{
		{Type: watch.Added, Object: &pods[0]}, {Type: watch.Added, Object: &pods[2]}, {Type: watch.Bookmark, Object: end},
		{Type: watch.Modified, Object: &pods[1]}, {Type: watch.Deleted, Object: &pods[2]},
	}
	streams := map[[2]string][]byte{}
	for format, s := range binaryServers(t) {
		streams[[2]string{string(format), "plain"}] = s.watch(t, happened...)
	}
	var lines, pretty, turned bytes.Buffer
	for _, e := range happened {
		obj, err := json.Marshal(e.Object)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf(`{"type":%q,"object":%s}`, e.Type, obj)
		lines.WriteString(line + "\n")
		if err := json.Indent(&pretty, []byte(line), "", "\t"); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&turned, `{"object":%s,"more":{"a":"}"} , "type":%q}`, obj, e.Type)
	}
	streams[[2]string{jsonType, "lines"}], streams[[2]string{jsonType, "pretty"}],
		streams[[2]string{jsonType, "turned"}] = lines.Bytes(), pretty.Bytes(), turned.Bytes()
	read := func(d *Decoder[object.Object], body io.Reader, contentType string,
		known Known[object.Object]) (events []Event[object.Object], err error) {
		for stream := d.Watch(body, contentType, known); ; {
			event, err := stream.Next()
			if err != nil {
				return events, err
			}
			events = append(events, event)
		}
	}
	have := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "known"}}
	known := func(id Identity) (object.Object, bool) { return have, string(id.Name) == "pod-2" }
	call := 0
	for form, prototype := range map[string]object.Object{"typed": &corev1.Pod{}, "untyped": untypedPrototype()} {
		for what, data := range streams {
			if form == "untyped" && what[0] == string(Protobuf) {
				continue
			}
			for who, d := range arriving(t, prototype, Options{GVK: podKind}) {
				for _, known := range []Known[object.Object]{nil, known} {
					want, err := read(d, bytes.NewReader(data), what[0], known)
					if err != io.EOF || len(want) != len(happened) || !want[2].InitialEventsEnd {
						t.Fatalf("%s %v %s: got %v, %v", form, what, who, want, err)
					}
					call++
					arrivals(everywhere, call, data, func(how string, body io.Reader) {
						got, err := read(d, body, what[0], known)
						if err != io.EOF || !reflect.DeepEqual(got, want) {
							t.Fatalf("%s %v %s, %s: %v, got %v, want %v", form, what, who, how, err, text(got), text(want))
						}
					})
				}
			}
		}
	}
}

// TestDataAfterAListIsAnError appends data to lists in each format, and truncates the lists.
func TestDataAfterAListIsAnError(t *testing.T) {
	for what, data := range arrivingLists(t) {
		d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, Formats: []Format{Protobuf}})
		for _, more := range [][]byte{{0}, {1}, {0x80}, {0xf6}, {0xff}, []byte("x"), []byte("{}"), data} {
			check := func(how string, body io.Reader) {
				page, err := d.List(body, what[0], nil)
				if _, ok := errors.AsType[*Error](err); !ok || page != nil {
					t.Errorf("%v and %q, %s: got %v, %v", what, more[:min(len(more), 4)], how, page, err)
				}
			}
			both := append(bytes.Clone(data), more...)
			check("at once", bytes.NewReader(both))
			check("apart", &arrival{[][]byte{data, more}, false})
			check("byte by byte", &chunks{both, 1})
		}
	}
}

func TestBodyThatBringsNothingEnds(t *testing.T) {
	never := readFunc(func([]byte) (int, error) { return 0, nil })
	for _, contentType := range []string{jsonType, string(Protobuf)} {
		d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, Formats: []Format{Protobuf}})
		for _, begun := range []string{"", "{", "k8s\x00"} {
			if _, err := d.List(io.MultiReader(strings.NewReader(begun), never), contentType, nil); err == nil {
				t.Errorf("list of %s: no error", contentType)
			}
			if _, err := d.Watch(io.MultiReader(strings.NewReader(begun), never), contentType, nil).Next(); err == nil {
				t.Errorf("watch of %s: no error", contentType)
			}
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
