package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// attempt reconciles one request and schedules its next reconcile, or parks it until the caches have its last writes.
func (c *Controller[R]) attempt(ctx context.Context, request R) {
	defer c.queue.Done(request)
	// The request is Done and does not block a worker. parking adds it again.
	if c.parking.park(request, c.queue.Priority) {
		c.metrics.parked.Inc(c.name)
		return
	}
	logger := newRequestLogger(c.logger, request)
	c.metrics.active.Add(1, c.name)
	defer c.metrics.active.Add(-1, c.name)
	start := time.Now()
	tracking, tracked := writes.Track(log.IntoContext(ctx, logger))
	// This comes as late as possible, because the reconcile may not see the state of events that arrive after it.
	state, because := c.events.begin(request)
	if because.known {
		tracking = context.WithValue(tracking, reasonKey{}, because)
	}
	result, err := c.reconcile(tracking, request)
	c.metrics.seconds.ObserveSince(start, c.name)
	// This comes before the queue or Done can make the request ready again.
	c.parking.deferUntil(request, tracked)

	outcome := outcomeOf(ctx, result, err)
	// This comes after the switch, which begins the backoff that events may interrupt, and before Done.
	defer func() { c.events.end(state, outcome == failed || outcome == requeue) }()
	c.metrics.total.Inc(c.name, outcome.String())
	switch outcome {
	case failed:
		c.metrics.errors.Inc(c.name)
		logFailure(logger, err)
		c.retry(request, result)
	case requeue:
		c.retry(request, result)
	case terminal:
		c.metrics.errors.Inc(c.name)
		c.metrics.terminal.Inc(c.name)
		logFailure(logger, err)
		c.forget(request)
	case requeueAfter:
		c.forget(request)
		c.queue.AddWith(workqueue.AddOptions{Priority: c.nextPriority(request, result), After: result.RequeueAfter}, request)
	case succeeded, stopped:
		c.forget(request)
	}
}

func (c *Controller[R]) retry(request R, result reconcile.Result) {
	opts := workqueue.AddOptions{Priority: c.nextPriority(request, result), RateLimited: true}
	if c.limiter != nil {
		opts.Backoff = max(1, c.limiter.When(request))
	}
	c.queue.AddWith(opts, request)
}

func (c *Controller[R]) forget(request R) {
	c.queue.Forget(request)
	if c.limiter != nil {
		c.limiter.Forget(request)
	}
}

// nextPriority returns the priority of the result, or otherwise the priority of the current reconcile.
func (c *Controller[R]) nextPriority(request R, result reconcile.Result) int {
	if result.Priority != nil {
		return *result.Priority
	}
	return c.queue.Priority(request)
}

// errTooLong is the cause of the context of a reconcile after its timeout.
var errTooLong = errors.New("the reconcile has taken longer than ReconcileTimeout")

// reconcile calls the reconciler, with the timeout if set, and converts a panic to an error.
func (c *Controller[R]) reconcile(ctx context.Context, request R) (result reconcile.Result, err error) {
	if c.opts.ReconcileTimeout > 0 {
		inTime, cancel := context.WithTimeoutCause(ctx, c.opts.ReconcileTimeout, errTooLong)
		defer cancel()
		defer func() {
			if context.Cause(inTime) != errTooLong {
				return
			}
			c.metrics.timeouts.Inc(c.name)
			// Most reconcilers return only that a context has ended, so add the timeout to the error.
			if err != nil && !errors.Is(err, errTooLong) {
				err = fmt.Errorf("%w: %w", errTooLong, err)
			}
		}()
		ctx = inTime
	}
	if !c.opts.PanicsCrash {
		defer func() { // runs before the deferred function above, which handles a panic like any other error
			if value := recover(); value != nil {
				c.metrics.panics.Inc(c.name)
				result, err = reconcile.Result{}, &reconcile.PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
	}
	return c.reconciler.Reconcile(ctx, request)
}

// outcome is the outcome of a reconcile.
type outcome int

const (
	succeeded    outcome = iota
	requeueAfter         // succeeded, and requested another one
	requeue              // succeeded, and requested another one with a backoff
	failed               // failed, and is retried
	terminal             // failed, and is not retried
	stopped              // failed because the controller stops
)

// String returns the value of the metric label result.
func (o outcome) String() string {
	return [...]string{"success", "requeue_after", "requeue", "error", "error", "stopped"}[o]
}

func outcomeOf(ctx context.Context, result reconcile.Result, err error) outcome {
	switch {
	case err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		// This is not a failure of the request, so it does not affect the backoff.
		return stopped
	case errors.Is(err, reconcile.ErrTerminal):
		return terminal
	case err != nil:
		return failed
	case result.RequeueAfter > 0:
		return requeueAfter
	case result.Requeue:
		return requeue
	}
	return succeeded
}

// logFailure logs a conflict as a retry, a panic with its stack, and any other error in one line.
func logFailure(logger *slog.Logger, err error) {
	if panicked, ok := errors.AsType[*reconcile.PanicError](err); ok {
		logger.Error("reconcile panicked", "err", err, "stack", string(panicked.Stack))
		return
	}
	if apierrors.IsConflict(err) || errors.Is(err, cache.ErrStale) {
		logger.Debug("reconcile worked with an old state and is retried", "err", err)
		return
	}
	logger.Error("reconcile failed", "err", explain(err))
}

// newRequestLogger returns logger with the attributes of one reconcile of request. They are created when the first line
// is logged, because most reconciles log nothing.
func newRequestLogger[R comparable](logger *slog.Logger, request R) *slog.Logger {
	return slog.New(&requestHandler[R]{Handler: logger.Handler(), request: request, id: rand.Uint64()})
}

// requestHandler adds key and reconcileID to records.
type requestHandler[R comparable] struct {
	slog.Handler // without the attributes
	request      R
	id           uint64

	once       sync.Once
	attributed slog.Handler // with the attributes; set by once
}

func (h *requestHandler[R]) with() slog.Handler {
	h.once.Do(func() {
		h.attributed = h.Handler.WithAttrs([]slog.Attr{
			slog.String("key", fmt.Sprint(h.request)), slog.String("reconcileID", fmt.Sprintf("%016x", h.id)),
		})
	})
	return h.attributed
}

func (h *requestHandler[R]) Handle(ctx context.Context, record slog.Record) error {
	return h.with().Handle(ctx, record)
}

func (h *requestHandler[R]) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with().WithAttrs(attrs)
}

func (h *requestHandler[R]) WithGroup(name string) slog.Handler { return h.with().WithGroup(name) }
