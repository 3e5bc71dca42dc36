package events

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// Broadcaster passes events from recorders to a sink, to watchers and to the log. Create one with [New].
type Broadcaster struct {
	opts Options
	// reference returns the reference to an object.
	reference func(object.Object) (Reference, error)
	metrics   *instruments
	// queue holds the unwritten records, including those that wait for a retry, and sometimes sweep.
	queue queue
	// sweep is a marker in the queue instead of a record. It schedules the check for ended series.
	sweep *record

	mu         sync.Mutex
	correlator correlator
	// unwritten holds the records whose current state the sink does not have, at most QueueSize.
	unwritten map[*record]struct{}
	// records is the number of records that have been created.
	records uint64
	// sweeping means that sweep is in the queue.
	sweeping bool
	// filtered is the part of correlator.filtered that the metrics already include.
	filtered int
	// stamp is the last used timestamp.
	stamp time.Duration
	// logged is when each message of report was last logged.
	logged map[string]time.Time
	// watchers is replaced but never modified, so that it can be read after mu has been released.
	watchers []*Watcher
	// closed is set when the context of Run ends; after that, the sink gets no new events.
	closed bool

	started atomic.Bool // by Run
}

// queue is a [workqueue.Queue], behind an interface. The compiler compiles a generic type again in each package that
// uses a type with a field of the generic type, directly or indirectly, and every package with a recorder uses
// Broadcaster.
type queue interface {
	Get(ctx context.Context) (r *record, ok bool)
	Done(r *record)
	Add(records ...*record)
	AddAfter(r *record, d time.Duration)
	AddRateLimited(r *record)
	Forget(r *record)
	ShutDown()
}

func (b *Broadcaster) referenceOf(o runtime.Object) (Reference, error) {
	if isNil(o) {
		return Reference{}, errNoObject
	}
	named, ok := o.(object.Object)
	if !ok {
		return Reference{}, fmt.Errorf("%T has no metadata", o)
	}
	return b.reference(named)
}

// New returns a broadcaster. It starts no goroutine. Watchers and the log receive events immediately; the sink receives
// them when [Broadcaster.Run] is called.
func New(opts Options) *Broadcaster {
	opts = opts.complete()
	return &Broadcaster{
		opts:       opts,
		reference:  func(o object.Object) (Reference, error) { return ReferenceTo(o, opts.Scheme) },
		metrics:    newInstruments(opts.Metrics),
		queue:      workqueue.New[*record](workqueue.Options{BaseDelay: retryBase, MaxDelay: retryMax}),
		sweep:      &record{},
		correlator: newCorrelator(opts),
		unwritten:  map[*record]struct{}{},
		logged:     map[string]time.Time{},
	}
}

// Recorder returns a recorder for the named controller, such as "guestbook" or "example.com/guestbook". It panics if
// the name is not a qualified name, because API servers reject events with such a reportingController.
func (b *Broadcaster) Recorder(controller string) *Recorder {
	if problems := validation.IsQualifiedName(controller); len(problems) > 0 {
		panic("events: the name of a controller is not valid: " + controller + ": " + problems[0])
	}
	return &Recorder{broadcaster: b, controller: controller, instance: cut(controller+"-"+b.opts.Instance, maxInstance)}
}

// record sets the name of an event, and passes the event to the sink, the watchers and the log.
func (b *Broadcaster) record(e Event) {
	b.metrics.recorded.Inc(e.Type)
	watchers, lost, closed := b.keep(&e)
	switch {
	case closed:
		b.metrics.dropped.Inc(dropShutdown)
	case lost > 0:
		b.metrics.dropped.Add(float64(lost), dropOverload)
		b.report(slog.LevelWarn, "too many events wait for being written: some are dropped", "event", e)
	}
	for _, w := range watchers {
		select {
		case w.events <- e:
		default:
			w.dropped.Add(1)
		}
	}
	b.opts.Logger.Log(context.Background(), b.opts.LogLevel.Level(), "recorded an event", "event", e)
}

// keep sets the name of e, counts e, and queues the records to write for it. It returns the current watchers, the
// number of events that exceed the limit, and whether the broadcaster is closed.
func (b *Broadcaster) keep(e *Event) (watchers []*Watcher, lost int, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.stamp = max(b.stamp+1, time.Duration(now.UnixNano()))
	e.Name = nameOf(e.Regarding, b.stamp)
	if b.opts.Sink == nil || b.closed {
		return b.watchers, 0, b.opts.Sink != nil
	}
	last, _ := b.correlator.expire(now)
	lost = b.queueLocked(last...) + b.queueLocked(b.correlator.observe(*e, now, b.queuedLocked)...)
	if !b.sweeping {
		b.sweeping = true
		b.queue.AddAfter(b.sweep, seriesEnd)
	}
	filtered := b.correlator.filtered()
	b.metrics.dropped.Add(float64(filtered-b.filtered), dropSpam)
	b.filtered = filtered
	return b.watchers, lost, false
}

