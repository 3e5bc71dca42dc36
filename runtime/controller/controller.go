package controller

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

var (
	// ErrSyncTimeout is in the error of [Controller.Ready] when the sources have not synced within
	// [Options].CacheSyncTimeout.
	ErrSyncTimeout = errors.New("the sources have not synced in time")
)

const (
	// complainAfter is how long a source may take to sync before the log says that it has not, and how often it says so.
	complainAfter = 10 * time.Second
	// defaultSyncTimeout is the default of CacheSyncTimeout.
	defaultSyncTimeout = 2 * time.Minute
)

// Controller calls a reconciler for every request that its sources ask for. All methods are safe for concurrent use.
type Controller[R comparable] struct {
	name       string
	reconciler reconcile.Reconciler[R]
	opts       Options
	logger     *slog.Logger
	metrics    *instruments
	queue      *workqueue.Queue[R]
	events     *eventQueue[R]
	parking    *parking[R]
	limiter    RateLimiter[R] // nil is the backoff of the queue
	synced     chan struct{}  // closed when Run need not wait for a source any more

	mu        sync.Mutex
	ran       bool       // Run was called
	stop      func()     // ends Run; set while it runs
	abandoned bool       // Run returns at once
	feeds     []*feed[R] // in the order in which they were added
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
	c.events = newEventQueue(c.queue, opts.Debounce)
	c.parking = newParking(func(request R, priority int) {
		// It was got, so its time had come, even if it backs off.
		c.queue.AddWith(workqueue.AddOptions{Priority: priority, Interrupt: workqueue.InterruptAlways}, request)
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	again, abandoned := c.ran, c.abandoned
	if !again {
		c.ran, c.stop = true, func() { cancel(nil) }
	}
	c.mu.Unlock()
	switch {
	case again:
		return life.ErrAlreadyRun
	case abandoned:
		return nil
	}
	wait := c.runSources(ctx, cancel)
	if c.waitSynced(ctx) {
		c.work(ctx)
	}
	cancel(nil)
	c.queue.ShutDown()
	wait()
	return sourceFailure(ctx)
}

// abandon ends Run, or lets it return at once, for a controller that a manager has only in part. It is ready.
func (c *Controller[R]) abandon() {
	c.mu.Lock()
	stop := c.stop
	c.abandoned, c.feeds = true, nil
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// waitSynced blocks until all sources have synced that must, and complains meanwhile. It reports false when ctx ends
// first.
func (c *Controller[R]) waitSynced(ctx context.Context) bool {
	complain, late := time.NewTicker(complainAfter), time.NewTimer(c.opts.CacheSyncTimeout)
	defer complain.Stop()
	defer late.Stop()
	for {
		select {
		case <-c.synced:
			return true
		case <-complain.C:
			if err := c.Ready(); err != nil {
				c.logger.Warn("waiting for sources", "err", err)
			}
		case <-late.C:
			c.mu.Lock()
			c.late = true
			c.mu.Unlock()
			c.metrics.syncTimeouts.Inc(c.name)
			// It goes on: the operator's other controllers work, and this one does once its sources have synced.
			c.logger.Error("the controller does not reconcile", "err", c.Ready())
		case <-ctx.Done():
			return false
		}
	}
}

// work runs the workers until ctx ends, and returns after the last reconcile.
func (c *Controller[R]) work(ctx context.Context) {
	c.logger.Info("controller started", "workers", c.opts.MaxConcurrentReconciles)
	// Other controllers take a write with this context for foreign.
	ctx = c.events.writer.Context(ctx)
	var workers sync.WaitGroup
	for range c.opts.MaxConcurrentReconciles {
		workers.Go(func() {
			for {
				request, ok := c.queue.Get(ctx)
				if !ok {
					return
				}
				c.attempt(ctx, request)
			}
		})
	}
	workers.Wait()
	// After the workers, who would park more.
	c.parking.close()
	c.logger.Info("controller stopped")
}

// Options tune a controller. The zero value is one worker with the default backoff.
type Options struct {
	// MaxConcurrentReconciles is how many requests are reconciled at once. Zero means the manager's default, which is 1.
	MaxConcurrentReconciles int
	// BaseDelay is how long a request waits after its first failure; each further one doubles it. Zero means 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest time that a request waits after a failure. Zero means 1000 s.
	MaxDelay time.Duration
	// RateLimiter replaces BaseDelay and MaxDelay: it decides how long a failed request waits. [Builder.WithRateLimiter]
	// takes one for requests of other types, and overrides this.
	RateLimiter RateLimiter[reconcile.Request]
	// Debounce is how long events of one request are collected, from the first of them, before it is reconciled. What
	// exists at the start is reconciled at once. Zero collects no longer than the request waits for a worker anyway.
	Debounce time.Duration
	// ReconcileTimeout is how long one reconcile may take: its context ends then. Zero is no limit.
	ReconcileTimeout time.Duration
	// CacheSyncTimeout is how long the sources may take to sync before the controller says that it has failed: in an
	// error of the log, and in that of Ready, which is an [ErrSyncTimeout] from then on. It goes on trying, and works
	// when they do sync. Zero means 2 min.
	CacheSyncTimeout time.Duration
	// WarmUp starts the sources with the manager and not when it becomes the leader, so that a new leader begins to
	// reconcile at once. Every process then watches. See [Controller.WarmUp].
	WarmUp bool
	// Election says in which process the controller runs, when there are several.
	Election Election
	// PanicsCrash lets a panic of the reconciler end the program. Otherwise it is an error like any other.
	PanicsCrash bool
	// Logger is where the controller and, through the context, the reconciler log; nil is that of the manager, or
	// slog.Default().
	Logger *slog.Logger
	// Metrics gets the metrics of the controller and of its queue; nil is nowhere.
	Metrics *metrics.Registry
}

// RateLimiter decides how long a failed request waits, see [Builder.WithRateLimiter]. Those of client-go implement it.
// Implementations are safe for concurrent use.
type RateLimiter[R comparable] interface {
	// When returns how long the request waits. It is called for each reconcile that has failed.
	When(request R) time.Duration
	// Forget is called after a reconcile that has not failed, or that is not to be retried.
	Forget(request R)
}

// MainGroup is the leader election group of everything that names none. Its lease has the name of the operator.
const MainGroup = "main"

// Election says in which process a controller runs, when managers elect leaders. The zero value is in that of the
// leader of [MainGroup].
type Election struct {
	// Off runs the controller in every process.
	Off bool
	// Group is the group whose leader runs the controller. Each group has a lease of its own, so that the controllers
	// of an operator can be spread over its replicas. Empty is MainGroup.
	Group string
	// MigratesFrom is the group that the controller was in before it was in Group. For the release in which it moves, it
	// runs only in a process that leads both, which takes the lease of MigratesFrom first: then neither a process of the
	// release before, which has it in the old group, nor one of the release after, which knows only the new one, runs
	// the controller at the same time. In the release after it is left empty. All of Group waits for MigratesFrom.
	// Empty is no migration.
	MigratesFrom string
	// Lease is the name of the lease of Group, which is not MainGroup. A controller that moves from one program to another
	// is in a group of both, whose lease has one name. Empty is the name of the operator, a dash and Group.
	Lease string
}

// NeedLeaderElection reports whether the controller runs only in the process of a leader.
func (c *Controller[R]) NeedLeaderElection() bool { return !c.opts.Election.Off }

// LeaderElectionGroup returns the group whose leader runs the controller, empty for [MainGroup].
func (c *Controller[R]) LeaderElectionGroup() string { return c.opts.Election.Group }

// LeaderElectionMigratesFrom returns the group that the controller migrates from, empty when it does not.
func (c *Controller[R]) LeaderElectionMigratesFrom() string { return c.opts.Election.MigratesFrom }

// LeaderElectionLease returns the name of the lease of the group, empty for the usual one.
func (c *Controller[R]) LeaderElectionLease() string { return c.opts.Election.Lease }

// Runnable is what a manager runs: a controller, or anything else that goes on until its context ends. Run returns
// after the last goroutine that it started has ended. A Run that returns an error ends the manager.
type Runnable interface {
	Run(ctx context.Context) error
}

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

	waiting bool // it runs, and has not synced
	stop    context.CancelFunc
}

// Subscribe adds a source, also while the controller runs. Run waits for all that are added before they have synced. It
// does not stop for one that comes later, though Ready names that until it has synced. It fails after Run, and for a
// source that cannot run, see [source.Failure].
func (c *Controller[R]) Subscribe(s source.Source[R]) (*Subscription, error) {
	if err := source.Failure(s); err != nil {
		return nil, fmt.Errorf("watch %s: %w", s, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, fmt.Errorf("watch %s: %w", s, life.ErrAlreadyRun)
	}
	f := &feed[R]{source: s, first: !life.IsClosed(c.synced), ended: make(chan struct{})}
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
	// Run may have waited for nothing but this one.
	c.noteSyncedLocked(f)
	c.mu.Unlock()
	if stop != nil {
		// Without the lock, which the source takes when it says that it has synced.
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
	ctx = log.IntoContext(ctx, c.logger) // for handlers
	var running sync.WaitGroup
	c.start = func(f *feed[R]) {
		var feeding context.Context
		feeding, f.stop = context.WithCancel(ctx)
		f.waiting = true
		running.Go(func() {
			defer close(f.ended)
			err := f.source.Run(feeding, c.events.of(logOf(f.source)), func() { c.noteSynced(f) })
			// One that was dropped, or stopped with the rest, may end in any way.
			if err != nil && feeding.Err() == nil {
				fail(&sourceError{err})
			}
		})
	}
	for _, f := range c.feeds {
		c.start(f)
	}
	// A controller without sources has synced.
	c.noteSyncedLocked(nil)
	return func() {
		c.mu.Lock()
		// Before the wait, so that Subscribe adds nothing that nobody waits for.
		c.start, c.ended = nil, true
		c.mu.Unlock()
		running.Wait()
	}
}

// logOf returns the log of the writes that can cause the events of a source: an empty one if the source has no journal.
func logOf(source any) *writes.Log {
	if j := writes.JournalOf(source); j != nil {
		return writes.LogOf(j)
	}
	return &writes.Log{}
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

// noteSynced notes that Run need not wait for a feed any more.
func (c *Controller[R]) noteSynced(f *feed[R]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteSyncedLocked(f)
}

// noteSyncedLocked is noteSynced; with nil it only looks whether there is something to wait for.
func (c *Controller[R]) noteSyncedLocked(f *feed[R]) {
	if f != nil {
		f.waiting = false
	}
	waits := func(f *feed[R]) bool { return f.first && f.waiting }
	if c.start != nil && !slices.ContainsFunc(c.feeds, waits) && !life.IsClosed(c.synced) {
		close(c.synced)
	}
}

// unsynced returns the sources that are waited for, in the order in which they were added.
func (c *Controller[R]) unsynced() []source.Source[R] {
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
