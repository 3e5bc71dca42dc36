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

// owed is a write that a read waits for, and whose it is.
type owed struct {
	part  part
	write *write
}

// owes returns what the part has to catch up with, of writes.
func (p part) owes(writes []*write) []owed {
	var all []owed
	for _, w := range writes {
		all = append(all, owed{p, w})
	}
	return all
}

// catchUp blocks until the stores have caught up with the writes. It fails with a [*StaleError] when that takes too long,
// and with the cause of ctx when that ends.
func (i *Informer) catchUp(ctx context.Context, debts []owed) error {
	if len(debts) == 0 {
		return nil
	}
	timer := time.NewTimer(i.patience)
	defer timer.Stop()
	for _, d := range debts {
		seen := make(chan struct{})
		waiting := &waiter{wake: func() { close(seen) }}
		if !d.part.ledger.await(d.write, waiting) {
			continue
		}
		select {
		case <-seen:
		case <-timer.C:
			d.part.ledger.leave(d.write, waiting)
			return &StaleError{GVK: i.gvk, Key: d.write.key, Waited: i.patience, Err: d.part.Err()}
		case <-ctx.Done():
			d.part.ledger.leave(d.write, waiting)
			return context.Cause(ctx)
		}
	}
	return nil
}
