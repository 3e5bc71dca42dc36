package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// ErrAlreadyRun is returned by a second [Controller.Run].
var ErrAlreadyRun = errors.New("controller was run before")

// complainAfter is how long a source may take to sync before the log says that it has not, and how often it says so.
const complainAfter = 10 * time.Second

// Options tune a controller. The zero value is one worker with the default backoff.
type Options struct {
	// MaxConcurrentReconciles is how many requests are reconciled at once. Zero means the manager's default, which is 1.
	MaxConcurrentReconciles int
	// BaseDelay is how long a request waits after its first failure; each further one doubles it. Zero means 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest time that a request waits after a failure. Zero means 1000 s.
	MaxDelay time.Duration
	// PanicsCrash lets a panic of the reconciler end the program. Otherwise it is an error like any other.
	PanicsCrash bool
	// Logger is where the controller and, through the context, the reconciler log; nil is that of the manager, or
	// slog.Default().
	Logger *slog.Logger
	// Metrics gets the metrics of the controller and of its queue; nil is nowhere.
	Metrics *metrics.Registry
}

// Controller calls a reconciler for every request that its sources ask for. All methods are safe for concurrent use.
type Controller[R comparable] struct {
	name       string
	reconciler reconcile.Reconciler[R]
	opts       Options
	logger     *slog.Logger
	metrics    *instruments
	queue      *workqueue.Queue[R]
	gate       *gate[R]

	mu      sync.Mutex
	sources []source.Source[R] // grows only while stage is created
	stage   stage
	waiting map[int]struct{} // the places in sources of those that have not synced; empty until Run
	synced  chan struct{}    // closed when waiting becomes empty after begin
}

// stage is where a controller is in its life.
type stage int

const (
	created stage = iota
	running
)

// New returns a controller that calls reconciler. It starts nothing: [Controller.Run] does. The name is that of its
// log lines and metrics.
func New[R comparable](name string, reconciler reconcile.Reconciler[R], opts Options) *Controller[R] {
	opts.MaxConcurrentReconciles = max(1, opts.MaxConcurrentReconciles)
	logger := cmp.Or(opts.Logger, slog.Default())
	c := &Controller[R]{
		name:       name,
		reconciler: reconciler,
		opts:       opts,
		logger:     logger.With("controller", name),
		metrics:    newInstruments(opts.Metrics, name, opts.MaxConcurrentReconciles),
		queue: workqueue.New[R](workqueue.Options{
			Name: name, BaseDelay: opts.BaseDelay, MaxDelay: opts.MaxDelay, Metrics: opts.Metrics,
		}),
		waiting: map[int]struct{}{},
		synced:  make(chan struct{}),
	}
	c.gate = newGate(func(request R, priority int) {
		c.queue.AddWith(workqueue.AddOptions{Priority: priority}, request)
	})
	return c
}

// Name returns the name.
func (c *Controller[R]) Name() string { return c.name }

// Watch adds a source. It fails after Run.
func (c *Controller[R]) Watch(s source.Source[R]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != created {
		return fmt.Errorf("watch %s: %w", s, ErrAlreadyRun)
	}
	c.sources = append(c.sources, s)
	return nil
}

// Ready returns why the controller does not reconcile yet: an error for each source that has not synced. It returns nil
// when it does, and before Run, since a controller that waits to be the leader is as ready as it can be.
func (c *Controller[R]) Ready() error {
	var errs []error
	for _, s := range c.unsynced() {
		errs = append(errs, notSynced(s))
	}
	return errors.Join(errs...)
}

// unsynced returns the sources that Run waits for, in the order in which they were added.
func (c *Controller[R]) unsynced() []source.Source[R] {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unsynced []source.Source[R]
	for i, s := range c.sources {
		if _, ok := c.waiting[i]; ok {
			unsynced = append(unsynced, s)
		}
	}
	return unsynced
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
	sources, err := c.begin()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var feeding sync.WaitGroup
	for i, s := range sources {
		feeding.Go(func() {
			if err := s.Run(ctx, c.queue, func() { c.hasSynced(i) }); err != nil {
				cancel(&sourceError{err})
			}
		})
	}
	if c.waitSynced(ctx) {
		c.work(ctx)
	}
	c.queue.ShutDown()
	feeding.Wait()
	if failed, ok := context.Cause(ctx).(*sourceError); ok {
		return failed.err
	}
	return nil
}

// sourceError is the cause of the end of the context when a source failed before it had ended.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }

func (c *Controller[R]) begin() ([]source.Source[R], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != created {
		return nil, ErrAlreadyRun
	}
	c.stage = running
	for i := range c.sources {
		c.waiting[i] = struct{}{}
	}
	if len(c.waiting) == 0 {
		close(c.synced)
	}
	return c.sources, nil
}

// hasSynced notes that the source at place i has synced.
func (c *Controller[R]) hasSynced(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiting[i]; !ok {
		return
	}
	delete(c.waiting, i)
	if len(c.waiting) == 0 {
		close(c.synced)
	}
}

// waitSynced blocks until all sources have synced, and complains meanwhile. It reports false when ctx ends first.
func (c *Controller[R]) waitSynced(ctx context.Context) bool {
	complain := time.NewTicker(complainAfter)
	defer complain.Stop()
	for {
		select {
		case <-c.synced:
			return true
		case <-complain.C:
			c.logger.Warn("waiting for sources", "err", c.Ready())
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
