package source_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// queue records the added requests, and the sync of the source as a line between them.
type queue struct {
	mu    sync.Mutex
	lines []string
}

func (q *queue) Add(requests ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = append(q.lines, requests...)
}

func (q *queue) AddAfter(request string, d time.Duration) { q.Add(request + " after " + d.String()) }

func (q *queue) AddWith(_ workqueue.AddOptions, requests ...string) { q.Add(requests...) }

func (q *queue) synced() { q.Add("synced") }

// take returns the lines since the last call.
func (q *queue) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	lines := q.lines
	q.lines = nil
	return lines
}

// describe is a handler that adds a description of each event as a request, such as "Added a".
func describe(_ context.Context, e informer.Event[*corev1.ConfigMap], queue handler.Queue[string]) {
	line := fmt.Sprint(e.Type, " ", e.Object.Name)
	if e.Old != nil {
		line += fmt.Sprint(" ", e.Old.Data["key"], "->", e.Object.Data["key"])
	}
	if e.Initial {
		line += " initial"
	}
	queue.Add(line)
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": value}}
}

// not returns a predicate that drops events of the object with that name.
func not(name string) predicate.Predicate {
	return predicate.Object(func(o *corev1.ConfigMap) bool { return o.Name != name })
}

// run runs s in the background. Calling end stops it and returns the result of Run.
func run(t *testing.T, s source.Source[string], q *queue) (end func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, q, q.synced) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-ended
	}
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// withKind tests a source of ConfigMaps in a bubble of virtual time. If refused is true, the server forbids access to
// ConfigMaps.
func withKind(t *testing.T, refused bool, test func(t *testing.T, a *api, s source.Source[string]),
	predicates ...predicate.Predicate) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.refused = refused
		c := newCache(t, a)
		s := source.Kind(c, &corev1.ConfigMap{}, describe, predicates...)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		test(t, a, s)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestKindSyncsAfterWhatExistedHasBeenAdded(t *testing.T) {
	withKind(t, false, func(t *testing.T, a *api, s source.Source[string]) {
		q := &queue{}
		a.send("ADDED", configMap("a", "1"))
		end := run(t, s, q)
		expect(t, "before the informer has synced", q.take())
		a.sync()
		synctest.Wait()
		expect(t, "at the start", q.take(), "Added a initial", "synced")
		a.send("MODIFIED", configMap("a", "2"))
		synctest.Wait()
		a.send("ADDED", configMap("b", "1"))
		synctest.Wait()
		a.send("DELETED", configMap("a", "2"))
		synctest.Wait()
		expect(t, "later", q.take(), "Updated a 1->2", "Added b", "Deleted a")
		if err := end(); err != nil {
			t.Error(err)
		}
		a.send("ADDED", configMap("c", "1"))
		synctest.Wait()
		expect(t, "after the end", q.take())
	})
}

func TestKindHandlesEventsThatCountForAllPredicates(t *testing.T) {
	withKind(t, false, func(t *testing.T, a *api, s source.Source[string]) {
		for _, name := range []string{"a", "b", "c"} {
			a.send("ADDED", configMap(name, "1"))
		}
		a.sync()
		q := &queue{}
		end := run(t, s, q)
		expect(t, "requests", q.take(), "Added b initial", "synced")
		end()
	}, not("a"), not("c"))
}

func TestKindEndsBeforeItHasSynced(t *testing.T) {
	withKind(t, true, func(t *testing.T, _ *api, s source.Source[string]) {
		q := &queue{}
		end := run(t, s, q)
		if err := s.Err(); !apierrors.IsForbidden(err) {
			t.Errorf("Err: %v", err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		expect(t, "requests", q.take())
	})
}

func TestKindNamesItself(t *testing.T) {
	withKind(t, false, func(t *testing.T, _ *api, s source.Source[string]) {
		if s.String() != "kind ConfigMap" {
			t.Errorf("got %q", s)
		}
	})
}

func TestKindPassesAContextThatEndsWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		c := newCache(t, a)
		var ended error
		s := source.Kind(c, &corev1.ConfigMap{}, func(ctx context.Context, _ informer.Event[*corev1.ConfigMap],
			_ handler.Queue[string]) {
			<-ctx.Done()
			ended = ctx.Err()
		})
		a.send("ADDED", configMap("a", "1"))
		a.sync()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		end := run(t, s, &queue{})
		if err := end(); err != nil || !errors.Is(ended, context.Canceled) {
			t.Errorf("Run returned %v, and the context of the handler was ended by %v", err, ended)
		}
		cancel()
		running.Wait()
	})
}

