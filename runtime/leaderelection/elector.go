package leaderelection

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// ErrLost is wrapped by the error of [Elector.Run], and by the cause of the leader's context, if the leadership was
// lost before the leader had stopped.
var ErrLost = errors.New("leadership lost")

// errEnded is the reason why a context cannot be used for requests after its term has ended normally.
var errEnded = errors.New("the leader has stopped, and the lease may be released")

// Elector is a candidate for one Lease. Create one with [New].
type Elector struct {
	leases Leases
	opts   Options
	status *metrics.Gauge

	// leader is the holder of the Lease at the last read or write, or "".
	leader atomic.Value
	// tenure is the current term. It stays set until all work that was started in the term has ended.
	tenure atomic.Pointer[tenure]
}

// New returns a candidate that does nothing until Run. It fails for invalid opts.
func New(leases Leases, opts Options) (*Elector, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	status := opts.Metrics.Gauge("leader_election_master_status",
		"Whether this process leads: 1 if it does, 0 if it does not.", "name")
	status.Set(0, opts.Name)
	return &Elector{leases: leases, opts: opts, status: status}, nil
}

// Identity returns the name of this candidate in the Lease.
func (e *Elector) Identity() string { return e.opts.Identity }

// Leader returns the identity of the last known leader, or "".
func (e *Elector) Leader() string {
	leader, _ := e.leader.Load().(string)
	return leader
}

// Healthy returns an error if this candidate was the leader, has not renewed the Lease for the lease duration plus
// margin, and has still not stopped its work as the leader. In this case the process must be ended.
func (e *Elector) Healthy(margin time.Duration) error {
	t := e.tenure.Load()
	if t == nil {
		return nil
	}
	if since := since(*t.renewed.Load(), time.Now()); since > e.opts.LeaseDuration+margin {
		return fmt.Errorf("lease %s not renewed for %s, and what needs it has not ended", t.lease, since.Round(time.Second))
	}
	return nil
}

// Run waits until this candidate is the leader, calls lead once, and returns after lead has returned. It may be called
// again after that, but not concurrently.
//
// The context of lead ends when ctx ends, and when the leadership is lost; in that case, it ends before another
// candidate can become the leader. After a loss, Run returns an error that wraps [ErrLost], joined with the error of
// lead unless that only reports the end of its context. The caller should then end the process, unless all work that
// lead started has certainly stopped. Without a loss, Run returns the error of lead, or nil if ctx ended before lead
// was called.
//
// lead may itself call Run of an Elector for another Lease with its context. The inner term ends when either Lease is
// lost.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context) error) error {
	t := &term{elector: e}
	// This term may be nested in another term. Its Lease must be released even if the outer Lease is lost.
	calls := unfenced(ctx)
	if !t.acquire(calls) {
		return nil
	}
	// The Lease was acquired while ctx ended. Release it, so that other candidates need not wait until it expires.
	if ctx.Err() != nil {
		t.release(calls)
		return nil
	}
	leadErr, lostErr := t.lead(ctx, lead)
	if lostErr != nil {
		if errors.Is(leadErr, context.Canceled) || errors.Is(leadErr, ErrLost) {
			leadErr = nil
		}
		// Do not release the Lease, because it may belong to another candidate.
		return errors.Join(lostErr, leadErr)
	}
	t.release(calls)
	return leadErr
}

// lead calls fn while a goroutine renews the Lease, and returns after both have ended. lostErr is the reason if the
// leadership was lost.
func (t *term) lead(ctx context.Context, fn func(context.Context) error) (leadErr, lostErr error) {
	e := t.elector
	e.opts.Logger.Info("became leader")
	e.status.Set(1, e.opts.Name)
	defer e.status.Set(0, e.opts.Name)

	t.tenure = &tenure{lease: e.opts.Namespace + "/" + e.opts.Name}
	t.tenure.renew(t.renewed, e.opts.RenewDeadline)
	// This comes before the context of fn is created, because the fence must have the term before a request is sent in it.
	e.opts.Fence.add(t.tenure)
	e.tenure.Store(t.tenure)
	defer e.tenure.Store(nil)
	leadCtx, endLead := context.WithCancelCause(t.tenure.begin(ctx))
	defer endLead(nil)
	// The term continues when ctx ends, because the Lease is held until fn has returned.
	termCtx, endTerm := context.WithCancelCause(context.WithoutCancel(unfenced(ctx)))
	defer endTerm(nil)
	held := make(chan struct{})
	go func() {
		defer close(held)
		t.hold(termCtx, func(err error) {
			// End the term first, because fn may return as soon as its context ends.
			if endTerm(err); context.Cause(termCtx) != err {
				return
			}
			// This comes before the context ends and wakes other goroutines, so that no request is sent from here on.
			t.tenure.end(err)
			endLead(err)
			e.opts.Fence.remove(t.tenure, true)
			e.status.Set(0, e.opts.Name)
			e.opts.Logger.Error("lost leadership", "err", err)
		})
	}()
	leadErr = fn(leadCtx)
	// After this, goroutines that fn has not stopped can send no requests, so the Lease can be released.
	t.tenure.end(errEnded)
	e.opts.Fence.remove(t.tenure, false)
	endTerm(nil)
	<-held
	if cause := context.Cause(termCtx); errors.Is(cause, ErrLost) {
		lostErr = cause
	}
	return leadErr, lostErr
}

// hold renews the Lease until ctx ends. It calls lose if another candidate has the Lease, or if the Lease was not
// renewed in time, even while an attempt hangs.
func (t *term) hold(ctx context.Context, lose func(error)) {
	opts := t.elector.opts
	var failure atomic.Pointer[error]
	expiry := time.NewTimer(t.remaining())
	defer expiry.Stop()
	// This requires its own goroutine, because an attempt may hang for longer than the term. The goroutine ends with ctx,
	// which ends at the latest when the Lease is lost.
	var expiring sync.WaitGroup
	defer expiring.Wait()
	expiring.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-expiry.C:
		}
		err := fmt.Errorf("%w: lease %s/%s not renewed for %s", ErrLost, opts.Namespace, opts.Name, opts.RenewDeadline)
		if last := failure.Load(); last != nil {
			err = fmt.Errorf("%w: %w", err, *last)
		}
		lose(err)
	})
	for life.Sleep(ctx, spread(opts.RetryPeriod)) == nil {
		leading, err := t.attempt(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failure.Store(&err)
			opts.Logger.Warn("lease not renewed", "err", err)
		case !leading:
			lose(fmt.Errorf("%w: lease %s/%s has the holder %q", ErrLost, opts.Namespace, opts.Name, holder(t.lease)))
			return
		default:
			failure.Store(nil)
			t.tenure.renew(t.renewed, opts.RenewDeadline)
			// The remaining time counts from the start of the request. Other candidates count from the time when they see the
			// renewal, which is later.
			expiry.Reset(t.remaining())
		}
	}
}

// remaining returns the time until the leader must stop if no renewal succeeds.
func (t *term) remaining() time.Duration {
	return time.Until(t.renewed.Add(t.elector.opts.RenewDeadline))
}

// spread shortens d by up to a quarter, so that candidates do not act simultaneously.
func spread(d time.Duration) time.Duration { return d - rand.N(d/4+1) }
