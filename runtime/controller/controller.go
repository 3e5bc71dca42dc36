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

// ErrSyncTimeout is wrapped by the error of [Controller.Ready] if the sources have not synced within
// [Options].CacheSyncTimeout.
var ErrSyncTimeout = errors.New("the sources have not synced in time")

// complainAfter is the interval at which the log reports sources that have not synced.
const complainAfter = 10 * time.Second

// Controller calls a reconciler for every request that its sources add. It is safe for concurrent use.
type Controller[R comparable] struct {
	name       string
	reconciler reconcile.Reconciler[R]
	opts       Options
	logger     *slog.Logger
	metrics    *instruments
	queue      *workqueue.Queue[R]
	events     *eventQueue[R]
	parking    *parking[R]
	limiter    RateLimiter[R] // nil means the queue's backoff
	synced     chan struct{}  // closed when all sources that Run waits for have synced

	mu        sync.Mutex
	ran       bool       // Run was called
	stop      func()     // ends Run; set while it runs
	abandoned bool       // Run returns at once
	feeds     []*feed[R] // in the order of Subscribe
	// start runs a feed. It is set while the sources run.
	start func(f *feed[R])
	ended bool // the sources have ended
	late  bool // CacheSyncTimeout has passed
}

// New returns a controller that calls reconciler. It starts no goroutine. name identifies it in logs and metrics.
func New[R comparable](name string, reconciler reconcile.Reconciler[R], opts Options) *Controller[R] {
	opts.MaxConcurrentReconciles = max(1, opts.MaxConcurrentReconciles)
	opts.CacheSyncTimeout = cmp.Or(opts.CacheSyncTimeout, 2*time.Minute)
	logger := log.Brief(cmp.Or(opts.Logger, slog.Default()))
	c := &Controller[R]{
		name: name, reconciler: reconciler, opts: opts, logger: logger.With("controller", name),
		metrics: newInstruments(opts.Metrics, name, opts.MaxConcurrentReconciles),
		queue: workqueue.New[R](workqueue.Options{
			Name: name, BaseDelay: opts.BaseDelay, MaxDelay: opts.MaxDelay, Metrics: opts.Metrics,
		}),
		synced: make(chan struct{}),
	}
	c.events = newEventQueue(c.queue, opts.Debounce)
	c.parking = newParking(func(request R, priority int) {
		// The request was due when it was parked, so a backoff must not delay it.
		c.queue.AddWith(workqueue.AddOptions{Priority: priority, Interrupt: workqueue.InterruptAlways}, request)
	})
	return c
}

// Name returns the name.
func (c *Controller[R]) Name() string { return c.name }

// Watch adds a source, before Run or while the controller runs. It fails after Run. See [Controller.Subscribe].
func (c *Controller[R]) Watch(s source.Source[R]) error {
	_, err := c.Subscribe(s)
	return err
}

// Ready returns nil, or an error for each source that has not synced. It returns nil before the sources run, because a
// controller that waits for leadership is as ready as it can be. It ignores optional sources whose kind is missing.
func (c *Controller[R]) Ready() error {
	c.mu.Lock()
	late := c.late
	var waiting []source.Source[R]
	for _, f := range c.feeds {
		if f.waiting {
			waiting = append(waiting, f.source)
		}
	}
	c.mu.Unlock()
	var errs []error
	if late && len(waiting) > 0 {
		errs = append(errs, fmt.Errorf("%w (%v)", ErrSyncTimeout, c.opts.CacheSyncTimeout))
	}
	for _, s := range waiting {
		if err := s.Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s has not synced: %w", s, explain(err)))
		} else {
			errs = append(errs, fmt.Errorf("%s has not synced", s))
		}
	}
	return errors.Join(errs...)
}

// Run starts the sources, waits until all have synced, and reconciles until ctx ends. It returns after the last
// reconcile and the last source, with nil or the error of a source that ended early. It can be called only once.
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
	return wait()
}

// abandon ends Run, or makes a later call return immediately. It is for a controller that could not be added to a
// manager completely. Ready returns nil for an abandoned controller.
func (c *Controller[R]) abandon() {
	c.mu.Lock()
	stop := c.stop
	c.abandoned, c.feeds = true, nil
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// waitSynced waits for the required sources, and logs sources that take long. It reports false if ctx ends first.
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
			// Keep waiting: other controllers work, and this one reconciles as soon as its sources have synced.
			c.logger.Error("the controller does not reconcile", "err", c.Ready())
		case <-ctx.Done():
			return false
		}
	}
}

