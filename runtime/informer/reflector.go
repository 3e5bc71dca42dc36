package informer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Sink takes what a [Reflector] learns, in order. Push must not block for long. *[DeltaFIFO] is one.
type Sink[T object.Object] interface {
	Push(Delta[T])
}

// ReflectorOptions tune a [Reflector]. The fields mean what they mean in [Options].
type ReflectorOptions[T object.Object] struct {
	Name             string
	Namespace        string
	Logger           *slog.Logger
	Transform        func(T) (T, error)
	DisableWatchList bool
	PageSize         int64
	Metrics          *metrics.Registry
}

// Reflector follows one resource of an API server: it reads the whole state, pushes it to its sink as one Replaced, and
// then pushes every change, for ever. After failures it waits, longer each time, and goes on where it was; only when
// the server no longer has the changes since then does it read the whole state again.
type Reflector[T object.Object] struct {
	source    ListerWatcher[T]
	sink      Sink[T]
	name      string
	namespace string
	label     string // the reflector in metrics
	log       *slog.Logger
	transform func(T) (T, error)
	streaming bool // begin with a streaming list
	pageSize  int64
	metrics   instruments
	err       atomic.Pointer[SyncError]
	size      int // objects of the last streaming list; for Run alone
	// gather returns where a state is gathered, with room for that many objects. Nil is for a sink of whole objects.
	gather func(size int) gathering[T]
}

// NewReflector returns a reflector from source to sink. It starts nothing: [Reflector.Run] does.
func NewReflector[T object.Object](source ListerWatcher[T], sink Sink[T], opts ReflectorOptions[T]) *Reflector[T] {
	name := cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	return &Reflector[T]{
		source:    source,
		sink:      sink,
		name:      name,
		namespace: opts.Namespace,
		label:     label(name, opts.Namespace),
		log:       cmp.Or(opts.Logger, slog.Default()).With("informer", label(name, opts.Namespace)),
		transform: opts.Transform,
		streaming: !opts.DisableWatchList,
		pageSize:  opts.PageSize,
		metrics:   newInstruments(opts.Metrics),
	}
}

// Err returns why the sink is not in step with the source, as a *[SyncError], or nil when it is, and before Run.
func (r *Reflector[T]) Err() error {
	if err := r.err.Load(); err != nil {
		return err
	}
	return nil
}

// Run follows the source until ctx ends. It starts no goroutine that outlives it.
func (r *Reflector[T]) Run(ctx context.Context) {
	s := state[T]{phase: listing, streaming: r.streaming}
	if s.streaming {
		s.phase = streamingList
	}
	defer func() { s.closeStream() }()
	var pause backoff
	for ctx.Err() == nil {
		var err error
		s, err = r.step(ctx, s)
		if err == nil || ctx.Err() != nil {
			continue
		}
		r.report(ctx, err)
		pause.wait(ctx, err, r.cure(err))
	}
}

// recoverable is a source that knows when the server answers again that has failed everybody. *[client.ListWatcher] is one.
type recoverable interface {
	Reachable(ctx context.Context) error
}

// cure returns what waits for the end of what caused err, nil when nobody knows that.
func (r *Reflector[T]) cure(err error) func(context.Context) error {
	if source, ok := r.source.(recoverable); ok && isOutage(err) {
		return source.Reachable
	}
	return nil
}

// report makes err what Err returns, and logs it.
func (r *Reflector[T]) report(ctx context.Context, err error) {
	failure, ok := errors.AsType[*SyncError](err)
	if !ok {
		failure = r.failed("watch", err)
	}
	known := r.err.Swap(failure)
	r.metrics.failures.Inc(r.label, failure.Verb)
	level := slog.LevelWarn
	if isExpired(err) || known != nil && isAbsent(known) && isAbsent(err) {
		level = slog.LevelDebug // in the life of a watch the first is normal, and of the second all was said
	}
	r.log.Log(ctx, level, "out of step with the API server", "err", err)
}

// healthy clears what Err returns.
func (r *Reflector[T]) healthy() {
	r.metrics.watches.Inc(r.label)
	r.err.Store(nil)
}

func (r *Reflector[T]) failed(verb string, err error) *SyncError {
	return &SyncError{Verb: verb, Resource: r.name, Namespace: r.namespace, Err: err}
}

// transformed returns obj after the transform, and whether that worked.
func (r *Reflector[T]) transformed(obj T) (T, bool) {
	if r.transform == nil {
		return obj, true
	}
	key := object.KeyOf(obj)
	out, err := r.transform(obj)
	if err != nil {
		r.log.Error("transform an object", "key", key, "err", err)
		return obj, false
	}
	return out, true
}
