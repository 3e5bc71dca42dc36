// Package controller provides controllers that have controller-runtime's API and use kctrl's queue and workers.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	kcontroller "github.com/kctrl-dev/kctrl/runtime/controller"
	kmetrics "github.com/kctrl-dev/kctrl/runtime/metrics"

	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/internal/bridge"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Options are the options of a controller for objects.
type Options = TypedOptions[reconcile.Request]

// TypedOptions are the options of a controller.
type TypedOptions[request comparable] struct {
	// SkipNameValidation allows several controllers with the same name.
	SkipNameValidation *bool
	// MaxConcurrentReconciles is the number of workers. 0 means 1.
	MaxConcurrentReconciles int
	// CacheSyncTimeout limits the time until the sources are synced. 0 means 2 minutes.
	CacheSyncTimeout time.Duration
	// RecoverPanic turns a panic of the reconciler into an error. Nil means true.
	RecoverPanic *bool
	// NeedLeaderElection runs the controller only in the leader. Nil means true.
	NeedLeaderElection *bool
	// Reconciler reconciles the requests.
	Reconciler reconcile.TypedReconciler[request]
	// RateLimiter computes the delay of failed requests. Nil doubles the delay each time, from 5 ms to 1000 s.
	RateLimiter workqueue.TypedRateLimiter[request]
	// NewQueue is not supported: the controller has its own queue.
	NewQueue func(
		controllerName string, rateLimiter workqueue.TypedRateLimiter[request],
	) workqueue.TypedRateLimitingInterface[request]
	// Logger is the logger of the controller.
	Logger logr.Logger
	// LogConstructor creates the logger of a reconcile. The request is nil for the logger of the controller.
	LogConstructor func(request *request) logr.Logger
	// UsePriorityQueue enables priorities of requests. Nil means true.
	UsePriorityQueue *bool
	// EnableWarmup starts the sources before the process becomes the leader.
	EnableWarmup *bool
	// ReconciliationTimeout limits the time of each reconcile. 0 means no limit.
	ReconciliationTimeout time.Duration
}

// DefaultFromConfig sets unset options from config.
func (options *TypedOptions[request]) DefaultFromConfig(config config.Controller) {
	if options.Logger.GetSink() == nil {
		options.Logger = config.Logger
	}
	setDefault(&options.SkipNameValidation, config.SkipNameValidation)
	if options.MaxConcurrentReconciles <= 0 && config.MaxConcurrentReconciles > 0 {
		options.MaxConcurrentReconciles = config.MaxConcurrentReconciles
	}
	setDefault(&options.CacheSyncTimeout, config.CacheSyncTimeout)
	setDefault(&options.UsePriorityQueue, config.UsePriorityQueue)
	setDefault(&options.RecoverPanic, config.RecoverPanic)
	setDefault(&options.NeedLeaderElection, config.NeedLeaderElection)
	setDefault(&options.EnableWarmup, config.EnableWarmup)
	setDefault(&options.ReconciliationTimeout, config.ReconciliationTimeout)
}

// setDefault sets field to value if it is unset.
func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// Controller is a controller for objects.
type Controller = TypedController[reconcile.Request]

// TypedController reconciles the requests of its sources.
type TypedController[request comparable] interface {
	reconcile.TypedReconciler[request]
	// Watch adds a source. It may be called while the controller runs.
	Watch(src source.TypedSource[request]) error
	// Start runs the controller until ctx ends. It fails if the sources do not sync in time.
	Start(ctx context.Context) error
	// GetLogger returns the logger of the controller.
	GetLogger() logr.Logger
}

// New returns a controller that mgr runs.
func New(name string, mgr manager.Manager, options Options) (Controller, error) {
	return NewTyped(name, mgr, options)
}

// NewTyped is like [New], for requests of any type.
func NewTyped[request comparable](
	name string, mgr manager.Manager, options TypedOptions[request],
) (TypedController[request], error) {
	options.DefaultFromConfig(mgr.GetControllerOptions())
	c, err := NewTypedUnmanaged(name, options)
	if err != nil {
		return nil, err
	}
	return c, mgr.Add(c)
}