// work runs the workers until ctx ends, and returns after the last reconcile.
func (c *Controller[R]) work(ctx context.Context) {
	c.logger.Info("controller started", "workers", c.opts.MaxConcurrentReconciles)
	// With this context, other controllers treat the writes as foreign.
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
	// No request is parked after this, because the workers have ended.
	c.parking.close()
	c.logger.Info("controller stopped")
}

// Options configure a controller. The zero value means one worker with the default backoff.
type Options struct {
	// MaxConcurrentReconciles is the number of workers. Zero means the manager's default, which is 1.
	MaxConcurrentReconciles int
	// BaseDelay is the delay of a request after its first failure. Each further failure doubles it. Zero means 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest delay after a failure. Zero means 1000 s.
	MaxDelay time.Duration
	// RateLimiter determines the delay of failed requests, instead of BaseDelay and MaxDelay. For requests of other types,
	// use [Builder.WithRateLimiter], which overrides this field.
	RateLimiter RateLimiter[reconcile.Request]
	// Debounce is the time from the first event of a request to its reconcile, in which further events are merged. Objects
	// that exist at the start are reconciled without this delay. Zero disables it.
	Debounce time.Duration
	// ReconcileTimeout is the time after which the context of a reconcile ends. Zero means no timeout.
	ReconcileTimeout time.Duration
	// CacheSyncTimeout is the time after which the controller logs an error if sources have not synced, and Ready returns
	// an error that wraps [ErrSyncTimeout]. The controller continues to wait. Zero means 2 min.
	CacheSyncTimeout time.Duration
	// WarmUp starts the sources before the manager becomes the leader, so that a new leader begins to reconcile
	// immediately. Every replica then watches the kinds. See [Controller.WarmUp].
	WarmUp bool
	// Election configures which replica runs the controller.
	Election Election
	// PanicsCrash lets a panic of the reconciler end the program. By default, a panic is an error of the reconcile.
	PanicsCrash bool
	// Logger is the logger of the controller and its reconciler. Nil means the manager's logger, or slog.Default().
	Logger *slog.Logger
	// Metrics receives the metrics of the controller and its queue. Nil disables them.
	Metrics *metrics.Registry
}

// RateLimiter determines the delay of failed requests, see [Builder.WithRateLimiter]. client-go's rate limiters
// implement it. Implementations are safe for concurrent use.
type RateLimiter[R comparable] interface {
	// When returns the delay of the request. It is called for each failed reconcile.
	When(request R) time.Duration
	// Forget is called after a reconcile that succeeded or that is not retried.
	Forget(request R)
}

// MainGroup is the default leader election group. Its lease has the name of the operator.
const MainGroup = "main"

// Election configures which replica runs a controller. The zero value means the leader of [MainGroup].
type Election struct {
	// Off runs the controller in every replica.
	Off bool
	// Group is the group whose leader runs the controller. Each group has its own lease, so different replicas can run
	// different controllers of an operator. Empty means MainGroup.
	Group string
	// MigratesFrom is the previous group of the controller, set for the one release that moves it to Group. In that
	// release, the controller runs only in a process that leads both groups; the process acquires the lease of
	// MigratesFrom first. So the controller never runs at the same time as in a process of the previous or the next
	// release. All controllers of Group wait for MigratesFrom. In all other releases, leave it empty.
	MigratesFrom string
	// Lease is the name of the lease of a Group other than MainGroup. To move a controller between programs, put it into a
	// group with the same lease in both programs. Empty means the name of the operator, a dash, and Group.
	Lease string
}

// NeedLeaderElection reports whether the controller runs only in the leader.
func (c *Controller[R]) NeedLeaderElection() bool { return !c.opts.Election.Off }

// LeaderElectionGroup returns the group whose leader runs the controller. Empty means [MainGroup].
func (c *Controller[R]) LeaderElectionGroup() string { return c.opts.Election.Group }

// LeaderElectionMigratesFrom returns the group from which the controller migrates, or "".
func (c *Controller[R]) LeaderElectionMigratesFrom() string { return c.opts.Election.MigratesFrom }

// LeaderElectionLease returns the name of the group's lease. Empty means the default name.
func (c *Controller[R]) LeaderElectionLease() string { return c.opts.Election.Lease }

