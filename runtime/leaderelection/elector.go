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

// ErrLost is what errors.Is finds in the error of [Elector.Run], and in the cause of the leader's context, when the
// leadership ended before the leader did.
var ErrLost = errors.New("leadership lost")

// errEnded is why a context cannot be written with any more after its term has ended in good order.
var errEnded = errors.New("the leader has stopped, and the lease may be released")

// Elector is a candidate for one Lease. [New] makes one.
type Elector struct {
	leases Leases
	opts   Options
	status *metrics.Gauge

	mu sync.Mutex
	// leader is the holder of the Lease when it was last read or written, empty when there was none.
	leader string
	// tenure is the term while it goes on, and until what was started in it has ended.
	tenure *tenure
}

// New returns a candidate that does nothing until it is Run. It fails when opts cannot work.
func New(leases Leases, opts Options) (*Elector, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	status := opts.Metrics.Gauge("leader_election_master_status", "Whether this process leads: 1 if it does, 0 if it does not.", "name")
	status.Set(0, opts.Name)
	return &Elector{leases: leases, opts: opts, status: status}, nil
}

// Identity returns the name of this candidate in the Lease.
func (e *Elector) Identity() string { return e.opts.Identity }

// Leader returns the identity of the leader as this candidate saw it last, empty when there was none.
func (e *Elector) Leader() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leader
}

// Healthy returns an error when this candidate became the leader, has not renewed the Lease for its duration and margin
// more, and yet has not ended what it does as leader: only the end of the process can help then.
func (e *Elector) Healthy(margin time.Duration) error {
	e.mu.Lock()
	t := e.tenure
	e.mu.Unlock()
	if t == nil {
		return nil
	}
	if since := since(*t.renewed.Load(), time.Now()); since > e.opts.LeaseDuration+margin {
		return fmt.Errorf("lease %s not renewed for %s, and what needs it has not ended", t.lease, since.Round(time.Second))
	}
	return nil
}

func (e *Elector) setTenure(t *tenure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tenure = t
}

// Run waits until this candidate is the leader, calls lead once, and returns after lead has returned. It may be called
// again afterwards, but not twice at once.
//
// The context of lead ends when ctx does, and when the leadership is lost, which is before another candidate can get
// it. In that case Run returns an error that is [ErrLost], joined with that of lead unless lead only says that its
// context has ended; whoever cannot be sure that everything lead started has stopped should end the process then.
// Otherwise Run returns what lead returned, and nil when ctx ended before lead was called.
//
// lead may itself Run an Elector of another Lease with its context: what that one leads ends when either is lost.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context) error) error {
	t := &term{elector: e}
	// This term may be within another: its Lease must be given back also when that one is lost.
	calls := unfenced(ctx)
	if !t.acquire(calls) {
		return nil
	}
	// The Lease came together with the end: another candidate shall not wait for it to expire.
	if ctx.Err() != nil {
		t.release(calls)
		return nil
	}
	leadErr, lostErr := t.lead(ctx, lead)
	if lostErr != nil {
		if errors.Is(leadErr, context.Canceled) || errors.Is(leadErr, ErrLost) {
			leadErr = nil
		}
		// Nothing is released: the Lease may be somebody else's.
		return errors.Join(lostErr, leadErr)
	}
	t.release(calls)
	return leadErr
}

// lead calls fn while it renews the Lease in a goroutine, which has ended on return. lostErr tells why the leadership
// was lost, if it was.
func (t *term) lead(ctx context.Context, fn func(context.Context) error) (leadErr, lostErr error) {
	e := t.elector
	e.opts.Logger.Info("became leader")
	e.status.Set(1, e.opts.Name)
	defer e.status.Set(0, e.opts.Name)

	t.tenure = &tenure{lease: e.opts.Namespace + "/" + e.opts.Name}
	t.tenure.renew(t.renewed, e.opts.RenewDeadline)
	// Before fn has a context: no request is sent in a term that the fence does not know.
	e.opts.Fence.add(t.tenure)
	e.setTenure(t.tenure)
	defer e.setTenure(nil)
	leadCtx, endLead := context.WithCancelCause(t.tenure.begin(ctx))
	defer endLead(nil)
	// The term goes on when ctx ends: the Lease is held until fn has returned.
	termCtx, endTerm := context.WithCancelCause(context.WithoutCancel(unfenced(ctx)))
	defer endTerm(nil)
	held := make(chan struct{})
	go func() {
		defer close(held)
		t.hold(termCtx, func(err error) {
			// The term first: fn may return as soon as its context ends.
			if endTerm(err); context.Cause(termCtx) != err {
				return
			}
			// Before the context, whose end lets others run: from here on nothing is sent.
			t.tenure.end(err)
			endLead(err)
			e.opts.Fence.remove(t.tenure, true)
			e.status.Set(0, e.opts.Name)
			e.opts.Logger.Error("lost leadership", "err", err)
		})
	}()
	leadErr = fn(leadCtx)
	// Goroutines that fn has left behind send nothing more, and the Lease can be given back.
	t.tenure.end(errEnded)
	e.opts.Fence.remove(t.tenure, false)
	endTerm(nil)
	<-held
	if cause := context.Cause(termCtx); errors.Is(cause, ErrLost) {
		lostErr = cause
	}
	return leadErr, lostErr
}

// hold renews the Lease until ctx ends. It calls lose when the Lease is found to be somebody else's, and when it was
// not renewed in time, even while an attempt hangs.
func (t *term) hold(ctx context.Context, lose func(error)) {
	opts := t.elector.opts
	var failure atomic.Pointer[error]
	expiry := time.NewTimer(t.remaining())
	defer expiry.Stop()
	// In a goroutine of its own, since an attempt may hang for longer than the term lasts. It has ended when ctx has, which it does here
	// at the latest when the Lease is lost.
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
			// Counted from when the request was begun: others count from when they have seen it, which is later.
			expiry.Reset(t.remaining())
		}
	}
}

// remaining returns the time until the leader has to stop unless the Lease is renewed.
func (t *term) remaining() time.Duration {
	return time.Until(t.renewed.Add(t.elector.opts.RenewDeadline))
}

// spread takes up to a quarter off d, so that candidates do not all act at once.
func spread(d time.Duration) time.Duration { return d - rand.N(d/4+1) }
