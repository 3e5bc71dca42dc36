package informer

// Registration is one handler's place at an informer.
type Registration struct {
	synced <-chan struct{}
	remove func()
}

// Synced is closed when the handler has returned from the last of its Initial events: it has then seen all that
// existed when it was added, or all of the first list. It is never closed earlier, and is not closed at all if the
// handler is removed or the informer ends before that.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Remove takes the handler away. It waits until the handler has returned from the event it is working on, and after
// that the handler is not called again. Called from inside a handler, of this or another informer, it does not wait,
// because it could be waiting for its caller; the handler is then called at most for the event it is working on.
// Removing twice, or after the informer has ended, does nothing.
func (r *Registration) Remove() { r.remove() }
