package controller_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// feed is a source that a test drives. Its zero value syncs at once. Its type is not comparable, because sources need
// not be comparable.
type feed struct {
	name     string
	existing []string      // requests for the objects that exist at the start
	delay    time.Duration // time until it syncs
	fails    time.Duration // time after which it ends with failure; 0 means never
	failure  error
	lingers  time.Duration // how long it continues to run after its context ends
	why      error         // result of Err
	started  chan handler.Queue[string]
}

func (f feed) String() string { return "feed " + f.name }

func (f feed) Err() error { return f.why }

func (f feed) Run(ctx context.Context, queue handler.Queue[string], synced func()) error {
	if f.started != nil {
		f.started <- queue
	}
	queue.Add(f.existing...)
	syncs := time.After(f.delay)
	var ends <-chan time.Time
	if f.failure != nil {
		ends = time.After(f.fails)
	}
	for {
		select {
		case <-ctx.Done():
			<-time.After(f.lingers)
			return nil
		case <-syncs:
			synced()
		case <-ends:
			return f.failure
		}
	}
}

// run is a controller that runs in a bubble of virtual time.
type run struct {
	t       *testing.T
	start   time.Time
	stop    context.CancelCauseFunc
	ended   chan error
	c       *controller.Controller[string]
	queue   handler.Queue[string] // of the controller
	logs    *bytes.Buffer         // to be read only when the controller is idle
	metrics *metrics.Registry
}

// start runs a controller with a source that has synced, and with the sources in more.
func start(t *testing.T, r reconcile.Func[string], opts controller.Options, more ...feed) *run {
	t.Helper()
	s := &run{t: t, start: time.Now(), ended: make(chan error, 1), logs: &bytes.Buffer{}, metrics: metrics.NewRegistry()}
	opts.Logger = slog.New(slog.NewTextHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts.Metrics = s.metrics
	s.c = controller.New("test", r, opts)
	first := feed{name: "first", started: make(chan handler.Queue[string], 1)}
	for _, f := range append([]feed{first}, more...) {
		if err := s.c.Watch(f); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	s.stop = cancel
	go func() { s.ended <- s.c.Run(ctx) }()
	s.queue = <-first.started
	synctest.Wait()
	return s
}

// becauseOf returns a controller's queue for one event, as a source of a kind requests it.
func becauseOf[R comparable](queue handler.Queue[R], kind string, e informer.Event[object.Object]) handler.Queue[R] {
	return queue.(interface {
		Because(kind string, e informer.Event[object.Object]) handler.Queue[R]
	}).Because(kind, e)
}

// end stops the controller and returns what Run returned.
func (s *run) end() error {
	s.stop(nil)
	return <-s.ended
}

// log records events and their times.
type log struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newLog() *log { return &log{start: time.Now()} }

// add records an event with the current time.
func (l *log) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, time.Since(l.start).String()+" "+what)
}

// take returns the lines since the last call.
func (l *log) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// takes returns a reconciler that takes d and records its beginning and its end.
func (l *log) takes(d time.Duration) reconcile.Func[string] {
	return func(_ context.Context, request string) (reconcile.Result, error) {
		l.add("begin " + request)
		if d > 0 {
			<-time.After(d)
			l.add("end " + request)
		}
		return reconcile.Result{}, nil
	}
}

// returns returns a reconciler that records its calls and returns the answers in order. After the last answer, it
// repeats that one.
func (l *log) returns(answers ...answer) reconcile.Func[string] {
	n := 0
	return func(_ context.Context, request string) (reconcile.Result, error) {
		l.add(request)
		a := answers[min(n, len(answers)-1)]
		n++
		return reconcile.Result{RequeueAfter: a.after, Requeue: a.requeue}, a.err
	}
}

type answer struct {
	after   time.Duration
	requeue bool
	err     error
}

// pass advances the virtual time by d and waits until everything that is then due has run.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// expect fails the test unless got equals want.
func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

// twice is a feed that reports its sync twice.
type twice struct{ feed }

func (f twice) Run(ctx context.Context, queue handler.Queue[string], synced func()) error {
	return f.feed.Run(ctx, queue, func() {
		synced()
		synced()
	})
}
