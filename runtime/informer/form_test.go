package informer_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// form sets in the options how an informer keeps its objects.
type form func(options) options

func whole(opts options) options { return opts }

// packed makes the informer keep its objects packed.
func packed(opts options) options {
	packing, err := informer.NewPacking[listwatch.Object](&metav1.PartialObjectMetadata{})
	if err != nil {
		panic(err)
	}
	opts.Packed = packing
	return opts
}

// forms contains all forms by name.
var forms = map[string]form{"whole": whole, "packed": packed}

// inBothForms runs a test for each form, in a bubble of virtual time.
func inBothForms(t *testing.T, test func(t *testing.T, in form)) {
	t.Helper()
	for name, in := range forms {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, in) })
		})
	}
}

// relister answers each streaming list with the config maps of the next round, and ends the previous watch with 410.
type relister struct {
	mu     sync.Mutex
	rounds []string
	expire chan struct{} // closed to end the open watch
}

func (r *relister) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := func(code int, body io.Reader) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(body), Request: request}, nil
	}
	if len(r.rounds) == 0 || request.URL.Query().Get("sendInitialEvents") == "" {
		return answer(410,
			strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
	}
	round := r.rounds[0]
	r.rounds = r.rounds[1:]
	r.expire = make(chan struct{})
	read, write := io.Pipe()
	go func(expire chan struct{}) {
		_, _ = io.WriteString(write, round)
		select {
		case <-expire:
		case <-request.Context().Done():
		}
		_,
			_ = io.WriteString(write,
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`)
		_ = write.Close()
	}(r.expire)
	return answer(200, read)
}

// round returns a streaming list of config maps. The arguments are alternately a name and its version.
func round(version string, objects ...string) string {
	var b strings.Builder
	for i := 0; i < len(objects); i += 2 {
		fmt.Fprintf(&b,
			`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"n","uid":"u-%s","resourceVersion":%q},"data":{"v":%q}}}`+"\n",
			objects[i], objects[i], objects[i+1], objects[i+1])
	}
	fmt.Fprintf(&b,
		`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", version)
	return b.String()
}

// changing is a source that modifies the objects that it delivers. A source may do that if the objects are its own.
type changing struct {
	reflector.ListerWatcher[configMap]
}

func (c changing) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[configMap], error) {
	stream, err := c.ListerWatcher.Watch(ctx, options)
	return changed{stream}, err
}

type changed struct{ client.Stream[configMap] }

func (c changed) Next() (client.WatchEvent[configMap], error) {
	event, err := c.Stream.Next()
	if err == nil && event.Type != watch.Bookmark {
		event.Object.Data["v"] += "?"
	}
	return event, err
}

// TestRelistKeepsTheObjectsThatHaveNotChanged checks that a relist keeps the values of unchanged objects and transforms
// each object once, for every store and every wrapper of the client.
func TestRelistKeepsTheObjectsThatHaveNotChanged(t *testing.T) {
	for _, packed := range []bool{false, true} {
		for _, between := range []string{"", "?"} {
			relistKeeps(t, packed, between)
		}
	}
}

