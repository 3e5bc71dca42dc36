package leaderelection

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"math"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// term is one run of a candidate, with the last known state of the Lease. It is not safe for concurrent use.
type term struct {
	elector *Elector

	// lease is the Lease at the last read or write, or nil before.
	lease *coordinationv1.Lease
	// changed is the time, on the clock of this process, when the current spec of lease was first seen.
	changed time.Time
	// current means that lease is probably still the server's state, so a write requires no read before it.
	current bool
	// leading means that this candidate has had the Lease without interruption since it acquired it.
	leading bool
	// renewed is the start of the last successful write. No candidate can have seen the write before that time.
	renewed time.Time
	// freed is when the Lease was first found free, or zero if it was not free at the last check.
	freed time.Time
	// tenure is the part of this term that other code uses. It is nil until the term begins.
	tenure *tenure
}

// acquire tries to acquire the Lease until it succeeds. It reports false if ctx ends first.
func (t *term) acquire(ctx context.Context) bool {
	logger := t.elector.opts.Logger
	logger.Info("waiting for leadership")
	for {
		held, err := t.attempt(ctx)
		if held {
			t.leading = true
			return true
		}
		switch {
		case ctx.Err() != nil:
			return false
		case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
			logger.Debug("another candidate was faster", "err", err)
		case err != nil:
			logger.Warn("lease not acquired", "err", err)
		}
		if life.Sleep(ctx, t.untilNextLook()) != nil {
			return false
		}
	}
}

// untilNextLook returns the retry period, or less if the Lease expires earlier.
func (t *term) untilNextLook() time.Duration {
	wait := spread(t.elector.opts.RetryPeriod)
	if holder(t.lease) != "" {
		if left := time.Until(t.changed.Add(t.duration())); left > 0 {
			return min(wait, left)
		}
	}
	return wait
}

// attempt acquires or renews the Lease, and reports whether this candidate now holds it. If held is false and err is
// nil, another candidate holds the Lease, or held it until recently. An attempt takes at most half of the renew
// deadline, which leaves time for another attempt.
func (t *term) attempt(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.elector.opts.RenewDeadline/2)
	defer cancel()
	// As long as no other client writes the Lease, a renewal takes one request.
	if t.current && holder(t.lease) == t.elector.opts.Identity {
		err := t.write(ctx, t.elector.leases.Update, t.claim())
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err == nil, err
		}
	}
	call := t.elector.leases.Update
	err = t.read(ctx)
	switch {
	case apierrors.IsNotFound(err):
		t.lease = nil
		call = t.elector.leases.Create
	case err != nil:
		return false, err
	case !t.free():
		// When the Lease is free again, the time to yield begins again.
		t.freed = time.Time{}
		return false, nil
	}
	if t.yields() {
		return false, nil
	}
	err = t.write(ctx, call, t.claim())
	return err == nil, err
}

// yields reports whether this candidate leaves a free Lease to other candidates for now.
func (t *term) yields() bool {
	// A candidate does not yield a Lease that it holds or has just held.
	if t.leading || t.elector.opts.Yield == nil || holder(t.lease) == t.elector.opts.Identity {
		return false
	}
	if t.freed.IsZero() {
		t.freed = time.Now()
	}
	return time.Since(t.freed) < t.elector.opts.Yield()
}

// free reports whether this candidate may acquire the Lease.
func (t *term) free() bool {
	switch holder(t.lease) {
	case t.elector.opts.Identity:
		return true
	case "":
		// If the leader finds that the Lease has no holder, another client has released it, and the leader's term was
		// interrupted.
		return !t.leading
	}
	// This uses the local clock and the last change seen, because clocks of machines may differ.
	return !t.leading && time.Since(t.changed) >= t.duration()
}

// duration returns how long the holder may hold the Lease without renewing it.
func (t *term) duration() time.Duration {
	if seconds := t.lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds > 0 {
		return time.Duration(*seconds) * time.Second
	}
	return t.elector.opts.LeaseDuration
}