// queuedLocked reports whether r is already unwritten.
func (b *Broadcaster) queuedLocked(r *record) bool {
	_, queued := b.unwritten[r]
	return queued
}

// queueLocked queues records for writing, and returns the number that exceed the limit.
func (b *Broadcaster) queueLocked(records ...*record) (lost int) {
	for _, r := range records {
		if !b.queuedLocked(r) && len(b.unwritten) >= b.opts.QueueSize {
			lost++
			continue
		}
		if r.order == 0 {
			b.records++
			r.order = b.records
		}
		b.unwritten[r] = struct{}{}
		b.queue.Add(r)
	}
	return lost
}

// Run writes events to the sink until ctx ends. It then tries once to write each remaining event, within FlushTimeout,
// and returns nil after its goroutine has ended. It logs the number of events that it could not write. Events that are
// recorded after the end of ctx reach only watchers and the log. Run can be called only once.
func (b *Broadcaster) Run(ctx context.Context) error {
	if b.started.Swap(true) {
		return life.ErrAlreadyRun
	}
	// A write that has begun continues after the end of ctx.
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.work(ctx, writing)
	}()
	<-ctx.Done()
	b.mu.Lock()
	b.closed = true
	b.queue.ShutDown()
	b.mu.Unlock()
	timer := time.AfterFunc(b.opts.FlushTimeout, stop)
	defer timer.Stop()
	<-ended
	b.flush(writing)
	return nil
}

// work writes queued records until ctx ends.
func (b *Broadcaster) work(ctx, writing context.Context) {
	for {
		r, ok := b.queue.Get(ctx)
		if !ok {
			return
		}
		if r == b.sweep {
			b.finish()
		} else {
			b.write(writing, r)
		}
		b.queue.Done(r)
	}
}

// finish queues the final counts of ended series.
func (b *Broadcaster) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	last, next := b.correlator.expire(now)
	b.metrics.dropped.Add(float64(b.queueLocked(last...)), dropOverload)
	if b.sweeping = !next.IsZero(); b.sweeping {
		b.queue.AddAfter(b.sweep, next.Sub(now))
	}
}

// flush writes all records that the sink does not have, once and in order, until ctx ends.
func (b *Broadcaster) flush(ctx context.Context) {
	for _, r := range b.unfinished() {
		if ctx.Err() != nil {
			break
		}
		b.write(ctx, r)
	}
	b.mu.Lock()
	lost := len(b.unwritten)
	b.mu.Unlock()
	if lost > 0 {
		b.metrics.dropped.Add(float64(lost), dropShutdown)
		b.opts.Logger.Warn("events could not be written before the end", "lost", lost)
	}
}

// unfinished returns all records that the sink does not have in their current state, oldest first.
func (b *Broadcaster) unfinished() []*record {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.correlator.unfinished() {
		b.unwritten[r] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(b.unwritten), func(x, y *record) int { return cmp.Compare(x.order, y.order) })
}

const (
	// maxAttempts is the number of attempts of a write. With the pauses below, they take two minutes.
	maxAttempts = 12
	retryBase   = time.Second
	retryMax    = 15 * time.Second
	// attemptTimeout is the timeout of one attempt.
	attemptTimeout = 30 * time.Second
)

// namespaceTerminating is the cause of a rejection because the namespace is being deleted.
const namespaceTerminating = "NamespaceTerminating"

// write sends r to the sink once. After a failure that may be temporary, it queues r again.
func (b *Broadcaster) write(ctx context.Context, r *record) {
	b.mu.Lock()
	delete(b.unwritten, r)
	e, stored := r.event, r.stored
	b.mu.Unlock()
	attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	verb, err := b.put(attempt, e, stored)
	if err == nil {
		b.mu.Lock()
		r.stored, r.written, r.wrote, r.attempts = true, e.Count, time.Now(), 0
		b.queue.Forget(r)
		b.mu.Unlock()
		b.metrics.written.Inc(verb)
		return
	}
	switch attempts, again := b.failed(r, err); {
	case again:
		b.report(slog.LevelWarn, "an event cannot be written now", "event", e, "err", err)
	case attempts == maxAttempts:
		b.metrics.dropped.Inc(dropUnreachable)
		b.report(slog.LevelError, "an event is dropped because it could not be written", "event", e, "attempts", attempts,
			"err", err)
	default:
		b.metrics.dropped.Inc(dropRefused)
		b.reportRejected(e, err)
	}
}

