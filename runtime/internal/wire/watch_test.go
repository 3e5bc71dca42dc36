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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// streams contains bodies of watches, both well-formed and malformed.
var streams = []string{
	"", "\n \t\r", "{", "null", "[]", "}", `"`, "7", "nul", "{}", "{,}", "{]}", "\xef\xbb\xbf{}",
	`{"type":"ADDED","object":{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"a","resourceVersion":"1"}}}` + "\n",
	`{"type":"ADDED","object":{"kind":"Gadget"}}{"type":"DELETED","object":{"kind":"Gadget"}}` + "\r\n" +
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"},"a":[{},[[]],"}"]}}`,
	"{\n  \"type\": \"MODIFIED\",\n  \"object\": {\n    \"kind\": \"Gadget\"\n  }\n}\n{\n}\n",
	`{"type":"MODIFIED","object":{"kind":"Gadget","a":"\"}\\","b":"\\\\","c":"{[\u005d"}}`,
	`{"object":{"kind":"Gadget"},"type":"ADDED"}` + "\n" +
		`{"object":{"kind":"Status","status":"Failure","code":410},"type":"ERROR"}`,
	`{ "type" : "ADDED" , "object" : { "kind":"Gadget" } , "more" : [ 1.5e3 , null , true ] }`,
	`{"\u0074ype":"ADDED","object":{"kind":"Gadget"}}`, `{"type":"A","type":"B","object":{}}`,
	`{"type":"ADDED","object":{},"object":{}}`,
	`{"type":7,"object":{}}`, `{"type":null}`, `{"type":"ADDED","object":null}`, `{"type":"ADDED","object":tru}`,
	`{"type":"ADDED"}`,
	`{"type":"ADDED","object":{"kind":"Gadget"}},`, `{"type":"ADDED","object":{}`, `{"type":"ADDED","object":"open`,
	`{"type":"ADDED","object":{]}`,
	`{"type":"ADDED""object":{}}`, `{"type":"ADDED","more":[}],"object":{}}`, "{\"type\":\"\x01\"}", "{\"type\":\"\xff\"}",
	"{\"type\":\"ADDED\",\"object\":{\"kind\":\"Gad\nget\"}}\n", `{"type":"BOOKMARK","object":{}}`,
	`{"type":"BOOKMARK","object":null}`, `{"type":"ERROR","object":{}}`,
}

// plainEvent is an event as the codec decodes it.
type plainEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// eventsIn returns the events at the beginning of data, and reports whether data contains nothing else.
func eventsIn(data []byte) (events []plainEvent, clean bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if err != nil || raw[0] != '{' {
			return events, err == io.EOF
		}
		var event plainEvent
		if codec(raw, &event) != nil {
			return events, false
		}
		events = append(events, event)
	}
}

// FuzzWatch decodes arbitrary streams, in pieces of any size. The events must equal the codec's, with none missing or
// added before the end. The stream must end, and with io.EOF only if it is well-formed.
func FuzzWatch(f *testing.F) {
	for i, data := range streams {
		f.Add([]byte(strings.Repeat(data, 3)), uint8(2*i))
		f.Add([]byte(data), uint8(0))
		f.Add([]byte(data), uint8(i))
	}
	d := decoderOf(f, &gadget{}, Options{GVK: gadgetKind, KeepManagedFields: true})
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		want, clean := eventsIn(data)
		stream := d.Watch(&chunks{data, int(size)}, jsonType, nil)
		for n := 0; ; n++ {
			event, err := stream.Next()
			if err != nil {
				checkEnd(t, data, want[n:], clean, err)
				if _, again := stream.Next(); again != err {
					t.Fatalf("%q: got %v after %v", data, again, err)
				}
				return
			}
			if n == len(want) {
				t.Fatalf("%q: %v comes from nowhere", data, event)
			}
			checkEvent(t, data, event, want[n])
		}
	})
}

