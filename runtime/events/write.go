package events

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

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
