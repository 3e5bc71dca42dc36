package events_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// live is a real API server and a namespace on it that no other test uses.
type live struct {
	*client.REST
	config    *rest.Config
	namespace string
}

// E01, E02: on an API server, which validates every field.
func TestOnAServer(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme} {
		ok(t, add(scheme))
	}
	config := inmemory.Start(t).Config
	c, err := client.New(config, client.Options{Scheme: scheme})
	ok(t, err)
	for _, test := range []struct {
		rule string
		run  func(t *testing.T, c live)
	}{
		{"a series of events.k8s.io/v1 is created, patched, and created again when it is gone", testSeries},
		{"core events are counted and combined", testCounts},
		{"everything that a recorder lets through is taken", testLimits},
		{"a forbidden event is logged with the marker, and written once it is allowed", testForbidden},
		{"events about cluster-scoped objects are in default, past ones have their time", testClusterScoped},
	} {
		t.Run(test.rule, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "events-"}}
			ok(t, c.Create(t.Context(), namespace))
			test.run(t, live{c, config, namespace.Name})
		})
	}
}

// broadcaster is a running broadcaster with its metrics and log.
type broadcaster struct {
	*events.Broadcaster
	*events.Recorder
	registry *metrics.Registry
	log      *buffer
	shutDown func() // ends Run, which first writes the remaining events
}

func (c live) broadcaster(t *testing.T, opts events.Options) *broadcaster {
	t.Helper()
	b := &broadcaster{registry: metrics.NewRegistry(), log: &buffer{}}
	opts.Scheme, opts.Instance, opts.Metrics, opts.Logger = c.Scheme(), "host", b.registry,
		slog.New(slog.NewTextHandler(b.log, nil))
	b.Broadcaster = events.New(opts)
	b.Recorder = b.Broadcaster.Recorder("example.com/guestbook")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	b.shutDown = sync.OnceFunc(func() {
		cancel()
		ok(t, <-ended)
	})
	t.Cleanup(b.shutDown)
	return b
}

// written waits until the broadcaster has made that many writes of a verb.
func (b *broadcaster) written(t *testing.T, verb string, times int) {
	t.Helper()
	counter := b.registry.Counter("kctrl_events_written_total", "", "verb")
	await(t, fmt.Sprintf("%d times %s", times, verb), func() bool { return int(counter.Value(verb)) >= times })
}

// await polls a condition that another goroutine makes true.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(time.Minute); !condition(); {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s: waited for a minute", what)
		}
	}
}