// put creates e, or patches e if it is stored. It creates a deleted event again. If an event exists although it is not
// recorded as stored, an attempt whose answer was lost has created it; put then patches it if its count has changed.
func (b *Broadcaster) put(ctx context.Context, e Event, stored bool) (verb string, err error) {
	if stored {
		err := b.opts.Sink.Patch(ctx, e)
		if !apierrors.IsNotFound(err) {
			return "patch", err
		}
	}
	err = b.opts.Sink.Create(ctx, e)
	switch {
	case !apierrors.IsAlreadyExists(err):
		return "create", err
	case e.Count == 1:
		return "create", nil
	}
	return "patch", b.opts.Sink.Patch(ctx, e)
}

// failed records a failed write of r. It returns the number of attempts, and whether to try again.
func (b *Broadcaster) failed(r *record, err error) (attempts int, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.attempts++
	attempts = r.attempts
	if isRefusal(err) || attempts == maxAttempts {
		r.stored, r.attempts = false, 0
		b.queue.Forget(r)
		return attempts, false
	}
	b.unwritten[r] = struct{}{}
	b.queue.AddRateLimited(r)
	return attempts, true
}

// isRefusal reports whether a repeated write would fail again, because the API server rejects it, cannot execute it, or
// has executed it and sent an invalid answer.
func isRefusal(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	if _, ok := errors.AsType[*client.DecodeError](err); ok {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// reportRejected logs that the sink has rejected e. This is expected in a namespace that is being deleted or no longer
// exists.
func (b *Broadcaster) reportRejected(e Event, err error) {
	const message = "an event is dropped because the API server refuses it"
	switch {
	case apierrors.HasStatusCause(err, namespaceTerminating), apierrors.IsNotFound(err):
		b.opts.Logger.Debug(message, "event", e, "err", err)
	case apierrors.IsForbidden(err):
		b.report(slog.LevelError, message, "event", e, "err", err)
	default:
		b.opts.Logger.Error(message, "event", e, "err", err)
	}
}

// Watcher receives each event of a [Broadcaster] when it is recorded. Repetitions are separate events with the count 1.
type Watcher struct {
	// C delivers the events. It is never closed.
	C <-chan Event

	events      chan Event
	dropped     atomic.Int64
	broadcaster *Broadcaster
}

// Watch returns a watcher that buffers up to size events. It works without Run. The broadcaster never waits, so a
// watcher whose buffer is full loses events. Stop the watcher when it is no longer used.
func (b *Broadcaster) Watch(size int) *Watcher {
	events := make(chan Event, size)
	w := &Watcher{C: events, events: events, broadcaster: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = append(slices.Clone(b.watchers), w)
	return w
}

// Stop ends the watch. Buffered events stay in C. Further calls do nothing.
func (w *Watcher) Stop() {
	b := w.broadcaster
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = slices.DeleteFunc(slices.Clone(b.watchers), func(other *Watcher) bool { return other == w })
}

// Dropped returns the number of events that the watcher lost because it was full.
func (w *Watcher) Dropped() int { return int(w.dropped.Load()) }

// reportInterval is the interval at which report logs a message.
const reportInterval = 10 * time.Minute

// report logs a problem that can affect many events, unless the same message was logged recently.
func (b *Broadcaster) report(level slog.Level, message string, args ...any) {
	now := time.Now()
	b.mu.Lock()
	last, logged := b.logged[message]
	recent := logged && now.Sub(last) < reportInterval
	if !recent {
		b.logged[message] = now
	}
	b.mu.Unlock()
	if !recent {
		b.opts.Logger.Log(context.Background(), level, message, args...)
	}
}

// LogValue returns the attributes of e for logs: all fields except annotations.
func (e Event) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("regarding", e.Regarding.String())}
	if e.Related != (Reference{}) {
		attrs = append(attrs, slog.String("related", e.Related.String()))
	}
	return slog.GroupValue(append(attrs,
		slog.String("type", e.Type),
		slog.String("reason", e.Reason),
		slog.String("action", e.Action),
		slog.String("note", e.Note),
		slog.String("controller", e.Controller),
	)...)
}

// Reasons for dropping events. They are label values of the metrics.
const (
	dropInvalid     = "invalid"     // an API server would reject it
	dropSpam        = "spam"        // too many events of one object; the event is still counted
	dropOverload    = "overload"    // the limit of unwritten records is reached
	dropRefused     = "refused"     // the API server rejected it
	dropUnreachable = "unreachable" // the API server did not answer for two minutes
	dropShutdown    = "shutdown"    // the process ends
)

type instruments struct {
	recorded, written, dropped *metrics.Counter
}

func newInstruments(r *metrics.Registry) *instruments {
	return &instruments{
		recorded: r.Counter("kctrl_events_recorded_total", "Events that controllers recorded.", "type"),
		written:  r.Counter("kctrl_events_written_total", "Writes of events to the API server.", "verb"),
		dropped:  r.Counter("kctrl_events_dropped_total", "Events and event counts that were not written.", "reason"),
	}
}
