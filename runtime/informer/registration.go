package informer

import (
	"context"
	"errors"
)

// ErrRemoved is in the error of a wait for a handler that was removed.
var ErrRemoved = errors.New("the handler was removed")

// ErrEnded is in the error of a wait for an informer whose Run has ended before, and of [Shared] for a kind that is new to a
// factory whose Run has ended.
var ErrEnded = errors.New("the informer has ended")

// Registration is one handler's place at an informer. All methods are safe for concurrent use.
type Registration struct {
	synced <-chan struct{}
	done   <-chan struct{}
	remove func()
	err    func() error // why done is closed
}

// Synced is closed when the handler has returned from the last of its Initial events: it has then seen all that
// existed when it was added, or all of the first list. It is never closed earlier, and is not closed at all if the
// handler is removed or the informer ends before that: [Registration.Wait] ends then, too.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Wait blocks until [Registration.Synced] is closed. It fails with [ErrRemoved] when the handler was removed before, with
// [ErrEnded] when the informer has ended before, and with the error of ctx and its cause when that ends.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.synced:
	case <-r.done:
		if !isDone(r.synced) {
			return r.err()
		}
	case <-ctx.Done():
		if !isDone(r.synced) {
			return endOf(ctx)
		}
	}
	return nil
}

// Remove takes the handler away: it is not called for another event. It does not wait for a call that is under way, so it
// can be called from anywhere, the handler itself included; [Registration.Done] tells when that has returned. Removing
// twice, or after the informer has ended, does nothing.
func (r *Registration) Remove() { r.remove() }

// Done is closed when the handler was removed, or its informer has ended, and the handler has returned from its last call.
// A handler must not wait for its own.
func (r *Registration) Done() <-chan struct{} { return r.done }
