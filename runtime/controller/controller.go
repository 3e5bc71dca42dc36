package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

var (
	// ErrAlreadyRun is returned by a second [Controller.Run], and by [Controller.Watch] after the end of the first.
	ErrAlreadyRun = errors.New("controller was run before")
	// ErrSyncTimeout is in the error of [Controller.Ready] when the sources have not synced within
	// [Options].CacheSyncTimeout.
	ErrSyncTimeout = errors.New("the sources have not synced in time")
)

const (
	// complainAfter is how long a source may take to sync before the log says that it has not, and how often it says so.
	complainAfter = 10 * time.Second
	// defaultSyncTimeout is the default of CacheSyncTimeout.
	defaultSyncTimeout = 2 * time.Minute
	// askAgain is how often an optional source that has not synced is asked whether its kind is there.
	askAgain = 100 * time.Millisecond
)

// Controller calls a reconciler for every request that its sources ask for. All methods are safe for concurrent use.
type Controller[R comparable] struct {
	name       string
	reconciler reconcile.Reconciler[R]
	opts       Options
	logger     *slog.Logger
	metrics    *instruments
	queue      *workqueue.Queue[R]
	feeder     *feeder[R]
	gate       *gate[R]
	synced     chan struct{} // closed when Run need not wait for a source any more

	mu    sync.Mutex
	ran   bool       // Run was called
	feeds []*feed[R] // in the order in which they were added
	// start runs a feed; it is set while the sources run.
	start func(f *feed[R])
	ended bool // the sources have run
	late  bool // CacheSyncTimeout has passed
}

// New returns a controller that calls reconciler. It starts nothing: [Controller.Run] does. The name is that of its
// log lines and metrics.
func New[R comparable](name string, reconciler reconcile.Reconciler[R], opts Options) *Controller[R] {
	opts.MaxConcurrentReconciles = max(1, opts.MaxConcurrentReconciles)
	opts.CacheSyncTimeout = cmp.Or(opts.CacheSyncTimeout, defaultSyncTimeout)
	logger := log.Brief(cmp.Or(opts.Logger, slog.Default()))
	c := &Controller[R]{
		name:       name,
		reconciler: reconciler,
		opts:       opts,
		logger:     logger.With("controller", name),
		metrics:    newInstruments(opts.Metrics, name, opts.MaxConcurrentReconciles),
		queue: workqueue.New[R](workqueue.Options{
			Name: name, BaseDelay: opts.BaseDelay, MaxDelay: opts.MaxDelay, Metrics: opts.Metrics,
		}),
		synced: make(chan struct{}),
	}
	c.feeder = newFeeder(c.queue, opts.Debounce)
	c.gate = newGate(func(request R, priority int) {
		// It was got, so its time had come, even if it backs off.
		c.queue.AddWith(workqueue.AddOptions{Priority: priority, IgnoreBackoff: true}, request)
	})
	return c
}

// Name returns the name.
func (c *Controller[R]) Name() string { return c.name }

// Watch adds a source, also while the controller runs. It fails after that. See [Controller.Subscribe].
func (c *Controller[R]) Watch(s source.Source[R]) error {
	_, err := c.Subscribe(s)
	return err
}

// Ready returns why the controller does not reconcile yet: an error for each source that has not synced. It returns nil
// when it does, and before the sources run, since a controller that waits to be the leader is as ready as it can be. An
// optional source whose kind is not there is not waited for.
func (c *Controller[R]) Ready() error {
	var errs []error
	for _, s := range c.unsynced() {
		errs = append(errs, notSynced(s))
	}
	c.mu.Lock()
	late := c.late
	c.mu.Unlock()
	if late && len(errs) > 0 {
		errs = append([]error{fmt.Errorf("%w (%v)", ErrSyncTimeout, c.opts.CacheSyncTimeout)}, errs...)
	}
	return errors.Join(errs...)
}

func notSynced[R comparable](s source.Source[R]) error {
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s has not synced: %w", s, explain(err))
	}
	return fmt.Errorf("%s has not synced", s)
}

// Run starts the sources, and once all have synced reconciles until ctx ends. It returns after the last reconcile and
// the last source have ended: with nil, or with the error of a source that ended early. It can be called once.
func (c *Controller[R]) Run(ctx context.Context) error {
	c.mu.Lock()
	again := c.ran
	c.ran = true
	c.mu.Unlock()
	if again {
		return ErrAlreadyRun
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := c.runSources(ctx, cancel)
	if c.waitSynced(ctx) {
		c.work(ctx)
	}
	cancel(nil)
	c.queue.ShutDown()
	wait()
	return sourceFailure(ctx)
}

// waitSynced blocks until all sources have synced that must, and complains meanwhile. It reports false when ctx ends
// first.
func (c *Controller[R]) waitSynced(ctx context.Context) bool {
	complain, ask, late := time.NewTicker(complainAfter), time.NewTicker(askAgain), time.NewTimer(c.opts.CacheSyncTimeout)
	defer complain.Stop()
	defer ask.Stop()
	defer late.Stop()
	for {
		select {
		case <-c.synced:
			return true
		case <-ask.C:
			c.excuseAbsent()
		case <-complain.C:
			if err := c.Ready(); err != nil {
				c.logger.Warn("waiting for sources", "err", err)
			}
		case <-late.C:
			c.mu.Lock()
			c.late = true
			c.mu.Unlock()
			c.metrics.syncTimeouts.Inc(c.name)
			c.logger.Error("the controller does not reconcile", "err", c.Ready())
		case <-ctx.Done():
			return false
		}
	}
}

// work runs the workers until ctx ends, and returns after the last reconcile.
func (c *Controller[R]) work(ctx context.Context) {
	c.logger.Info("controller started", "workers", c.opts.MaxConcurrentReconciles)
	var workers sync.WaitGroup
	for range c.opts.MaxConcurrentReconciles {
		workers.Go(func() {
			for {
				request, ok := c.queue.Get(ctx)
				if !ok {
					return
				}
				c.process(ctx, request)
			}
		})
	}
	workers.Wait()
	c.gate.close()
	c.logger.Info("controller stopped")
}