// Runnable is run by a manager: a controller, or any other code that runs until its context ends. Run returns after the
// last goroutine that it started has ended. If Run returns an error, the manager ends.
type Runnable interface {
	Run(ctx context.Context) error
}

// Subscription is a source of a controller that can be removed.
type Subscription struct{ unsubscribe func() }

// Close removes the source and waits until it has ended. Requests that it has already added are reconciled. Further
// calls do nothing. A handler or the source itself must not call Close, because the call would deadlock.
func (s *Subscription) Close() { s.unsubscribe() }

// feed is a source of a controller, and its state. The controller's mutex guards the fields that are not constant.
type feed[R comparable] struct {
	source source.Source[R] // constant
	first  bool             // constant: added before all sources had synced, so Run waits for it
	ended  chan struct{}    // constant, closed when the source has ended

	waiting bool // the source runs and has not synced
	stop    context.CancelFunc
}

// Subscribe adds a source, before Run or while the controller runs. Until all sources have synced, Run also waits for a
// source that is added. After that, reconciles continue while a new source syncs, and Ready reports the source until it
// has synced. Subscribe fails after Run, and for a source that cannot run, see [source.Failure].
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

// drop removes a feed and waits for its end.
func (c *Controller[R]) drop(f *feed[R]) {
	c.mu.Lock()
	c.feeds = slices.DeleteFunc(c.feeds, func(other *feed[R]) bool { return other == f })
	stop := f.stop
	c.checkSyncedLocked() // Run may have waited only for this feed
	c.mu.Unlock()
	if stop != nil {
		// Called without the lock, because the source acquires it when it syncs.
		stop()
		<-f.ended
	}
}

// runSources runs the sources, including later ones, until ctx ends. If a source ends before ctx, runSources calls
// cancel. The returned function waits for the sources and returns the error of the first one that ended early; call it
// after ctx has ended. If the sources already run, for example because of WarmUp, runSources does nothing.
func (c *Controller[R]) runSources(ctx context.Context, cancel context.CancelCauseFunc) (wait func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start != nil || c.ended {
		return func() error { return nil }
	}
	ctx = log.IntoContext(ctx, c.logger) // for handlers
	var running sync.WaitGroup
	var once sync.Once
	var failure error
	c.start = func(f *feed[R]) {
		var feeding context.Context
		feeding, f.stop = context.WithCancel(ctx)
		f.waiting = true
		running.Go(func() {
			defer close(f.ended)
			err := f.source.Run(feeding, sourceQueue[R]{c.events, logOf(f.source)}, func() { c.noteSynced(f) })
			// After drop or the end of ctx, any error of the source is ignored.
			if err != nil && feeding.Err() == nil {
				once.Do(func() {
					failure = err
					cancel(err)
				})
			}
		})
	}
	for _, f := range c.feeds {
		c.start(f)
	}
	c.checkSyncedLocked() // a controller without sources has synced
	return func() error {
		c.mu.Lock()
		// This comes before the wait, so that Subscribe cannot add a source that the wait misses.
		c.start, c.ended = nil, true
		c.mu.Unlock()
		running.Wait()
		return failure
	}
}

// logOf returns the log of the writes that can cause the events of a source. It is empty if the source has no journal.
func logOf(source any) *writes.Log {
	if j := writes.JournalOf(source); j != nil {
		return writes.LogOf(j)
	}
	return &writes.Log{}
}

func (c *Controller[R]) noteSynced(f *feed[R]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiting = false
	c.checkSyncedLocked()
}

// checkSyncedLocked closes synced if Run has no feed to wait for.
func (c *Controller[R]) checkSyncedLocked() {
	waits := func(f *feed[R]) bool { return f.first && f.waiting }
	if c.start != nil && !slices.ContainsFunc(c.feeds, waits) && !life.IsClosed(c.synced) {
		close(c.synced)
	}
}

// WarmUp returns a runnable that runs the controller's sources in every replica, so that the queue has their requests
// when Run begins. With [Options].WarmUp, the builder adds it. If Run begins first, it runs the sources itself.
func (c *Controller[R]) WarmUp() Runnable { return &warmUp[R]{c} }

type warmUp[R comparable] struct{ controller *Controller[R] }

func (w *warmUp[R]) Name() string             { return w.controller.name + " sources" }
func (w *warmUp[R]) NeedLeaderElection() bool { return false }

func (w *warmUp[R]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := w.controller.runSources(ctx, cancel)
	<-ctx.Done()
	return wait()
}