// NewUnmanaged returns a controller that the caller runs.
func NewUnmanaged(name string, options Options) (Controller, error) {
	return NewTypedUnmanaged(name, options)
}

// NewTypedUnmanaged is like [NewUnmanaged], for requests of any type.
func NewTypedUnmanaged[request comparable](
	name string, options TypedOptions[request],
) (TypedController[request], error) {
	switch {
	case options.Reconciler == nil:
		return nil, errors.New("must specify Reconciler")
	case name == "":
		return nil, errors.New("must specify Name for Controller")
	case options.NewQueue != nil:
		return nil, errors.New("controller.Options.NewQueue is not supported: the controller has a queue of its own")
	}
	if options.SkipNameValidation == nil || !*options.SkipNameValidation {
		if err := takeName(name); err != nil {
			return nil, err
		}
	}
	if options.LogConstructor == nil {
		options.LogConstructor = logConstructor[request](name, options.Logger)
	}
	options.MaxConcurrentReconciles = max(1, options.MaxConcurrentReconciles)
	setDefault(&options.CacheSyncTimeout, 2*time.Minute)
	c := &controller[request]{name: name, options: options, root: options.LogConstructor(nil)}
	var err error
	c.native, err = c.build()
	return c, err
}

// names are the names of all controllers in the program.
var names = struct {
	sync.Mutex
	taken map[string]struct{}
}{taken: map[string]struct{}{}}

func takeName(name string) error {
	if simulated.Current() != nil {
		return nil // each simulated process has the same controllers
	}
	names.Lock()
	defer names.Unlock()
	if _, taken := names.taken[name]; taken {
		return fmt.Errorf("controller with name %s already exists. Controller names must be unique to avoid multiple "+
			"controllers reporting the same metric. This validation can be disabled via the SkipNameValidation option", name)
	}
	names.taken[name] = struct{}{}
	return nil
}

func logConstructor[request comparable](name string, logger logr.Logger) func(*request) logr.Logger {
	if logger.GetSink() == nil {
		logger = log.Log
	}
	logger = logger.WithValues("controller", name)
	return func(in *request) logr.Logger {
		if req, ok := any(in).(*reconcile.Request); ok && req != nil {
			object := klog.KRef(req.Namespace, req.Name)
			return logger.WithValues("object", object, "namespace", req.Namespace, "name", req.Name)
		}
		return logger
	}
}

// controller adapts a controller of kctrl to the lifecycle of controller-runtime.
type controller[request comparable] struct {
	name    string
	options TypedOptions[request]
	root    logr.Logger
	native  *kcontroller.Controller[request]

	mu      sync.Mutex
	started bool
	running bool                // the sources run
	sources []*tracked[request] // sources that Start waits for
	warming sync.WaitGroup

	terminal sync.Map // requests that fail with a terminal error, until the queue forgets them; see keepingLimiter
}

// keepingLimiter is a rate limiter that ignores a Forget after a terminal error: in controller-runtime, terminal errors
// do not reset the delay.
type keepingLimiter[request comparable] struct {
	workqueue.TypedRateLimiter[request]
	terminal *sync.Map
}

// Forget implements kctrl's RateLimiter.
func (l keepingLimiter[request]) Forget(req request) {
	if _, terminal := l.terminal.LoadAndDelete(req); !terminal {
		l.TypedRateLimiter.Forget(req)
	}
}

// build returns kctrl's controller. It logs nothing, because this package logs instead.
func (c *controller[request]) build() (*kcontroller.Controller[request], error) {
	o := c.options
	builder := kcontroller.ForRequests[request](host{metrics: metrics.Kctrl()}, c.name).WithOptions(kcontroller.Options{
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		CacheSyncTimeout:        o.CacheSyncTimeout,
		ReconcileTimeout:        o.ReconciliationTimeout,
		PanicsCrash:             o.RecoverPanic != nil && !*o.RecoverPanic,
		Logger:                  slog.New(slog.DiscardHandler),
	})
	if o.RateLimiter != nil {
		builder = builder.WithRateLimiter(keepingLimiter[request]{o.RateLimiter, &c.terminal})
	}
	return builder.Build(reconcile.TypedFunc[request](c.attempt))
}

