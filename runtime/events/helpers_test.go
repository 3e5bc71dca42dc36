package events

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

func eventGroupKind() schema.GroupKind {
	return schema.GroupKind{Group: eventResource.Group, Kind: "Event"}
}

var (
	errDown       = errors.New("connection refused")
	eventResource = schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
)

// memory is a Sink that stores events as an API server does.
type memory struct {
	mu sync.Mutex
	// calls contains all calls, including failed ones, for example "create web.1".
	calls []string
	// order contains the names of the stored events in the order of their creation.
	order  []string
	stored map[string]Event
	// before can fail a call before it has an effect, and after can fail it afterwards. nil lets all calls succeed.
	before, after func(ctx context.Context, verb string, e Event) error
}

func newMemory() *memory { return &memory{stored: map[string]Event{}} }

func (m *memory) Create(ctx context.Context, e Event) error {
	return m.call(ctx, "create", e, func() error {
		if _, ok := m.stored[e.Name]; ok {
			return apierrors.NewAlreadyExists(eventResource, e.Name)
		}
		m.order = append(m.order, e.Name)
		m.stored[e.Name] = e
		return nil
	})
}

func (m *memory) Patch(ctx context.Context, e Event) error {
	return m.call(ctx, "patch", e, func() error {
		old, ok := m.stored[e.Name]
		if !ok {
			return apierrors.NewNotFound(eventResource, e.Name)
		}
		old.Count, old.Last, old.Note = e.Count, e.Last, e.Note
		m.stored[e.Name] = old
		return nil
	})
}

func (m *memory) call(ctx context.Context, verb string, e Event, do func() error) error {
	m.mu.Lock()
	m.calls = append(m.calls, verb+" "+e.Reason)
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, verb, e); err != nil {
			return err
		}
	}
	m.mu.Lock()
	err := do()
	m.mu.Unlock()
	if err == nil && after != nil {
		return after(ctx, verb, e)
	}
	return err
}

// fail makes all calls fail with err. If err is nil, calls succeed again.
func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = func(context.Context, string, Event) error { return err }
}

// hang makes all calls block until their context ends.
func (m *memory) hang() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = func(ctx context.Context, _ string, _ Event) error { <-ctx.Done(); return ctx.Err() }
}

// forget deletes all events, as if their time to live had passed.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.stored)
	m.order = nil
}

// all returns the events in the order of their creation.
func (m *memory) all() (events []Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.order {
		events = append(events, m.stored[name])
	}
	return events
}

// written returns the calls since the last call of written.
func (m *memory) written() []string {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return calls
}

// fixture is a broadcaster with an in-memory sink, in a synctest bubble.
type fixture struct {
	*Recorder
	broadcaster *Broadcaster
	sink        *memory
	registry    *metrics.Registry
	log         *lines
	stop        context.CancelFunc
	ended       chan struct{} // closed when Run has returned err
	err         error
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{sink: newMemory(), registry: metrics.NewRegistry(), log: &lines{}, ended: make(chan struct{})}
	opts := Options{Sink: f.sink, Instance: "host", Metrics: f.registry, Logger: slog.New(slog.NewTextHandler(f.log, nil))}
	if change != nil {
		change(&opts)
	}
	f.broadcaster = New(opts)
	f.Recorder = f.broadcaster.Recorder("guestbook")
	return f
}

// run starts Run and stops it when the test ends.
func (f *fixture) run(t *testing.T) *fixture {
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = cancel
	go func() {
		defer close(f.ended)
		f.err = f.broadcaster.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-f.ended })
	return f
}

// shutDown ends Run and waits for it.
func (f *fixture) shutDown() {
	f.stop()
	<-f.ended
}

// dropped returns the number of events that were dropped for a reason.
func (f *fixture) dropped(reason string) int {
	return int(f.registry.Counter("kctrl_events_dropped_total", "", "reason").Value(reason))
}

// say records an event about an object with a reason and a note.
func (f *fixture) say(about *metav1.PartialObjectMetadata, reason, note string) {
	f.Eventf(about, nil, Normal, reason, "Testing", "%s", note)
}

// thing returns an object.
func thing(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Thing"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: "u-1", ResourceVersion: "7"},
	}
}

// lines are the lines of a log.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, strings.TrimSpace(string(p)))
	return len(p), nil
}

// with returns the lines that contain part.
func (l *lines) with(part string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.text {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) { t.Helper(); synctest.Test(t, test) }

// want fails the test unless the calls are these.
func want(t *testing.T, got []string, calls ...string) {
	t.Helper()
	if !slices.Equal(got, calls) {
		t.Errorf("calls are %q, want %q", got, calls)
	}
}
