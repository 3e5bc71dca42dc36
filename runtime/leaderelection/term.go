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

// term is one run of a candidate: what it knows of the Lease. It is used by one goroutine at a time.
type term struct {
	elector *Elector

	// lease is the Lease as it was last read or written, nil before the first time.
	lease *coordinationv1.Lease
	// changed is when, on the clock of this process, the spec of lease was first seen as it is.
	changed time.Time
	// current says that lease is likely still what the server has, so that a write needs no read before it.
	current bool
	// leading says that this candidate has had the Lease without a break since it acquired it.
	leading bool
	// renewed is when the last write that succeeded was begun: no candidate can have seen it earlier.
	renewed time.Time
	// freed is when the Lease was first found free, the zero time when it was not at the last look.
	freed time.Time
	// tenure is this term to others, nil until it begins.
	tenure *tenure
}

// acquire tries to get the Lease until that succeeds, and reports false when ctx ends before.
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

// untilNextLook is the retry period, or less when the Lease expires before: then the time is not lost.
func (t *term) untilNextLook() time.Duration {
	wait := spread(t.elector.opts.RetryPeriod)
	if holder(t.lease) == "" {
		return wait
	}
	if left := time.Until(t.changed.Add(t.duration())); left > 0 {
		return min(wait, left)
	}
	return wait
}

// attempt acquires or renews the Lease, and reports whether this candidate now holds it. Without an error false means
// that somebody else does, or did. It takes at most half of the renew deadline, to leave time for another one.
func (t *term) attempt(ctx context.Context) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.elector.opts.RenewDeadline/2)
	defer cancel()
	// A renewal is one request as long as nobody else writes the Lease.
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
		// The next time that it is free counts from its beginning.
		t.freed = time.Time{}
		return false, nil
	}
	if t.yields() {
		return false, nil
	}
	err = t.write(ctx, call, t.claim())
	return err == nil, err
}

// yields reports whether a Lease that is free is left to others for now.
func (t *term) yields() bool {
	// What this process has, or had a moment ago, is not for others.
	if t.leading || t.elector.opts.Yield == nil || holder(t.lease) == t.elector.opts.Identity {
		return false
	}
	if t.freed.IsZero() {
		t.freed = time.Now()
	}
	return time.Since(t.freed) < t.elector.opts.Yield()
}

// free reports whether this candidate may write itself into the Lease.
func (t *term) free() bool {
	switch holder(t.lease) {
	case t.elector.opts.Identity:
		return true
	case "":
		// A leader that finds no holder was released by somebody else: its term has had a break.
		return !t.leading
	}
	// By the clock here and the last change seen here: clocks of machines may differ.
	return !t.leading && time.Since(t.changed) >= t.duration()
}

// duration returns how long the holder of the Lease may go without a sign.
func (t *term) duration() time.Duration {
	if seconds := t.lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds > 0 {
		return time.Duration(*seconds) * time.Second
	}
	return t.elector.opts.LeaseDuration
}

// claim returns the Lease as it is to be written by its holder.
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
		// One that is full stays so: the API server takes no Lease with a negative number, and then nobody would ever lead.
		transitions += min(1, math.MaxInt32-transitions)
	}
	if holder(lease) != opts.Identity {
		lease.Spec.HolderIdentity = &opts.Identity
		lease.Spec.AcquireTime = &now
		lease.Spec.LeaseTransitions = &transitions
	}
	// Rounded up, so that others wait at least as long as the term lasts.
	seconds := int32((opts.LeaseDuration + time.Second - 1) / time.Second)
	lease.Spec.LeaseDurationSeconds = &seconds
	lease.Spec.RenewTime = &now
	return lease
}

// read gets the Lease from the server.
func (t *term) read(ctx context.Context) error {
	opts := t.elector.opts
	lease := &coordinationv1.Lease{}
	if err := t.elector.leases.Get(ctx, object.Key{Namespace: opts.Namespace, Name: opts.Name}, lease); err != nil {
		t.current = false
		return err
	}
	t.know(lease)
	return nil
}

// write creates or updates the Lease. Nobody knows what a write that failed has done: it has to be read.
func (t *term) write(ctx context.Context, call func(context.Context, *coordinationv1.Lease) error, lease *coordinationv1.Lease) error {
	begun := time.Now()
	t.current = false
	if err := call(ctx, lease); err != nil {
		return err
	}
	// When it was sent: the server may have answered late, and others may have seen it before.
	t.renewed = begun
	t.know(lease)
	return nil
}

// know records what the server has just answered.
func (t *term) know(lease *coordinationv1.Lease) {
	if t.lease == nil || t.lease.UID != lease.UID || !reflect.DeepEqual(t.lease.Spec, lease.Spec) {
		// Metadata may change without a sign of the holder, such as by an annotation.
		t.changed = time.Now()
	}
	t.lease, t.current = lease, true
	t.elector.setLeader(holder(lease))
}

// release gives the Lease back if it is this candidate's and the options say so. It does its best for as long as the
// renew deadline, also when ctx has ended.
func (t *term) release(ctx context.Context) {
	opts := t.elector.opts
	if !opts.ReleaseOnExit {
		return
	}
	// ctx has mostly ended by then: that is why it is released.
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
			// Somebody has written it, perhaps only an annotation: read again, soon.
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
	// Candidates that do not look at the holder wait for the duration, which is therefore short.
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

// holder returns the identity of the holder of lease, empty when it has none.
func holder(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func (e *Elector) setLeader(identity string) {
	e.mu.Lock()
	changed := e.leader != identity
	e.leader = identity
	e.mu.Unlock()
	if changed && identity != "" && identity != e.opts.Identity {
		e.opts.Logger.Info("new leader", "leader", identity)
	}
}
