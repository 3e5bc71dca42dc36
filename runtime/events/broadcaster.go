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

// Broadcaster takes events from recorders to a sink, to watchers and to the log. [New] makes one.
type Broadcaster struct {
	opts Options
	// reference names an object.
	reference func(object.Object) (Reference, error)
	metrics   *instruments
	// queue has the records that are unwritten, those among them that failed after a pause, and now and then sweep.
	queue queue
	// sweep is no record: when it is got, it is time to look for series that are over.
	sweep *record

	mu         sync.Mutex
	correlator correlator
	// unwritten are the records of which the sink is to be told, at most QueueSize.
	unwritten map[*record]struct{}
	// records is how many there have been.
	records uint64
	// sweeping says that sweep is in the queue.
	sweeping bool
	// filtered is what the metrics know of correlator.filtered.
	filtered int
	// stamp is the last one that was given.
	stamp time.Duration
	// logged is when each trouble was last logged.
	logged map[trouble]time.Time
	// watchers is replaced and not changed, so that it can be read after mu has been given back.
	watchers []*Watcher
	// started is set by Run, closed at the end of its context: the sink gets nothing new then.
	started, closed bool
}

// queue is a [workqueue.Queue]. As an interface it leaves its code here: the compiler makes that of a generic type again in each
// package that knows a type with a field of it, and all that has a recorder knows a Broadcaster.
type queue interface {
	Get(ctx context.Context) (r *record, ok bool)
	Done(r *record)
	Add(records ...*record)
	AddAfter(r *record, d time.Duration)
	AddRateLimited(r *record)
	Forget(r *record)
	ShutDown()
}

// referenceOf names what an event is about.
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

// New returns a broadcaster. It starts nothing: until [Broadcaster.Run] events reach watchers and the log at once, and
// wait for the sink.
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
		logged:     map[trouble]time.Time{},
	}
}

// Recorder returns a recorder for the controller of that name, such as "guestbook" or "example.com/guestbook". It
// panics when the name is none that an API server takes as reportingController, a qualified name.
func (b *Broadcaster) Recorder(controller string) *Recorder {
	if problems := validation.IsQualifiedName(controller); len(problems) > 0 {
		panic("events: the name of a controller is not valid: " + controller + ": " + problems[0])
	}
	return &Recorder{broadcaster: b, controller: controller, instance: cut(controller+"-"+b.opts.Instance, maxInstance)}
}

// record takes an event that is complete but for its name to everywhere.
func (b *Broadcaster) record(e Event) {
	b.metrics.recorded.Inc(e.Type)
	watchers, lost, closed := b.keep(&e)
	switch {
	case closed:
		b.metrics.dropped.Inc(dropShutdown)
	case lost > 0:
		b.metrics.dropped.Add(float64(lost), dropOverload)
		b.tell(slog.LevelWarn, overload, "too many events wait for being written: some are dropped", "event", e)
	}
	for _, w := range watchers {
		w.send(e)
	}
	b.opts.Logger.Log(context.Background(), b.opts.LogLevel.Level(), "recorded an event", "event", e)
}

// keep names e, counts it, and queues what is to be written because of it. It returns how many events do not fit, or that nothing is
// written any more.
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

// queuedLocked reports whether r will be written anyway.
func (b *Broadcaster) queuedLocked(r *record) bool {
	_, queued := b.unwritten[r]
	return queued
}

// queueLocked queues records for being written, and returns how many there was no place for.
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

// Run writes events to the sink until ctx ends, and then what is left, each event once, within FlushTimeout. It returns
// nil, after its goroutine has ended; what could not be written by then is counted, and logged as a number. Events that
// are recorded later reach watchers and the log only. Run can be called once.
func (b *Broadcaster) Run(ctx context.Context) error {
	if !b.start() {
		return life.ErrAlreadyRun
	}
	// A write that has begun goes on when ctx ends.
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.work(ctx, writing)
	}()
	<-ctx.Done()
	b.close()
	timer := time.AfterFunc(b.opts.FlushTimeout, stop)
	defer timer.Stop()
	<-ended
	b.flush(writing)
	return nil
}

// work writes what is queued until ctx ends.
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

// finish queues the last counts of what is over.
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

// flush writes everything that the sink does not know, once and in order, while ctx lasts.
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

// unfinished returns all records that the sink does not know as they are, the oldest first.
func (b *Broadcaster) unfinished() []*record {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.correlator.unfinished() {
		b.unwritten[r] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(b.unwritten), func(x, y *record) int { return cmp.Compare(x.order, y.order) })
}

// start reports whether Run is called for the first time.
func (b *Broadcaster) start() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.started
	b.started = true
	return first
}

// close makes the broadcaster take nothing new for the sink.
func (b *Broadcaster) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.queue.ShutDown()
}

const (
	// maxAttempts is how often a write is tried. With the pauses below that takes two minutes.
	maxAttempts = 12
	retryBase   = time.Second
	retryMax    = 15 * time.Second
	// attemptTimeout bounds one attempt.
	attemptTimeout = 30 * time.Second
)

// namespaceTerminating is the cause of a refusal because the namespace is being deleted.
const namespaceTerminating = "NamespaceTerminating"

