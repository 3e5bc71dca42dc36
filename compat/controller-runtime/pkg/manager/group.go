package manager

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
)

var errGroupStopped = errors.New("can't accept new runnable as stop procedure is already engaged")

// group has runnables that start and stop together.
type group struct {
	logger logr.Logger
	fail   func(error) // reports the error of a runnable

	mu      sync.Mutex
	queue   []member // runnables that wait for the start
	ctx     context.Context
	cancel  context.CancelFunc
	started bool
	stopped bool
	running sync.WaitGroup
}

// member is a runnable with an optional function that waits until it is ready.
type member struct {
	Runnable
	ready func(ctx context.Context) bool
}

// add adds a runnable. It starts with the group, or immediately if the group has started.
func (g *group) add(r Runnable, ready func(ctx context.Context) bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := member{r, ready}
	switch {
	case g.stopped:
		return errGroupStopped
	case !g.started:
		g.queue = append(g.queue, m)
	default:
		g.runLocked(m)
		if m.ready != nil { // no caller waits, so the cache syncs in the background
			g.running.Go(func() { m.ready(g.ctx) })
		}
	}
	return nil
}

func (g *group) runLocked(m member) {
	g.running.Go(func() {
		err := m.Start(g.ctx)
		if err == nil {
			return
		}
		g.mu.Lock()
		stopped := g.stopped
		g.mu.Unlock()
		switch {
		case !stopped:
			g.fail(err)
		case !errors.Is(err, context.Canceled):
			g.logger.Error(err, "error received after stop sequence was engaged")
		}
	})
}

// start starts all runnables and waits until they are ready or ctx ends. The contexts of the runnables derive from
// base.
func (g *group) start(ctx, base context.Context) {
	g.mu.Lock()
	if g.started || g.stopped {
		g.mu.Unlock()
		return
	}
	g.started = true
	g.ctx, g.cancel = context.WithCancel(base)
	members := g.queue
	g.queue = nil
	for _, m := range members {
		g.runLocked(m)
	}
	g.mu.Unlock()
	waiting, stop := context.WithCancel(g.ctx)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	for _, m := range members {
		if m.ready != nil {
			m.ready(waiting)
		}
	}
}

// stop stops all runnables and waits for them until ctx ends.
func (g *group) stop(ctx context.Context) {
	g.mu.Lock()
	g.stopped = true
	cancel := g.cancel
	g.mu.Unlock()
	if cancel == nil {
		return // the group was not started
	}
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.running.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