// claim returns the Lease to write as its holder.
func (t *term) claim() *coordinationv1.Lease {
	opts := t.elector.opts
	now := metav1.NowMicro()
	var transitions int32
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.Name}}
	if t.lease != nil {
		lease = t.lease.DeepCopy()
		if lease.Spec.LeaseTransitions != nil {
			transitions = max(0, *lease.Spec.LeaseTransitions)
		}
		// The counter must not overflow, because the API server rejects a Lease with a negative number, so no candidate could
		// lead.
		transitions += min(1, math.MaxInt32-transitions)
	}
	if holder(lease) != opts.Identity {
		lease.Spec.HolderIdentity = &opts.Identity
		lease.Spec.AcquireTime = &now
		lease.Spec.LeaseTransitions = &transitions
	}
	// Round up, so that other candidates wait at least as long as the term lasts.
	seconds := int32((opts.LeaseDuration + time.Second - 1) / time.Second)
	lease.Spec.LeaseDurationSeconds = &seconds
	lease.Spec.RenewTime = &now
	return lease
}

func (t *term) read(ctx context.Context) error {
	opts := t.elector.opts
	lease := &coordinationv1.Lease{}
	t.current = false
	err := t.elector.leases.Get(ctx, object.Key{Namespace: opts.Namespace, Name: opts.Name}, lease)
	if err == nil {
		t.know(lease)
	}
	return err
}

// write creates or updates the Lease. The effect of a failed write is unknown, so the Lease must be read again.
func (t *term) write(ctx context.Context, call func(context.Context, *coordinationv1.Lease) error,
	lease *coordinationv1.Lease) error {
	begun := time.Now()
	t.current = false
	if err := call(ctx, lease); err != nil {
		return err
	}
	// Use the start of the request, because the server may have answered late, and other candidates may have seen the
	// write before the answer.
	t.renewed = begun
	t.know(lease)
	return nil
}

func (t *term) know(lease *coordinationv1.Lease) {
	if t.lease == nil || t.lease.UID != lease.UID || !reflect.DeepEqual(t.lease.Spec, lease.Spec) {
		// A change of metadata, such as an annotation, is not a renewal by the holder.
		t.changed = time.Now()
	}
	t.lease, t.current = lease, true
	leader, opts := holder(lease), t.elector.opts
	if before := t.elector.leader.Swap(leader); before != leader && leader != "" && leader != opts.Identity {
		opts.Logger.Info("new leader", "leader", leader)
	}
}

// release releases the Lease if this candidate holds it and the options require it. It tries for up to the renew
// deadline, even if ctx has ended.
func (t *term) release(ctx context.Context) {
	opts := t.elector.opts
	if !opts.ReleaseOnExit {
		return
	}
	// ctx has usually ended, because that is why the Lease is released.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.RenewDeadline)
	defer cancel()
	for {
		err := t.tryRelease(ctx)
		if err == nil {
			return
		}
		opts.Logger.Warn("lease not released", "err", err)
		pause := opts.RetryPeriod
		if apierrors.IsConflict(err) {
			// Another client has written the Lease, perhaps only an annotation, so read it again soon.
			pause /= 10
		}
		if life.Sleep(ctx, spread(pause)) != nil {
			return
		}
	}
}

func (t *term) tryRelease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.elector.opts.RenewDeadline/2)
	defer cancel()
	if !t.current {
		if err := t.read(ctx); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if holder(t.lease) != t.elector.opts.Identity {
		return nil
	}
	// The duration is short, because some candidates ignore the empty holder and wait for the duration.
	now, second := metav1.NowMicro(), int32(1)
	lease := t.lease.DeepCopy()
	lease.Spec.HolderIdentity = nil
	lease.Spec.LeaseDurationSeconds = &second
	lease.Spec.RenewTime = &now
	if err := t.write(ctx, t.elector.leases.Update, lease); err != nil {
		return err
	}
	t.elector.opts.Logger.Info("released leadership")
	return nil
}

// holder returns the identity of the holder of lease, or "".
func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