func testSeries(t *testing.T, c live) {
	b := c.broadcaster(t, events.Options{Sink: events.NewSink(c)})
	pod, node := c.pod("p"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	recorder := b.WithAnnotations(map[string]string{"example.com/attempt": "1"})
	record := func() { recorder.Eventf(pod, node, events.Warning, "FailedMount", "MountVolume", "disk %d", 1) }
	record()
	b.written(t, "create", 1)
	e := c.events(t)[0]
	if e.Series != nil || e.Type != "Warning" || e.Reason != "FailedMount" || e.Action != "MountVolume" ||
		e.Note != "disk 1" ||
		e.ReportingController != "example.com/guestbook" || e.ReportingInstance != "example.com/guestbook-host" ||
		e.Regarding != (corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: c.namespace, Name: "p", UID: "u",
			ResourceVersion: "1"}) ||
		*e.Related != (corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n"}) ||
		e.Annotations["example.com/attempt"] != "1" ||
		time.Since(e.EventTime.Time) > time.Minute {
		t.Errorf("the API server has %+v", e)
	}
	record()
	b.written(t, "patch", 1)
	if e := c.events(t)[0]; e.Series == nil || e.Series.Count != 2 || e.Series.LastObservedTime.Before(&e.EventTime) {
		t.Errorf("the API server has %+v", e)
	}
	for range 5 {
		record()
	}
	ok(t, c.Delete(t.Context(), &e))
	b.shutDown()
	if all := c.events(t); len(all) != 1 || all[0].Name != e.Name || all[0].Series.Count != 7 || all[0].Note != "disk 1" {
		t.Errorf("the API server has %+v", all)
	}
}

func testCounts(t *testing.T, c live) {
	b := c.broadcaster(t, events.Options{Sink: events.NewCoreSink(c), Correlation: events.ByCount})
	for i, verb := range []string{"create", "patch", "patch"} {
		b.Eventf(c.pod("p"), nil, events.Normal, "Pulled", "PullImage", "the same")
		b.written(t, verb, max(1, i))
	}
	for i := range 12 {
		b.Eventf(c.pod("q"), nil, events.Normal, "Pulled", "PullImage", "layer %d", i)
	}
	b.shutDown()
	var list corev1.EventList
	ok(t, c.List(t.Context(), &list, client.InNamespace(c.namespace)))
	if len(list.Items) != 11 {
		t.Fatalf("%d events, want 1 and 10", len(list.Items))
	}
	var same, combined corev1.Event
	for _, e := range list.Items {
		switch {
		case e.Message == "the same":
			same = e
		case strings.HasPrefix(e.Message, "(combined"):
			combined = e
		}
	}
	if same.Count != 3 || same.Source.Component != "example.com/guestbook" || same.InvolvedObject.Name != "p" ||
		same.Action != "PullImage" ||
		same.LastTimestamp.Before(&same.FirstTimestamp) || same.FirstTimestamp.IsZero() || !same.EventTime.IsZero() {
		t.Errorf("the API server has %+v", same)
	}
	if combined.Count != 3 || combined.Message != "(combined from similar events): layer 11" {
		t.Errorf("the API server has %+v", combined)
	}
	// The events.k8s.io form of the same events has the same counts.
	for _, e := range c.events(t) {
		if e.Name == same.Name && (e.DeprecatedCount != 3 || e.Note != "the same") {
			t.Errorf("the API server has %+v", e)
		}
	}
}

func testLimits(t *testing.T, c live) {
	word, long := strings.Repeat("x", 128), strings.Repeat("é\xff", 5000)
	for name, opts := range map[string]events.Options{
		"events.k8s.io": {Sink: events.NewSink(c)},
		"core":          {Sink: events.NewCoreSink(c), Correlation: events.ByCount},
	} {
		b := c.broadcaster(t, opts)
		for i := range 12 {
			b.Eventf(c.pod("system:admin"), c.pod(strings.Repeat("x", 300)), events.Normal, word, word, "%d %s", i, long)
		}
		b.shutDown()
		if text := b.log.String(); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	if n := len(c.events(t)); n != 11 {
		t.Errorf("%d events, want a series and 10", n)
	}
}

func testForbidden(t *testing.T, c live) {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	forbidden, err := client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	ok(t, err)
	sink := &switched{Sink: events.NewSink(forbidden)}
	b := c.broadcaster(t, events.Options{Sink: sink})
	b.Eventf(c.pod("p"), nil, events.Normal, "Pulled", "PullImage", "")
	const marker = "+kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch"
	await(t, "the log", func() bool { return strings.Contains(b.log.String(), marker) })
	if err := sink.Create(t.Context(), events.Event{Namespace: c.namespace, Name: "x"}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	sink.to(events.NewSink(c))
	b.Eventf(c.pod("p"), nil, events.Normal, "Pulled", "PullImage", "")
	b.shutDown()
	if all := c.events(t); len(all) != 1 || all[0].Series.Count != 2 {
		t.Errorf("the API server has %+v", all)
	}
}

func testClusterScoped(t *testing.T, c live) {
	past := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	for name, opts := range map[string]events.Options{
		"new": {Sink: events.NewSink(c)},
		"old": {Sink: events.NewCoreSink(c), Correlation: events.ByCount},
	} {
		b := c.broadcaster(t, opts)
		b.At(past).Eventf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil, events.Normal, "Joined", "Join", "")
		b.shutDown()
	}
	in := live{c.REST, c.config, "default"}
	found := 0
	for _, e := range in.events(t) {
		if e.Reason == "Joined" && (e.EventTime.Time.Equal(past) || e.DeprecatedFirstTimestamp.Time.Equal(past)) {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d events in default, want 2", found)
	}
}

// pod returns a pod that need not exist.
func (c live) pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, UID: "u", ResourceVersion: "1"}}
}

// events returns the events in the namespace.
func (c live) events(t *testing.T) []eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	ok(t, c.List(t.Context(), &list, client.InNamespace(c.namespace)))
	return list.Items
}

// switched is a sink that can be replaced by another one.
type switched struct {
	mu sync.Mutex
	events.Sink
}

func (s *switched) to(sink events.Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Sink = sink
}

func (s *switched) Create(ctx context.Context, e events.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Sink.Create(ctx, e)
}

// buffer is a log.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