// write tells the sink of r once. When that fails and may succeed later, r is queued again.
func (b *Broadcaster) write(ctx context.Context, r *record) {
	e, stored := b.take(r)
	attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	verb, err := b.put(attempt, e, stored)
	if err == nil {
		b.wrote(r, e.Count)
		b.metrics.written.Inc(verb)
		return
	}
	switch attempts, again := b.failed(r, err); {
	case again:
		b.tell(slog.LevelWarn, unreachable, "an event cannot be written now", "event", e, "err", err)
	case attempts == maxAttempts:
		b.metrics.dropped.Inc(dropUnreachable)
		b.tell(slog.LevelError, abandoned, "an event is dropped because it could not be written", "event", e, "attempts", attempts, "err", err)
	default:
		b.metrics.dropped.Inc(dropRefused)
		b.tellRefused(e, err)
	}
}

// put creates e, or changes it if it is stored. An event that is gone is created again. One that exists although it was
// not known to be stored was created by an attempt whose answer got lost.
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

// take returns what the sink is to be told of r, and whether it knows r at all.
func (b *Broadcaster) take(r *record) (e Event, stored bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.unwritten, r)
	return r.event, r.stored
}

// wrote notes that the sink has r with that count.
func (b *Broadcaster) wrote(r *record, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.stored, r.written, r.wrote, r.attempts = true, count, time.Now(), 0
	b.queue.Forget(r)
}

// failed notes that the sink could not be told of r. It returns the number of attempts, and whether there will be
// another one.
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

// isRefusal reports whether the same write will fail again: the API server has understood it and does not do it, or
// cannot do it, or has done it with an answer that makes no sense.
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

// tellRefused logs that the sink does not take e. In a namespace that is being deleted or is gone that is to be
// expected.
func (b *Broadcaster) tellRefused(e Event, err error) {
	const message = "an event is dropped because the API server refuses it"
	switch {
	case apierrors.HasStatusCause(err, namespaceTerminating), apierrors.IsNotFound(err):
		b.opts.Logger.Debug(message, "event", e, "err", err)
	case apierrors.IsForbidden(err):
		b.tell(slog.LevelError, forbidden, message, "event", e, "err", err)
	default:
		b.opts.Logger.Error(message, "event", e, "err", err)
	}
}

// Watcher receives all events of a [Broadcaster] as they are recorded, repetitions too, each with the count 1.
type Watcher struct {
	// C has the events. It is never closed.
	C <-chan Event

	events      chan Event
	dropped     atomic.Int64
	broadcaster *Broadcaster
}

// Watch returns a watcher that holds up to size events which have not been received. It needs no Run. A watcher that
// is full misses events; nobody waits for it. It must be stopped when it is not used any more.
func (b *Broadcaster) Watch(size int) *Watcher {
	events := make(chan Event, size)
	w := &Watcher{C: events, events: events, broadcaster: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = append(slices.Clone(b.watchers), w)
	return w
}

// Stop ends the watch. Events that are in C already stay there. Calling it again does nothing.
func (w *Watcher) Stop() {
	b := w.broadcaster
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = slices.DeleteFunc(slices.Clone(b.watchers), func(other *Watcher) bool { return other == w })
}

// Dropped returns how many events the watcher missed because it was full.
func (w *Watcher) Dropped() int { return int(w.dropped.Load()) }

func (w *Watcher) send(e Event) {
	select {
	case w.events <- e:
	default:
		w.dropped.Add(1)
	}
}

// trouble is something that goes wrong for many events at once.
type trouble string

const (
	overload    trouble = "overload"    // more wait than may
	unreachable trouble = "unreachable" // writes fail and are tried again
	abandoned   trouble = "abandoned"   // writes have failed too often
	forbidden   trouble = "forbidden"   // RBAC does not allow it
)

// tellInterval is how often one trouble is logged.
const tellInterval = 10 * time.Minute

// tell logs a trouble, unless it was logged not long ago.
func (b *Broadcaster) tell(level slog.Level, about trouble, message string, args ...any) {
	if b.toTell(about) {
		b.opts.Logger.Log(context.Background(), level, message, args...)
	}
}

func (b *Broadcaster) toTell(about trouble) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if last, ok := b.logged[about]; ok && now.Sub(last) < tellInterval {
		return false
	}
	b.logged[about] = now
	return true
}

// LogValue is what a log line has of e: everything that people read, no annotations.
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

// The reasons for which events are dropped, as the metrics call them.
const (
	dropInvalid     = "invalid"     // no API server would take it
	dropSpam        = "spam"        // too much about one object; it still counts
	dropOverload    = "overload"    // too many wait
	dropRefused     = "refused"     // the API server did not take it
	dropUnreachable = "unreachable" // the API server could not be told for two minutes
	dropShutdown    = "shutdown"    // the process ends
)

type instruments struct {
	recorded, written, dropped *metrics.Counter
}

func newInstruments(r *metrics.Registry) *instruments {
	return &instruments{
		recorded: r.Counter("kctrl_events_recorded_total", "Events that controllers recorded.", "type"),
		written:  r.Counter("kctrl_events_written_total", "Writes of events to the API server.", "verb"),
		dropped:  r.Counter("kctrl_events_dropped_total", "Events and counts of events that were not written.", "reason"),
	}
}
