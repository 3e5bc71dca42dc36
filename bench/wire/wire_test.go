package wire

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/rest/watch"

	"github.com/kctrl-dev/kctrl/bench/internal/widgets"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// objects is the number of objects in a list and in a watch.
const objects = 10_000

var widgetKind = v1.GroupVersion.WithKind("Widget")

// encoded returns each object in the encoding of the API server, with sorted names.
func encoded(b *testing.B) [][]byte {
	b.Helper()
	var all [][]byte
	for i := range objects {
		widget := widgets.New(i)
		widget.UID, widget.ResourceVersion, widget.Generation = types.UID(fmt.Sprintf("2f0cb8b5-9a5b-4bd5-8c4b-%012x", i)),
			fmt.Sprint(1000+i), 1
		widget.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC))
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(widget)
		if err != nil {
			b.Fatal(err)
		}
		data, err := stdjson.Marshal(fields)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

func list(b *testing.B) []byte {
	b.Helper()
	head := []byte(`{"apiVersion":"bench.example.com/v1","kind":"WidgetList",` +
		`"metadata":{"resourceVersion":"99"},"items":[`)
	return append(append(head, bytes.Join(encoded(b), []byte(","))...), `]}`+"\n"...)
}

func events(b *testing.B) []byte {
	b.Helper()
	var stream bytes.Buffer
	for _, data := range encoded(b) {
		fmt.Fprintf(&stream, `{"type":"ADDED","object":%s}`+"\n", data)
	}
	return stream.Bytes()
}

// cpu returns the CPU time of the process, including the garbage collector. Unlike wall time, it does not depend on
// other processes.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// measure calls decode with data b.N times and reports the cost per object.
func measure(b *testing.B, data []byte, decode func(data []byte) error) {
	b.Helper()
	before := cpu(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/objects, "ns/object")
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N)/objects, "cpu-ns/object")
}

func codecs(b *testing.B) serializer.CodecFactory {
	b.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme)
}

func BenchmarkListApimachinery(b *testing.B) {
	decoder := codecs(b).UniversalDeserializer()
	measure(b, list(b), func(data []byte) error {
		_, _, err := decoder.Decode(data, nil, &v1.WidgetList{})
		return err
	})
}

func BenchmarkListStandardLibrary(b *testing.B) {
	measure(b, list(b), func(data []byte) error { return stdjson.Unmarshal(data, &v1.WidgetList{}) })
}

func BenchmarkListGoJSONExperiment(b *testing.B) {
	measure(b, list(b), func(data []byte) error { return json.Unmarshal(data, &v1.WidgetList{}) })
}

func BenchmarkListTokens(b *testing.B) {
	measure(b, list(b), func(data []byte) error {
		tokens := jsontext.NewDecoder(bytes.NewBuffer(data))
		for {
			if _, err := tokens.ReadToken(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}

// body is the answer to each request.
type body []byte

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(b)), Request: r},
		nil
}

// lister lists and watches widgets of a server that returns data.
func lister(b *testing.B, data []byte, prototype object.Object, scope client.Scope) *client.ListWatcher[object.Object] {
	b.Helper()
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	if err := v1.AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	mapper.Add(widgetKind, meta.RESTScopeNamespace)
	live, err := client.New(&rest.Config{Host: "http://in.memory"}, client.Options{Scheme: scheme, Mapper: mapper,
		HTTPClient: &http.Client{Transport: body(data)}})
	if err != nil {
		b.Fatal(err)
	}
	prototype = prototype.DeepCopyObject().(object.Object)
	prototype.GetObjectKind().SetGroupVersionKind(widgetKind)
	lw, err := client.NewListWatcher(live, prototype, scope)
	if err != nil {
		b.Fatal(err)
	}
	return lw
}

// form is a type to decode objects into.
type form struct {
	name      string
	prototype object.Object
	scope     client.Scope
}

func forms() []form {
	return []form{
		{"typed", &v1.Widget{}, client.Scope{}},
		{"typed with managedFields", &v1.Widget{}, client.Scope{KeepManagedFields: true}},
		{"typed with a mask", &v1.Widget{}, client.Scope{Mask: []string{"metadata", "status.conditions"}}},
		{"unstructured", &unstructured.Unstructured{}, client.Scope{}},
		{"metadata", &metav1.PartialObjectMetadata{}, client.Scope{}},
	}
}

func BenchmarkListWire(b *testing.B) {
	for _, test := range forms() {
		b.Run(test.name, func(b *testing.B) {
			data := list(b)
			lw := lister(b, data, test.prototype, test.scope)
			measure(b, data, func([]byte) error {
				_, err := lw.List(b.Context(), metav1.ListOptions{})
				return err
			})
		})
	}
}

func BenchmarkListUnstructuredApimachinery(b *testing.B) {
	measure(b, list(b), func(data []byte) error {
		_, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, &unstructured.UnstructuredList{})
		return err
	})
}

func BenchmarkWatchApimachinery(b *testing.B) {
	factory := codecs(b)
	info, ok := runtime.SerializerInfoForMediaType(factory.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		b.Fatal("no JSON")
	}
	measure(b, events(b), func(data []byte) error {
		frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(bytes.NewReader(data)))
		stream := watch.NewDecoder(streaming.NewDecoder(frames, factory.UniversalDeserializer()),
			factory.UniversalDeserializer())
		for range objects {
			if _, _, err := stream.Decode(); err != nil {
				return err
			}
		}
		return nil
	})
}

func BenchmarkWatchWire(b *testing.B) {
	data := events(b)
	lw := lister(b, data, &v1.Widget{}, client.Scope{})
	measure(b, data, func([]byte) error {
		stream, err := lw.Watch(b.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer stream.Close()
		for range objects {
			if _, err := stream.Next(); err != nil {
				return err
			}
		}
		if _, err = stream.Next(); err == io.EOF {
			return nil
		}
		return err
	})
}

// BenchmarkRetained reports the heap size of a kept object.
func BenchmarkRetained(b *testing.B) {
	data := list(b)
	keep := func(decode func() any) func(*testing.B) {
		return func(b *testing.B) {
			var kept any
			for b.Loop() {
				kept = nil
				before := heap()
				kept = decode()
				b.ReportMetric((heap()-before)/objects, "bytes/object")
			}
			goruntime.KeepAlive(kept)
		}
	}
	deserializer := codecs(b).UniversalDeserializer()
	b.Run("apimachinery", keep(func() any {
		decoded := &v1.WidgetList{}
		if _, _, err := deserializer.Decode(data, nil, decoded); err != nil {
			b.Fatal(err)
		}
		return decoded
	}))
	for _, test := range forms() {
		lw := lister(b, data, test.prototype, test.scope)
		b.Run("wire,"+test.name, keep(func() any {
			page, err := lw.List(b.Context(), metav1.ListOptions{})
			if err != nil {
				b.Fatal(err)
			}
			return page
		}))
	}
}

func heap() float64 {
	goruntime.GC()
	goruntime.GC()
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