// host implements the parts of a manager that a builder of kctrl needs for an unmanaged controller.
type host struct {
	kcontroller.Manager
	metrics *kmetrics.Registry
}

func (h host) Add(kcontroller.Runnable) error { return nil }
func (h host) Logger() *slog.Logger           { return slog.New(slog.DiscardHandler) }
func (h host) Metrics() *kmetrics.Registry    { return h.metrics }
func (h host) MaxConcurrentReconciles() int   { return 1 }

func (c *controller[request]) bridge() bridge.Options[request] {
	return bridge.Options[request]{
		Limiter:      c.options.RateLimiter,
		NoPriorities: c.options.UsePriorityQueue != nil && !*c.options.UsePriorityQueue,
	}
}

// Watch implements [TypedController].
func (c *controller[request]) Watch(src source.TypedSource[request]) error {
	native, err := source.Native(src, c.bridge())
	if err != nil {
		return err
	}
	t := &tracked[request]{Source: native, log: c.root, done: make(chan struct{})}
	c.mu.Lock()
	if !c.running {
		c.sources = append(c.sources, t)
	}
	c.mu.Unlock()
	return c.native.Watch(t)
}

// NeedLeaderElection reports whether the controller runs only in the leader.
func (c *controller[request]) NeedLeaderElection() bool {
	return c.options.NeedLeaderElection == nil || *c.options.NeedLeaderElection
}

// GetLogger implements [TypedController].
func (c *controller[request]) GetLogger() logr.Logger { return c.root }

// Warmup starts the sources if warmup is enabled, and returns when they have synced.
func (c *controller[request]) Warmup(ctx context.Context) error {
	if c.options.EnableWarmup == nil || !*c.options.EnableWarmup {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.warming.Go(func() {
		defer cancel(nil)
		if err := c.native.WarmUp().Run(ctx); err != nil {
			cancel(err)
		}
	})
	return c.waitSynced(ctx)
}

// Start implements [TypedController].
func (c *controller[request]) Start(ctx context.Context) error {
	c.mu.Lock()
	again := c.started
	c.started = true
	c.mu.Unlock()
	if again {
		return errors.New("controller was started more than once. " +
			"This is likely to be caused by being added to a manager multiple times")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error // set before ended is closed
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = c.native.Run(ctx)
	}()
	failed := c.waitSynced(ctx)
	if failed != nil {
		cancel(failed)
	} else if ctx.Err() == nil {
		c.root.Info("Starting Controller")
		c.root.Info("Starting workers", "worker count", c.options.MaxConcurrentReconciles)
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	if failed == nil && ctx.Err() != nil {
		c.root.Info("Shutdown signal received, waiting for all workers to finish")
	}
	<-ended
	c.warming.Wait()
	switch {
	case failed != nil:
		return failed
	case err == nil:
		c.root.Info("All workers finished")
	}
	return err
}

// waitSynced waits until the sources that were added before the call have synced. It fails after a timeout.
func (c *controller[request]) waitSynced(ctx context.Context) error {
	c.mu.Lock()
	c.running = true
	sources := c.sources
	c.mu.Unlock()
	timeout := time.NewTimer(c.options.CacheSyncTimeout)
	defer timeout.Stop()
	for _, s := range sources {
		select {
		case <-s.done:
			if s.err != nil {
				return s.err
			}
		case <-ctx.Done():
			return nil
		case <-timeout.C:
			err := fmt.Errorf("failed to wait for %s caches to sync %s: timed out waiting for cache to be synced for %s",
				c.name, s, s)
			c.root.Error(err, "Could not wait for Cache to sync", "source", s.String())
			return err
		}
	}
	return nil
}
