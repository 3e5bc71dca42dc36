package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// Broadcaster takes events from recorders to a sink, to watchers and to the log. [New] makes one.
type Broadcaster struct {
	opts    Options
	metrics *instruments
	// queue has the records that are unwritten, those among them that failed after a pause, and now and then sweep.
	queue *workqueue.Queue[*record]
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
	// told is when each trouble was last logged.
	told map[trouble]time.Time
	// watchers is replaced and not changed, so that it can be read after mu has been given back.
	watchers []*Watcher
	// started is set by Run, closed at the end of its context: the sink gets nothing new then.
	started, closed bool
}

// ErrStarted is returned by a second [Broadcaster.Run].
var ErrStarted = errors.New("the event broadcaster has been run already")

// New returns a broadcaster. It starts nothing: until [Broadcaster.Run] events reach watchers and the log at once, and
// wait for the sink.
func New(opts Options) *Broadcaster {
	opts = opts.complete()
	return &Broadcaster{
		opts:       opts,
		metrics:    newInstruments(opts.Metrics),
		queue:      workqueue.New[*record](workqueue.Options{BaseDelay: retryBase, MaxDelay: retryMax}),
		sweep:      &record{},
		correlator: newCorrelator(opts),
		unwritten:  map[*record]struct{}{},
		told:       map[trouble]time.Time{},
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
	watchers, lost := b.keep(&e)
	if lost > 0 {
		b.metrics.dropped.Add(float64(lost), dropOverload)
		b.tell(slog.LevelWarn, overload, "too many events wait for being written: some are dropped", "event", e)
	}
	for _, w := range watchers {
		w.send(e)
	}
	b.opts.Logger.Log(context.Background(), b.opts.LogLevel.Level(), "recorded an event", "event", e)
}

// keep names e, counts it, and queues what is to be written because of it. It returns how many events do not fit.
func (b *Broadcaster) keep(e *Event) (watchers []*Watcher, lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.stamp = max(b.stamp+1, time.Duration(now.UnixNano()))
	e.Name = nameOf(e.Regarding, b.stamp)
	if b.opts.Sink == nil {
		return b.watchers, 0
	}
	if b.closed {
		return b.watchers, 1
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
	return b.watchers, lost
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
		return ErrStarted
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