func checkEvent(t *testing.T, data []byte, got Event[object.Object], want plainEvent) {
	t.Helper()
	if string(got.Type) != want.Type {
		t.Fatalf("%q: got a %s", data, got.Type)
	}
	if got.Type == watch.Bookmark {
		var bookmark metav1.PartialObjectMetadata
		if err := codec(want.Object, &bookmark); err != nil || got.Object != nil ||
			got.ResourceVersion != bookmark.ResourceVersion {
			t.Fatalf("%q: got %v, %v", data, got, err)
		}
		return
	}
	obj := &gadget{}
	err := codec(want.Object, obj)
	if err != nil || !reflect.DeepEqual(got.Object, object.Object(obj)) || got.ResourceVersion != obj.ResourceVersion {
		t.Fatalf("%q: got %s, want %s, %v", data, text(got.Object), text(obj), err)
	}
}

// checkEnd checks that err is a valid reason for the end of the stream. rest contains the events that were not read.
func checkEnd(t *testing.T, data []byte, rest []plainEvent, clean bool, err error) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	_, malformed := errors.AsType[*Error](err)
	switch {
	case err == io.EOF && clean && len(rest) == 0:
	case err == io.ErrUnexpectedEOF && !clean && len(rest) == 0:
	case errors.As(err, &status) && len(rest) > 0 && rest[0].Type == "ERROR":
	case malformed && len(rest) == 0 && !clean:
	case malformed && len(rest) > 0 && refusable(rest[0]):
	case malformed && len(rest) > 0 && bytes.Count(data, []byte(`e":`))+bytes.Count(data,
		[]byte(`t":`)) > 2*len(rest): // a member occurs twice
	default:
		t.Fatalf("%q: ended with %v before %q, clean %v", data, err, rest, clean)
	}
}

// refusable reports whether an event is well-formed JSON but not a valid event of gadgets.
func refusable(event plainEvent) bool {
	obj := &gadget{}
	switch watch.EventType(event.Type) {
	case watch.Added, watch.Modified, watch.Deleted:
		err := codec(event.Object, obj)
		return err != nil || event.Object == nil || obj.GroupVersionKind() != gadgetKind || obj.Name == ""
	case watch.Bookmark:
		var bookmark metav1.PartialObjectMetadata
		return codec(event.Object, &bookmark) != nil || bookmark.ResourceVersion == "" ||
			bookmark.GroupVersionKind() != gadgetKind
	case watch.Error:
		var status metav1.Status
		return codec(event.Object, &status) != nil || status.Kind != "Status" || status.Status == metav1.StatusSuccess
	}
	return true
}

func watchOf(t *testing.T, body io.Reader) *Stream[object.Object] {
	t.Helper()
	return decoderOf(t, &corev1.Pod{}, Options{GVK: podKind}).Watch(body, jsonType, nil)
}

func podEvent(eventType, name string) string {
	return `{"type":"` + eventType + `","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + name +
		`","resourceVersion":"1"}}}`
}

