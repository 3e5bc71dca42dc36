package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// prototypesOf returns a prototype of kind in each form: typed, untyped and as metadata.
func prototypesOf(kind schema.GroupVersionKind, typed object.Object) map[string]object.Object {
	untyped := &unstructured.Unstructured{}
	untyped.SetGroupVersionKind(kind)
	return map[string]object.Object{"typed": typed, "untyped": untyped, "metadata": &metav1.PartialObjectMetadata{}}
}

// inEachFormat returns the object in a JSON body in each format. The protobuf encoding has only the fields of the Go
// type.
func inEachFormat(t *testing.T, body string) map[string][]byte {
	t.Helper()
	var fields map[string]any
	if err := codec([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	bodies := map[string][]byte{jsonType: []byte(body)}
	kind := (&unstructured.Unstructured{Object: fields}).GroupVersionKind()
	obj, err := testScheme(t).New(kind)
	if err != nil {
		return bodies // a custom resource, which has no protobuf encoding
	}
	var b bytes.Buffer
	if json.Unmarshal([]byte(body), obj) == nil && binaryServers(t)[Protobuf].serializer.Encode(obj, &b) == nil {
		bodies[string(Protobuf)] = b.Bytes()
	}
	return bodies
}

// TestListIsOneOfWhatWasAskedFor uses the answers that servers and proxies may send instead of the requested list.
func TestListIsOneOfWhatWasAskedFor(t *testing.T) {
	list := func(apiVersion, kind string, items ...string) string {
		return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, apiVersion,
			strings.Join(items, ","))
	}
	item := func(apiVersion, kind, name string) string {
		return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"resourceVersion":"3"}}`, kind, apiVersion, name)
	}
	const bare = `{"metadata":{"name":"a"}}`
	for _, test := range []struct {
		what, body, want string
		metadata         bool // allowed if only metadata was requested
	}{
		{"a list", list("v1", "PodList", bare), "", true},
		{"an empty list", list("v1", "PodList"), "", true},
		{"items that say what they are", list("v1", "PodList", item("v1", "Pod", "a"), bare), "", true},
		{"metadata", list("meta.k8s.io/v1", "PartialObjectMetadataList", item("meta.k8s.io/v1", "PartialObjectMetadata",
			"a")), "sent meta.k8s.io/v1, Kind=PartialObjectMetadata", true},
		{"metadata of another version", list("meta.k8s.io/v1beta1", "PartialObjectMetadataList"), "meta.k8s.io/v1beta1",
			false},
		{"another kind", list("v1", "SecretList", bare), "SecretList, not /v1, Kind=PodList", false},
		{"an empty list of another kind", list("v1", "SecretList"), "SecretList", false},
		{"another group", list("example.com/v1", "PodList", bare), "example.com/v1, Kind=PodList", false},
		{"another version", list("v1beta1", "PodList", bare), "v1beta1", false},
		{"no apiVersion", list("", "PodList", bare), `apiVersion ""`, false},
		{"no kind", list("v1", "", bare), `kind ""`, false},
		{"neither", `{"items":[]}`, `kind ""`, false},
		{"nothing", `{}`, `kind ""`, false},
		{"a list of anything", list("v1", "List", item("v1", "Pod", "a")), "Kind=List", false},
		{"discovery", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`, "APIResourceList",
			false},
		{"a table",
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"columnDefinitions":[],"rows":[]}`,
			"Kind=Table", false},
		{"one object", item("v1", "Pod", "a"), "/v1, Kind=Pod", false},
		{"an item of another kind", list("v1", "PodList", bare, item("v1", "Secret", "a")),
			"item 1: the server sent /v1, Kind=Secret", false},
		{"an item of another group", list("v1", "PodList", item("example.com/v1", "Pod", "a")), "item 0", false},
		{"an item of another version", list("v1", "PodList", item("v2", "Pod", "a")), "item 0", false},
		{"an item that says half of it", list("v1", "PodList", `{"kind":"Pod","metadata":{"name":"a"}}`), "item 0", false},
		{"an item that is a list", list("v1", "PodList", item("v1", "PodList", "a")), "item 0", false},
		{"an item that is a Status", list("v1", "PodList", item("v1", "Status", "a")), "item 0", false},
		{"an item without a name", list("v1", "PodList", bare, `{"metadata":{"namespace":"n"}}`), "item 1: it has no name",
			false},
		{"an item without metadata", list("v1", "PodList", `{}`), "item 0: it has no name", false},
		{"a bare Status", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","message":"all is well"}`,
			"all is well", false},
		{"a Status of nothing", `{"kind":"Status","apiVersion":"v1","message":"hm"}`, "hm", false},
	} {
		for form, prototype := range prototypesOf(podKind, &corev1.Pod{}) {
			d := decoderOf(t, prototype, Options{GVK: podKind, Formats: []Format{Protobuf}})
			for contentType, body := range inEachFormat(t, test.body) {
				if form == "untyped" && contentType == string(Protobuf) {
					continue
				}
				if contentType == string(Protobuf) && strings.HasPrefix(test.what, "an item") &&
					!strings.Contains(test.what, "without") {
					continue // protobuf items have no kind of their own
				}
				for _, size := range []int{0, 1} {
					page, err := d.List(&chunks{body, size}, contentType, nil)
					if test.want == "" || form == "metadata" && test.metadata {
						if err != nil {
							t.Errorf("%s, %s, %s: %v", test.what, form, contentType, err)
							continue
						}
						for _, item := range page.Items {
							if got := item.GetObjectKind().GroupVersionKind(); got != podKind {
								t.Errorf("%s, %s, %s: an item is a %v", test.what, form, contentType, got)
							}
						}
						continue
					}
					if _, ok := errors.AsType[*Error](err); !ok || page != nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("%s, %s, %s: got %v, %v, want %s", test.what, form, contentType, page, err, test.want)
					}
				}
			}
		}
	}
}

