package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// server encodes objects in one format as the API server does.
type server struct {
	contentType string
	serializer  runtime.Serializer
	stream      *runtime.StreamSerializerInfo
}

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}

func binaryServers(t testing.TB) map[Format]server {
	scheme := testScheme(t)
	proto := protobuf.NewSerializer(scheme, scheme)
	return map[Format]server{
		Protobuf: {string(Protobuf) + ";stream=watch", proto, &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(scheme, scheme), Framer: protobuf.LengthDelimitedFramer}},
	}
}

func (s server) encode(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.serializer.Encode(obj, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s server) watch(t testing.TB, events ...watch.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := streaming.NewEncoder(s.stream.Framer.NewFrameWriter(&b), s.stream.Serializer)
	for _, e := range events {
		event := &metav1.WatchEvent{Type: string(e.Type)}
		event.Object.Raw = s.encode(t, e.Object)
		if err := encoder.Encode(event); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// pods returns a list of n pods and its encoding.
func (s server) pods(t testing.TB, n int) (data []byte, want *corev1.PodList) {
	_, list := podList(t, n)
	list.TypeMeta = metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}
	for i := range list.Items {
		list.Items[i].TypeMeta = metav1.TypeMeta{} // items in a server's list have no kind
		list.Items[i].Name, list.Items[i].UID, list.Items[i].ResourceVersion = "p", "u", "1"
		list.Items[i].Spec.Volumes = append(list.Items[i].Spec.Volumes,
			corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"},
				EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	data = s.encode(t, list)
	want = &corev1.PodList{}
	if _, _, err := s.serializer.Decode(data, nil, want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Items {
		want.Items[i].TypeMeta = podType
	}
	return data, want
}

func TestBinaryListsAreDecodedAsByTheirCodec(t *testing.T) {
	for format, s := range binaryServers(t) {
		data, want := s.pods(t, 10)
		d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, KeepManagedFields: true, Formats: []Format{Protobuf}})
		for _, size := range []int{0, 1, 700} {
			page, err := d.List(&chunks{data, size}, s.contentType, nil)
			if err != nil || page.ResourceVersion != "42" || page.Continue != "more" || len(page.Items) != len(want.Items) {
				t.Fatalf("%s: got %.100v", format, err)
			}
			for i, item := range page.Items {
				if !reflect.DeepEqual(item, &want.Items[i]) {
					t.Errorf("%s: item %d:\ngot  %s\nwant %s", format, i, text(item), text(want.Items[i]))
				}
			}
		}
		const trailer = 4 // number of bytes after the list in the protobuf encoding
		for n := 0; n < len(data)-trailer; n += len(data) / 50 {
			if _, err := d.List(bytes.NewReader(data[:n]), s.contentType, nil); err == nil {
				t.Fatalf("%s: a list is read from %d of %d bytes", format, n, len(data))
			} else if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%s: got %v", format, err)
			}
		}
	}
}

func TestBinaryEventsAreDecodedAsByTheirCodec(t *testing.T) {
	for format, s := range binaryServers(t) {
		_, want := s.pods(t, 2)
		kind := metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		for i := range want.Items {
			want.Items[i].TypeMeta = kind
		}
		end := &corev1.Pod{TypeMeta: kind, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		gone := apierrors.NewResourceExpired("old").Status()
		gone.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		data := s.watch(t, watch.Event{Type: watch.Added, Object: &want.Items[0]},
			watch.Event{Type: watch.Deleted, Object: &want.Items[1]},
			watch.Event{Type: watch.Bookmark, Object: end}, watch.Event{Type: watch.Error, Object: &gone})
		for _, size := range []int{0, 1} {
			stream := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, KeepManagedFields: true,
				Formats: []Format{Protobuf}}).Watch(&chunks{data, size}, s.contentType, nil)
			for i, eventType := range []watch.EventType{watch.Added, watch.Deleted} {
				event, err := stream.Next()
				want := want.Items[i]
				if err != nil || event.Type != eventType || event.ResourceVersion != "1" ||
					!equality.Semantic.DeepEqual(event.Object, &want) {
					t.Fatalf("%s: got %v, %v", format, text(event), err)
				}
			}
			if event, err := stream.Next(); err != nil || event.Type != watch.Bookmark || event.ResourceVersion != "9" ||
				!event.InitialEventsEnd || event.Object != nil {
				t.Errorf("%s: got %v, %v", format, event, err)
			}
			if _, err := stream.Next(); !apierrors.IsResourceExpired(err) {
				t.Errorf("%s: got %v", format, err)
			}
		}
		stream := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind,
			Formats: []Format{Protobuf}}).Watch(bytes.NewReader(data[:len(data)/4]), s.contentType, nil)
		_, err := stream.Next()
		for err == nil {
			_, err = stream.Next()
		}
		if err != io.ErrUnexpectedEOF {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

func TestKnownStatesAreNotRebuiltInAnyFormat(t *testing.T) {
	for format, s := range binaryServers(t) {
		data, _ := s.pods(t, 2)
		have := object.Object(&corev1.Pod{})
		d := decoderOf(t, &corev1.Pod{}, Options{GVK: podKind, Formats: []Format{Protobuf}})
		asked := 0
		page, err := d.List(bytes.NewReader(data), s.contentType, func(id Identity) (object.Object, bool) {
			asked++
			return have, string(id.Name)+string(id.UID)+string(id.ResourceVersion) == "pu1" && asked == 1
		})
		if err != nil || page.Items[0] != have || page.Items[1] == have {
			t.Errorf("%s: got %v, %v", format, page, err)
		}
	}
}

func TestFormatsAreAskedForInOrder(t *testing.T) {
	for want, d := range map[string]*Decoder[object.Object]{
		"application/vnd.kubernetes.protobuf,application/json": decoderOf(t, &corev1.Pod{}, Options{}),
		"application/json": decoderOf(t, &gadget{}, Options{}),
		"application/json,application/vnd.kubernetes.protobuf": decoderOf(t, &corev1.Pod{},
			Options{Formats: []Format{JSON, Protobuf}}),
	} {
		if got := d.Accept(true); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := decoderOf(t, &node{}, Options{}).Accept(false); got != "application/json" {
		t.Errorf("a recursive type is asked for as %s", got)
	}
	if got := decoderOf(t, &metav1.PartialObjectMetadata{}, Options{}).Accept(true); !strings.HasPrefix(got,
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=") ||
		!strings.HasSuffix(got, ",application/json") {
		t.Errorf("got %s", got)
	}
}

// FuzzBinary reads arbitrary bytes as a list and as a watch. Both must end with the objects that the codec decodes, or
// with an error.
func FuzzBinary(f *testing.F) {
	servers := binaryServers(f)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "a",
		ResourceVersion: "1", Labels: map[string]string{"a": "b"}}}
	for _, s := range servers {
		f.Add(s.encode(f, &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
			Items: []corev1.Pod{*pod}}), uint8(3))
		f.Add(s.watch(f, watch.Event{Type: watch.Added, Object: pod}, watch.Event{Type: watch.Bookmark, Object: pod}),
			uint8(0))
	}
	f.Add([]byte("k8s\x00"), uint8(0))
	f.Add(bytes.Repeat([]byte{0x81}, 20000), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		for _, opts := range []Options{{GVK: podKind, KeepManagedFields: true, Formats: []Format{Protobuf}},
			{GVK: podKind, Mask: []string{"metadata", "spec.containers"}, Formats: []Format{Protobuf}}} {
			d := decoderOf(t, &corev1.Pod{}, opts)
			for _, s := range servers {
				page, err := d.List(&chunks{data, int(size)}, s.contentType, nil)
				want := &corev1.PodList{}
				_, _, wantErr := s.serializer.Decode(data, nil, want)
				if err == nil && wantErr == nil && opts.KeepManagedFields {
					for i, item := range page.Items {
						want.Items[i].TypeMeta = podType
						if !equality.Semantic.DeepEqual(item, &want.Items[i]) {
							t.Fatalf("got %s, want %s", text(item), text(want.Items[i]))
						}
					}
				}
				stream := d.Watch(&chunks{data, int(size)}, s.contentType, nil)
				for err = nil; err == nil; {
					_, err = stream.Next()
				}
			}
		}
	})
}