func TestEventIsReturnedBeforeTheNextOneHasArrived(t *testing.T) {
	for _, ending := range []string{"", "\n", "\r\n", " "} {
		read, write := io.Pipe()
		stream := watchOf(t, read)
		for _, name := range []string{"a", "b"} {
			sent := make(chan error)
			go func() { _, err := io.WriteString(write, podEvent("ADDED", name)+ending); sent <- err }()
			event, err := stream.Next()
			if err != nil || event.Object.GetName() != name {
				t.Fatalf("%q: got %v, %v", ending, event, err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
		}
		_ = write.Close()
		if _, err := stream.Next(); err != io.EOF {
			t.Errorf("got %v", err)
		}
	}
}

func TestEventIsAsLongAsAllowedAndNotLonger(t *testing.T) {
	long := func(size int) io.Reader {
		event := podEvent("ADDED", "x")
		before, after, _ := strings.Cut(event, `"x"`)
		return io.MultiReader(strings.NewReader(before+`"`),
			strings.NewReader(strings.Repeat("x", size-len(before)-len(after)-2)),
			strings.NewReader(`"`+after+" "+podEvent("DELETED", "y")))
	}
	stream := watchOf(t, long(MaxObject))
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		if event, err := stream.Next(); err != nil || event.Type != want {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := stream.Next(); err != io.EOF {
		t.Error(err)
	}
	if _, err := watchOf(t, long(MaxObject+1)).Next(); !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestBufferIsOnlyAsLargeAsWhatComes(t *testing.T) {
	read, write := io.Pipe()
	stream := watchOf(t, read)
	go func() {
		_, _ = io.WriteString(write, podEvent("ADDED", strings.Repeat("x", 1<<20))+"\n")
		_, _ = io.WriteString(write, podEvent("ADDED", "y")+"\n")
		_, _ = io.WriteString(write, podEvent("ADDED", "z")+"\n")
		_ = write.Close()
	}()
	for range 3 {
		if _, err := stream.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if size := cap(stream.frames.buf); size > firstBuffer {
		t.Errorf("a buffer of %d bytes is kept", size)
	}
}

func TestStreamThatEndsWithinAnEventIsTruncated(t *testing.T) {
	for data, want := range map[string]error{`{"a":`: io.ErrUnexpectedEOF, podEvent("ADDED", "a") + "\n": io.EOF,
		podEvent("ADDED", "a") + " {": io.ErrUnexpectedEOF, `{"}`: io.ErrUnexpectedEOF, "{\n\n": io.ErrUnexpectedEOF} {
		stream := watchOf(t, strings.NewReader(data))
		_, err := stream.Next()
		for err == nil {
			_, err = stream.Next()
		}
		if err != want {
			t.Errorf("%s: got %v", data, err)
		}
	}
}

// manyEvents returns events of pods named 0 to n-1, with ending after each of them.
func manyEvents(n int, ending string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(podEvent("ADDED", fmt.Sprint(i)) + ending)
	}
	return b.String()
}

func TestManyEventsAreDecodedInOrder(t *testing.T) {
	const n = 5000
	for _, ending := range []string{"\n", "\r\n", "", "\n\n"} {
		for _, size := range []int{0, 777} {
			stream := watchOf(t, &chunks{[]byte(manyEvents(n, ending)), size})
			for i := range n {
				event, err := stream.Next()
				if err != nil || event.Type != watch.Added || event.Object.GetName() != fmt.Sprint(i) ||
					event.ResourceVersion != "1" {
					t.Fatalf("%q: event %d: got %v, %v", ending, i, event, err)
				}
			}
			if _, err := stream.Next(); err != io.EOF {
				t.Errorf("got %v", err)
			}
		}
	}
}

func TestBadEventAmongManyComesWhereItIs(t *testing.T) {
	const n = 3000
	for want, bad := range map[string]string{
		"want a colon":       `{"type"}` + "\n",
		"Kind=Secret, not":   `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1"}}` + "\n",
		"too old":            `{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old"}}` + "\n",
		"it begins with 'x'": "x\n",
		"unexpected EOF":     "{\n",
		"no object":          podEvent("ADDED", "more") + `{"type":"ADDED"}` + "\n",
	} {
		for _, at := range []int{0, 1, n / 2, n - 1} {
			body := manyEvents(at, "\n") + bad
			if want != "unexpected EOF" {
				body += manyEvents(n-at, "\n")
			}
			stream := watchOf(t, strings.NewReader(body))
			count := 0
			_, err := stream.Next()
			for ; err == nil; count++ {
				_, err = stream.Next()
			}
			if strings.HasPrefix(bad, podEvent("ADDED", "more")) {
				count--
			}
			if count != at || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v after %d events, want it after %d", want, err, count, at)
			}
			if _, again := stream.Next(); again != err {
				t.Errorf("got %v", again)
			}
		}
	}
}

func TestKnownObjectsAmongManyAreReused(t *testing.T) {
	have := object.Object(random(prototypes()[0], 1))
	known := func(id Identity) (object.Object, bool) { return have, string(id.Name)[0] == '1' }
	body := strings.ReplaceAll(manyEvents(2000, "\n"), `"resourceVersion"`, `"uid":"u","resourceVersion"`)
	stream := decoderOf(t, prototypes()[0], Options{GVK: podKind}).Watch(strings.NewReader(body), jsonType, known)
	for i := range 2000 {
		event, err := stream.Next()
		if err != nil || (event.Object == have) != (fmt.Sprint(i)[0] == '1') {
			t.Fatalf("event %d: got %v, %v", i, event.Object == have, err)
		}
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