func TestStatusInsteadOfAListIsItsError(t *testing.T) {
	for want, is := range map[string]func(error) bool{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`:                                                                   apierrors.IsResourceExpired,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old: no","reason":"Forbidden","details":{"kind":"pods","causes":[{"reason":"ResourceVersionTooLarge"}]},"code":403}`: apierrors.IsForbidden,
	} {
		for form, prototype := range prototypesOf(podKind, &corev1.Pod{}) {
			for contentType, body := range inEachFormat(t, want) {
				if form == "untyped" && contentType == string(Protobuf) {
					continue
				}
				d := decoderOf(t, prototype, Options{GVK: podKind, Formats: []Format{Protobuf}})
				page, err := d.List(bytes.NewReader(body), contentType, nil)
				if page != nil || !is(err) || !strings.Contains(err.Error(), "too old") {
					t.Errorf("%s, %s: got %v, %v", form, contentType, page, err)
				}
				if strings.Contains(want, "TooLarge") != apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
					t.Errorf("%s, %s: got %#v", form, contentType, err)
				}
				for _, size := range []int{0, 1, 7} { // the server may also answer a watch like this
					event, err := d.Watch(&chunks{body, size}, contentType, nil).Next()
					if event.Object != nil || !is(err) || !strings.Contains(err.Error(), "too old") {
						t.Errorf("%s, %s: got %v, %v", form, contentType, event, err)
					}
				}
			}
		}
	}
}

// TestListOfACustomResourceMayBeCalledAnything checks that CRDs may define their own listKind.
func TestListOfACustomResourceMayBeCalledAnything(t *testing.T) {
	failure := errors.New("cannot ask")
	serves := func(kind string) (bool, error) {
		if kind == "Unknown" {
			return false, failure
		}
		return kind == "Widget" || kind == "Gadget", nil
	}
	asked := Asked{GVK: gadgetKind, Serves: serves}
	for kind, ok := range map[string]bool{
		"GadgetList": true, "Gadgets": true, "GadgetCollection": true, "CollectionList": true,
		"WidgetList": false, "Widget": false, "Gadget": false, "List": false, "": false, "UnknownList": false,
	} {
		if err := asked.List(gadgetKind.GroupVersion().WithKind(kind)); (err == nil) != ok {
			t.Errorf("%s: got %v", kind, err)
		}
		if err := (Asked{GVK: gadgetKind}).List(gadgetKind.GroupVersion().WithKind(
			kind)); (err == nil) != (kind == "GadgetList") {
			t.Errorf("%s, with unknown types: got %v", kind, err)
		}
	}
	if err := asked.List(gadgetKind.GroupVersion().WithKind("UnknownList")); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	for _, other := range []schema.GroupVersion{{Group: "example.com", Version: "v2"}, {Group: "other.com", Version: "v1"},
		{Version: "v1"}} {
		if err := asked.List(other.WithKind("Gadgets")); err == nil {
			t.Errorf("%s: no error", other)
		}
	}
	if err := (Asked{GVK: podKind, Serves: serves}).List(podKind.GroupVersion().WithKind("Pods")); err == nil {
		t.Error("a list of a built-in kind is called something else")
	}
}

