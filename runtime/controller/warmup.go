package controller

import "context"

// WarmUp returns what runs the sources of the controller, for a manager to run in every process; with [Options].WarmUp
// the builder adds it. Run then finds them running, and their requests in the queue. When Run comes first, as it may, it
// runs them itself.
func (c *Controller[R]) WarmUp() Runnable { return &warmUp[R]{c} }

type warmUp[R comparable] struct{ controller *Controller[R] }

// Name returns the name that logs show.
func (w *warmUp[R]) Name() string { return w.controller.name + " sources" }

// NeedLeaderElection returns false: the sources run in every process.
func (w *warmUp[R]) NeedLeaderElection() bool { return false }

// Run runs the sources until ctx ends.
func (w *warmUp[R]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := w.controller.runSources(ctx, cancel)
	<-ctx.Done()
	wait()
	return sourceFailure(ctx)
}
