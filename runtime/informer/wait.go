package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// waitFor blocks until done is closed. If ctx ends earlier, the error has that of ctx and what unsynced returns, and if
// ended is closed earlier ErrEnded in its place.
func waitFor(ctx context.Context, done, ended <-chan struct{}, unsynced func() []error) error {
	why := ErrEnded
	select {
	case <-done:
	case <-ended:
	case <-ctx.Done():
		why = endOf(ctx)
	}
	if isDone(done) {
		return nil
	}
	return errors.Join(append(unsynced(), why)...)
}

// endOf returns the error of ctx, with its cause if that says more.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// notSynced says that what has that name has not synced, and why if that is known.
func notSynced(name string, why error) error {
	if why == nil {
		return fmt.Errorf("%s has not synced", name)
	}
	return fmt.Errorf("%s has not synced: %w", name, why)
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