func relistKeeps(t *testing.T, packed bool, between string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := &relister{rounds: []string{round("9", "a", "1", "b", "2", "c", "3"),
		round("19", "a", "1", "b", "12", "d", "4")}}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{Scheme: scheme, Mapper: mapper,
		HTTPClient: &http.Client{Transport: server}})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.NewListWatcher(c, &corev1.ConfigMap{}, client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	source := reflector.ListerWatcher[configMap](watcher)
	if between != "" {
		source = changing{watcher}
	}
	transformed := map[string]int{}
	opts := informer.Options[configMap]{Transform: func(o configMap) (configMap, error) {
		transformed[o.Name+o.ResourceVersion]++
		o.Data["v"] += "!"
		return o, nil
	}}
	if packed {
		if opts.Packed, err = informer.NewPacking(&corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
	}
	inf := informer.New(source, opts)
	done := make(chan error)
	go func() { done <- inf.Run(ctx) }()
	<-inf.Synced()
	get := func(name string) configMap {
		o, _ := inf.Store().Get(object.Key{Namespace: "n", Name: name})
		return o
	}
	a, b := get("a"), get("b")
	relisted := make(chan struct{})
	inf.AddHandler(func(e informer.Event[configMap]) {
		if e.Object.Name == "d" {
			close(relisted)
		}
	})
	close(server.expire)
	<-relisted
	if (get("a") == a) == packed || get("a").Data["v"] != "1"+between+"!" {
		t.Errorf("packed=%v %s: the unchanged object is another one, or was transformed twice: %v", packed, between, get("a"))
	}
	if get("b") == b || get("b").Data["v"] != "12"+between+"!" || get("c") != nil ||
		get("d").Data["v"] != "4"+between+"!" {
		t.Errorf("packed=%v %s: got %v, %v, %v", packed, between, get("b"), get("c"), get("d"))
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if want := map[string]int{"a1": 1, "b2": 1, "c3": 1, "b12": 1, "d4": 1}; !maps.Equal(transformed, want) {
		t.Errorf("packed=%v %s: transformed %v", packed, between, transformed)
	}
}

type lease = *coordinationv1.Lease

// leases is an in-memory API server with a number of leases in one list, and watches without events.
type leases struct {
	mu    sync.Mutex
	count int
}

func (l *leases) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := func(body string) (*http.Response, error) {
		header := http.Header{"Content-Type": []string{"application/json"}}
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)),
			Request: r}, nil
	}
	switch {
	case r.URL.Path == "/apis/coordination.k8s.io/v1":
		return answer(`{"kind":"APIResourceList","groupVersion":"coordination.k8s.io/v1","resources":[{"name":"leases","kind":"Lease","namespaced":true}]}`)
	case r.URL.Query().Has("watch"):
		body, writer := io.Pipe()
		context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
	}
	var items []string
	for i := range l.count {
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":"l%d","uid":"u%d","resourceVersion":"%d"}}`,
			i, i, i+1))
	}
	return answer(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[` + strings.Join(items, ",") + `]}`)
}

// R13
func TestKeepingOneObjectDoesNotKeepTheListItCameIn(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := &leases{count: 100}
	c, err := client.New(&rest.Config{Host: "http://in.memory", Transport: server}, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.NewListWatcher(c, lease(&coordinationv1.Lease{}), client.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var gone []weak.Pointer[coordinationv1.Lease]
	inf := informer.New(watcher, informer.Options[lease]{Name: "leases", DisableWatchList: true})
	reg := inf.AddHandler(func(e informer.Event[lease]) {
		mu.Lock()
		defer mu.Unlock()
		if e.Object.Name != "l50" {
			gone = append(gone, weak.Make(e.Object))
		}
	})
	done := make(chan error)
	go func() { done <- inf.Run(ctx) }()
	<-reg.Synced()
	kept, ok := inf.Store().Get(listwatch.KeyOf("l50"))
	if !ok || len(gone) != 99 {
		t.Fatalf("%v, %d objects", ok, len(gone))
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	inf, reg = nil, nil
	goruntime.GC()
	goruntime.GC()
	held := 0
	for _, p := range gone {
		if p.Value() != nil {
			held++
		}
	}
	if held > 5 { // the stack of an ended goroutine may still hold some objects
		t.Errorf("%d of 99 objects are held by one of their list", held)
	}
	goruntime.KeepAlive(kept)
}

// newObject returns the metadata of an object as typical programs set it.
func newObject(i int) listwatch.Object {
	name := fmt.Sprintf("widget-%06d", i)
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i%20), Name: name, ResourceVersion: fmt.Sprint(1000 + i), Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Unix(1_767_225_600+int64(i), 0)),
		UID:               types.UID(fmt.Sprintf("%08x-6c1d-4f43-9d43-%012x", i*7919, i*104729)),
		Labels: map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop",
			"tier": "backend"},
		Annotations: map[string]string{"bench.example.com/checksum": fmt.Sprintf("%064x", i*7919)},
	}}
	return o
}

// listing is a source with one list and no events.
type listing struct{ count int }

func (l listing) List(context.Context, metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	page := &client.Page[listwatch.Object]{ResourceVersion: "1"}
	for i := range l.count {
		page.Items = append(page.Items, newObject(i))
	}
	return page, nil
}

func (l listing) Watch(ctx context.Context, _ metav1.ListOptions) (client.Stream[listwatch.Object], error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// storeOf returns a store with count objects.
func storeOf(b *testing.B, in form, count int) informer.Store[listwatch.Object] {
	b.Helper()
	inf := informer.New(listing{count}, in(options{DisableWatchList: true, Logger: slog.New(slog.DiscardHandler)}))
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	<-inf.Synced()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	return inf.Store()
}

func heap() float64 {
	goruntime.GC()
	goruntime.GC()
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// BenchmarkStoreAll iterates over 10,000 objects, and reports the heap size of each object.
func BenchmarkStoreAll(b *testing.B) {
	const count = 10_000
	for name, in := range forms {
		b.Run(name, func(b *testing.B) {
			before := heap()
			store := storeOf(b, in, count)
			each := (heap() - before) / count
			b.ReportAllocs()
			for b.Loop() {
				for _, o := range store.All() {
					if o.Name == "" {
						b.Fatal("no name")
					}
				}
			}
			b.ReportMetric(each, "heap-bytes/object")
		})
	}
}

func BenchmarkStoreGet(b *testing.B) {
	for name, in := range forms {
		b.Run(name, func(b *testing.B) {
			store := storeOf(b, in, 10_000)
			keys := slices.Collect(maps.Keys(maps.Collect(store.All())))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := store.Get(keys[i%len(keys)]); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}
