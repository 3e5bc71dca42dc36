package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// defaultConsistencyTimeout is how long a read waits for the writes before it.
const defaultConsistencyTimeout = 5 * time.Second

// ErrStale is in the error of a read that would not have seen a write of this process that had returned before, and has
// waited in vain for the cache to catch up. It is a [*StaleError].
var ErrStale = errors.New("cache has not caught up with a write of this process")

// StaleError says which write a cached read has waited for.
type StaleError struct {
	GVK schema.GroupVersionKind
	// Key names the object that was written. It is zero for one that was written before its kind was cached.
	Key object.Key
	// Waited is how long the read has waited.
	Waited time.Duration
	// Err is why the informer is out of step with the API server, or nil when it thinks that it is not.
	Err error
}

// Error names the write, and why it has not come.
func (e *StaleError) Error() string {
	text := fmt.Sprintf("%v: %s %s, waited %v", ErrStale, e.GVK.Kind, e.Key, e.Waited)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Unwrap returns Err.
func (e *StaleError) Unwrap() error { return e.Err }

// owed is a write that a store has to catch up with.
type owed struct {
	part  part
	write *write
}

// reading is a read of an informer that must not be older than the writes before it.
type reading struct {
	informer *Informer
	// first are the writes that the stores have to catch up with before they are read.
	first []owed
	// others are writes that only matter if the stores turn out to have an object as it was before them.
	others   map[object.Key][]owed
	deadline time.Time // zero until the read has waited
}

// add notes writes before which p must not be read.
func (r *reading) add(p part, first, others []*write) {
	for _, w := range first {
		r.first = append(r.first, owed{p, w})
	}
	for _, w := range others {
		if r.others == nil {
			r.others = map[object.Key][]owed{}
		}
		r.others[w.key] = append(r.others[w.key], owed{p, w})
	}
}

// begin blocks until the stores can be read. It fails with a [*StaleError] when that takes too long, and with the cause of
// ctx when that ends.
func (r *reading) begin(ctx context.Context) error {
	for _, d := range r.first {
		if err := r.await(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// isStale reports whether the object, which was read, is older than a write, after it has waited for that. The store must
// then be read again.
func (r *reading) isStale(ctx context.Context, obj object.Object) (bool, error) {
	if len(r.others) == 0 {
		return false, nil
	}
	key := object.KeyOf(obj)
	var older, rest []owed
	for _, d := range r.others[key] {
		if d.write.isAfter(obj) {
			older = append(older, d)
		} else {
			rest = append(rest, d)
		}
	}
	if len(older) > 0 {
		r.others[key] = rest
	}
	for _, d := range older {
		if err := r.await(ctx, d); err != nil {
			return true, err
		}
	}
	return len(older) > 0, nil
}

func (r *reading) await(ctx context.Context, d owed) error {
	seen := make(chan struct{})
	waiting := &waiter{wake: func() { close(seen) }}
	if !d.part.ledger.await(d.write, waiting) {
		return nil
	}
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.informer.patience)
	}
	timer := time.NewTimer(time.Until(r.deadline))
	defer timer.Stop()
	select {
	case <-seen:
		return nil
	case <-timer.C:
		d.part.ledger.leave(d.write, waiting)
		return &StaleError{GVK: r.informer.gvk, Key: d.write.key, Waited: r.informer.patience, Err: d.part.Err()}
	case <-ctx.Done():
		d.part.ledger.leave(d.write, waiting)
		return context.Cause(ctx)
	}
}