func TestKindWorksOnObjectsInGeneral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q := newAPI(), &queue{}
		c := newCache(t, a)
		s := source.Kind(c, object.Object(&corev1.ConfigMap{}), func(_ context.Context, e informer.Event[object.Object],
			queue handler.Queue[string]) {
			queue.Add(fmt.Sprintf("%s %T %v", e.Type, e.Object, e.Old != nil))
		})
		a.send("ADDED", configMap("a", "1"))
		a.sync()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		end := run(t, s, q)
		a.send("MODIFIED", configMap("a", "2"))
		synctest.Wait()
		expect(t, "requests", q.take(), "Added *v1.ConfigMap false", "synced", "Updated *v1.ConfigMap true")
		end()
		cancel()
		running.Wait()
	})
}

func TestKindThatTheSchemeDoesNotKnowIsAnError(t *testing.T) {
	s := source.Kind(newCache(t, newAPI()), &metav1.PartialObjectMetadata{},
		func(context.Context, informer.Event[*metav1.PartialObjectMetadata], handler.Queue[string]) {})
	for what, err := range map[string]error{
		"Failure": source.Failure(s), "Failure of an optional one": source.Failure(source.Optional(s)), "Err": s.Err(),
		"Run": s.Run(t.Context(), &queue{}, func() { t.Error("has synced") }),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestChannelIsSyncedFromTheStartAndPassesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, q := make(chan informer.Event[*corev1.ConfigMap]), &queue{}
		s := source.Channel(events, describe, not("b"))
		end := run(t, s, q)
		expect(t, "at the start", q.take(), "synced")
		for _, name := range []string{"a", "b", "c"} {
			events <- informer.Event[*corev1.ConfigMap]{Type: informer.Added, Object: configMap(name, "")}
		}
		synctest.Wait()
		expect(t, "requests", q.take(), "Added a", "Added c")
		if err := s.Err(); err != nil {
			t.Error(err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func TestClosedChannelIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan informer.Event[*corev1.ConfigMap])
		s := source.Channel(events, describe)
		close(events)
		end := run(t, s, &queue{})
		if err := s.Err(); !errors.Is(err, source.ErrClosed) {
			t.Errorf("Err: %v", err)
		}
		if err := end(); !errors.Is(err, source.ErrClosed) || err.Error() != "channel of *v1.ConfigMap: channel was closed" {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestFuncIsASource(t *testing.T) {
	fails := errors.New("no")
	s := source.Func("ticks", func(_ context.Context, queue handler.Queue[string], synced func()) error {
		queue.Add("a")
		synced()
		return fails
	})
	if s.String() != "ticks" || s.Err() != nil {
		t.Errorf("got %s, %v", s, s.Err())
	}
	q := &queue{}
	if err := s.Run(t.Context(), q, q.synced); err != fails || s.Err() != fails {
		t.Errorf("got %v, %v", err, s.Err())
	}
	if got := q.take(); !slices.Equal(got, []string{"a", "synced"}) {
		t.Errorf("got %q", got)
	}
}

// waits is a source that does not sync before its context ends. Its Wait returns err, or waits for the end of its
// context if err is nil.
type waits struct {
	source.Source[string]
	err error
}

func (w waits) Run(ctx context.Context, _ handler.Queue[string], synced func()) error {
	<-ctx.Done()
	synced()
	return nil
}

func (w waits) Wait(ctx context.Context) error {
	if w.err == nil {
		<-ctx.Done()
	}
	return w.err
}

func TestOptionalSourceSyncsWhenItsKindIsFoundToBeAbsent(t *testing.T) {
	unknown := fmt.Errorf("list things: %w", &meta.NoKindMatchError{})
	for what, r := range map[string]struct {
		source source.Source[string]
		want   int // number of syncs before the end
	}{
		"required":      {waits{err: unknown}, 0},
		"optional":      {source.Optional[string](waits{err: unknown}), 1},
		"another error": {source.Optional[string](waits{err: errors.New("forbidden")}), 0},
		"no error":      {source.Optional[string](waits{}), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var synced atomic.Int32
			ended := make(chan error, 1)
			go func() { ended <- r.source.Run(ctx, nil, func() { synced.Add(1) }) }()
			synctest.Wait()
			if got := int(synced.Load()); got != r.want {
				t.Errorf("%s: synced %d times", what, got)
			}
			cancel()
			if err := <-ended; err != nil || synced.Load() != 1 {
				t.Errorf("%s: synced %d times in the end, %v", what, synced.Load(), err)
			}
		})
	}
}