func TestEventIsAboutWhatWasAskedFor(t *testing.T) {
	obj := func(apiVersion, kind, name string) string {
		return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"resourceVersion":"3","annotations":{"k8s.io/initial-events-end":"true"}}}`, kind, apiVersion, name)
	}
	for _, test := range []struct {
		what, object, want string
		metadata           bool
	}{
		{"an object", obj("v1", "Pod", "a"), "", true},
		{"metadata", obj("meta.k8s.io/v1", "PartialObjectMetadata", "a"), "PartialObjectMetadata", true},
		{"another kind", obj("v1", "Secret", "a"), "Kind=Secret, not /v1, Kind=Pod", false},
		{"another group", obj("example.com/v1", "Pod", "a"), "example.com/v1", false},
		{"another version", obj("v2", "Pod", "a"), "v2", false},
		{"no kind", obj("v1", "", "a"), `kind ""`, false},
		{"no apiVersion", obj("", "Pod", "a"), `apiVersion ""`, false},
		{"nothing", `{"metadata":{"name":"a","resourceVersion":"3"}}`, `kind ""`, false},
		{"a list", obj("v1", "PodList", "a"), "PodList", false},
		{"a Status", obj("v1", "Status", "a"), "Status", false},
		{"no name", obj("v1", "Pod", ""), "no name", false},
	} {
		for form, prototype := range prototypesOf(podKind, &corev1.Pod{}) {
			d := decoderOf(t, prototype, Options{GVK: podKind, Formats: []Format{Protobuf}})
			for contentType, raw := range inEachFormat(t, test.object) {
				if form == "untyped" && contentType == string(Protobuf) {
					continue
				}
				for _, eventType := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
					event, err := d.Watch(eventOf(t, contentType, eventType, raw), contentType, nil).Next()
					switch {
					case test.want == "" || form == "metadata" && test.metadata || test.what == "no name" &&
						eventType == watch.Bookmark:
						if err != nil || event.Type != eventType {
							t.Errorf("%s, %s, %s %s: got %v, %v", test.what, form, contentType, eventType, event, err)
						} else if eventType != watch.Bookmark && event.Object.GetObjectKind().GroupVersionKind() != podKind {
							t.Errorf("%s, %s, %s %s: got %v", test.what, form, contentType, eventType, event.Object.GetObjectKind())
						}
					default:
						if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), test.want) {
							t.Errorf("%s, %s, %s %s: got %v, %v", test.what, form, contentType, eventType, event, err)
						}
					}
				}
			}
		}
	}
}

// eventOf returns a stream of one event whose object is already encoded.
func eventOf(t *testing.T, contentType string, eventType watch.EventType, raw []byte) io.Reader {
	t.Helper()
	if contentType == jsonType {
		return strings.NewReader(fmt.Sprintf(`{"type":%q,"object":%s}`, eventType, raw))
	}
	s := binaryServers(t)[Format(contentType)]
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: raw}}
	frames := s.stream.Framer.NewFrameWriter(&b)
	if err := s.stream.Serializer.Encode(event, frames); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestFormatIsOneThatWasAskedFor(t *testing.T) {
	lists := inEachFormat(t,
		`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}]}`)
	pod := inEachFormat(t, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}`)
	asked := map[string][]Format{"JSON": {JSON}, "protobuf": nil}
	for name, formats := range asked {
		d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, Formats: formats})
		for contentType, body := range lists {
			ok := strings.Contains(d.Accept(true), contentType)
			if _, err := d.List(bytes.NewReader(body), contentType+"; charset=utf-8", nil); (err == nil) != ok {
				t.Errorf("%s: a list of %s: got %v", name, contentType, err)
			}
			if _, err := d.Watch(eventOf(t, contentType, watch.Added, pod[contentType]), contentType+";stream=watch",
				nil).Next(); (err == nil) != ok {
				t.Errorf("%s: a watch of %s: got %v", name, contentType, err)
			}
		}
		for _, other := range []string{"text/html", "text/plain; charset=utf-8", "application/yaml", "application/json-seq",
			"application", "?", "application/vnd.kubernetes.protobuf2"} {
			_, err := d.List(bytes.NewReader(lists[jsonType]), other, nil)
			_, watchErr := d.Watch(bytes.NewReader(nil), other, nil).Next()
			for _, err := range []error{err, watchErr} {
				if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), fmt.Sprintf("%q", other)) {
					t.Errorf("%s: %s: got %v", name, other, err)
				}
			}
		}
		if _, err := d.List(bytes.NewReader(lists[jsonType]), "", nil); err != nil {
			t.Errorf("%s: no Content-Type: %v", name, err)
		}
	}
}
