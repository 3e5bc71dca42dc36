package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/source"
)

// Subscription is a source of a controller that can be taken away again.
type Subscription struct{ unsubscribe func() }

// Close takes the source away and waits until it has ended: from then on it adds no requests. Those that it has added
// are reconciled. Closing twice is fine. It must not be called by a handler or by the source itself, which it would wait
// for.
func (s *Subscription) Close() { s.unsubscribe() }

// feed is a source of a controller. What is not said to be constant is guarded by the controller's mutex.
type feed[R comparable] struct {
	source source.Source[R] // constant
	first  bool             // constant: it was added before all had synced, so Run waits for it
	ended  chan struct{}    // constant, closed when the source has ended

	waiting bool // it runs, and has neither synced nor been excused
	stop    context.CancelFunc
}

// Subscribe adds a source, also while the controller runs. Run waits for all that are added before they have synced. It
// does not stop for one that comes later, though Ready names that until it has synced. It fails after Run.
func (c *Controller[R]) Subscribe(s source.Source[R]) (*Subscription, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, fmt.Errorf("watch %s: %w", s, ErrAlreadyRun)
	}
	if j := source.JournalOf(s); j != nil {
		c.feeder.authors.follow(j)
	}
	f := &feed[R]{source: s, first: !isClosed(c.synced), ended: make(chan struct{})}
	c.feeds = append(c.feeds, f)
	if c.start != nil {
		c.start(f)
	}
	return &Subscription{unsubscribe: func() { c.drop(f) }}, nil
}

// drop takes a feed away and waits for its end.
func (c *Controller[R]) drop(f *feed[R]) {
	c.mu.Lock()
	c.feeds = slices.DeleteFunc(c.feeds, func(other *feed[R]) bool { return other == f })
	stop := f.stop
	c.settleLocked(f)
	c.mu.Unlock()
	if stop != nil {
		stop()
		<-f.ended
	}
}

// runSources runs the sources, those that come later included, until ctx ends; fail is told of one that ended before.
// The function that it returns waits for them; it is called after the end of ctx. When the sources run already, which
// they do after WarmUp, somebody else sees to all that.
func (c *Controller[R]) runSources(ctx context.Context, fail context.CancelCauseFunc) (wait func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start != nil || c.ended {
		return func() {}
	}
	var running sync.WaitGroup
	c.start = func(f *feed[R]) {
		var feeding context.Context
		feeding, f.stop = context.WithCancel(ctx)
		f.waiting = true
		running.Go(func() {
			defer close(f.ended)
			err := f.source.Run(feeding, c.feeder, func() { c.settle(f) })
			if err != nil && feeding.Err() == nil {
				fail(&sourceError{err})
			}
		})
	}
	for _, f := range c.feeds {
		c.start(f)
	}
	c.settleLocked(nil)
	return func() {
		c.mu.Lock()
		c.start, c.ended = nil, true
		c.mu.Unlock()
		running.Wait()
	}
}

// sourceError is the cause of the end of the context when a source failed before it had ended.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }

// sourceFailure returns the error of a source that has ended ctx, or nil.
func sourceFailure(ctx context.Context) error {
	if failed, ok := context.Cause(ctx).(*sourceError); ok {
		return failed.err
	}
	return nil
}

// settle notes that Run need not wait for a feed any more.
func (c *Controller[R]) settle(f *feed[R]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settleLocked(f)
}

// settleLocked is settle; with nil it only looks whether there is something to wait for.
func (c *Controller[R]) settleLocked(f *feed[R]) {
	if f != nil {
		f.waiting = false
	}
	waits := func(f *feed[R]) bool { return f.first && f.waiting }
	if c.start != nil && !slices.ContainsFunc(c.feeds, waits) && !isClosed(c.synced) {
		close(c.synced)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// excuseAbsent stops to wait for the optional sources whose kind is not there.
func (c *Controller[R]) excuseAbsent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.feeds {
		if f.waiting && source.IsAbsent(f.source) {
			c.settleLocked(f)
		}
	}
}

// unsynced returns the sources that are waited for, in the order in which they were added.
func (c *Controller[R]) unsynced() []source.Source[R] {
	c.excuseAbsent()
	c.mu.Lock()
	defer c.mu.Unlock()
	var unsynced []source.Source[R]
	for _, f := range c.feeds {
		if f.waiting {
			unsynced = append(unsynced, f.source)
		}
	}
	return unsynced
}
