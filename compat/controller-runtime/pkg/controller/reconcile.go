package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	khandler "github.com/kctrl-dev/kctrl/runtime/handler"
	ksource "github.com/kctrl-dev/kctrl/runtime/source"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// panics counts the panics of reconcilers that Reconcile calls directly.
var panics = metrics.Kctrl().Counter(
	"controller_runtime_reconcile_panics_total", "Reconciles that panicked.", "controller")

// ReconcileIDFromContext returns the ID of the current reconcile, or "".
var ReconcileIDFromContext = func(ctx context.Context) types.UID {
	if id, ok := ctx.Value(reconcileIDKey{}).(*reconcileID); ok {
		return id.get()
	}
	return ""
}

type reconcileIDKey struct{}

// reconcileID is an ID that is generated on first use.
type reconcileID struct {
	once sync.Once
	uid  types.UID
}

func (i *reconcileID) get() types.UID {
	i.once.Do(func() { i.uid = uuid.NewUUID() })
	return i.uid
}

// attempt reconciles a request of the workers.
func (c *controller[request]) attempt(ctx context.Context, req request) (result reconcile.Result, err error) {
	id := &reconcileID{}
	logger := logr.New(&lazySink{root: c.root.GetSink(), make: func() logr.LogSink {
		return c.options.LogConstructor(&req).WithValues("reconcileID", id.get()).GetSink()
	}})
	ctx = context.WithValue(log.IntoContext(ctx, logger), reconcileIDKey{}, id)
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(ctx, logger, p)
			panic(p) // kctrl's controller turns it into an error, or lets it crash
		}
	}()
	logger.V(5).Info("Reconciling")
	result, err = c.options.Reconciler.Reconcile(ctx, req)
	switch {
	case err != nil:
		if result.RequeueAfter > 0 || result.Requeue {
			logger.Info("Warning: Reconciler returned both a result with either RequeueAfter or Requeue set and a non-nil " +
				"error. RequeueAfter and Requeue will always be ignored if the error is non-nil. For more details, see: " +
				"https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/reconcile#Reconciler")
		}
		logger.Error(err, "Reconciler error")
		if c.options.RateLimiter != nil && errors.Is(err, reconcile.TerminalError(nil)) {
			c.terminal.Store(req, nil)
		}
	case result.RequeueAfter > 0:
		if verbose := logger.V(5); verbose.Enabled() {
			verbose.Info(fmt.Sprintf("Reconcile done, requeueing after %s", result.RequeueAfter))
		}
	case result.Requeue:
		logger.V(5).Info("Reconcile done, requeueing")
	default:
		logger.V(5).Info("Reconcile successful")
	}
	return result, err
}

func (c *controller[request]) recovers() bool {
	return c.options.RecoverPanic == nil || *c.options.RecoverPanic
}

func (c *controller[request]) logPanic(ctx context.Context, logger logr.Logger, p any) {
	if !c.recovers() {
		logger.Info(fmt.Sprintf("Observed a panic in reconciler: %v", p))
		return
	}
	for _, handle := range utilruntime.PanicHandlers {
		handle(ctx, p)
	}
	logger.Error(fmt.Errorf("panic: %v [recovered]", p), "Reconciler error")
}

// Reconcile calls the reconciler like a worker, with the timeout and the handling of panics of the options.
func (c *controller[request]) Reconcile(ctx context.Context, req request) (result reconcile.Result, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		panics.Inc(c.name)
		if !c.recovers() {
			panic(p)
		}
		for _, handle := range utilruntime.PanicHandlers {
			handle(ctx, p)
		}
		result, err = reconcile.Result{}, fmt.Errorf("panic: %v [recovered]", p)
	}()
	if c.options.ReconciliationTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.options.ReconciliationTimeout)
		defer cancel()
	}
	return c.options.Reconciler.Reconcile(ctx, req)
}

// lazySink creates its sink at the first log call, because most reconciles log nothing.
type lazySink struct {
	root logr.LogSink // determines the enabled levels
	make func() logr.LogSink
	once sync.Once
	made logr.LogSink
}

var _ logr.CallDepthLogSink = (*lazySink)(nil)

func (s *lazySink) sink() logr.LogSink {
	s.once.Do(func() { s.made = s.make() })
	return s.made
}

// deeper returns the sink with a call depth that skips the stack frame of this sink.
func (s *lazySink) deeper() logr.LogSink {
	if deep, ok := s.sink().(logr.CallDepthLogSink); ok {
		return deep.WithCallDepth(1)
	}
	return s.sink()
}

// Init implements logr.LogSink.
func (s *lazySink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s *lazySink) Enabled(level int) bool { return s.root != nil && s.root.Enabled(level) }

// Info implements logr.LogSink.
func (s *lazySink) Info(level int, msg string, keysAndValues ...any) {
	s.deeper().Info(level, msg, keysAndValues...)
}

// Error implements logr.LogSink.
func (s *lazySink) Error(err error, msg string, keysAndValues ...any) {
	s.deeper().Error(err, msg, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (s *lazySink) WithValues(keysAndValues ...any) logr.LogSink {
	return &lazySink{root: s.root, make: func() logr.LogSink { return s.sink().WithValues(keysAndValues...) }}
}

// WithName implements logr.LogSink.
func (s *lazySink) WithName(name string) logr.LogSink {
	return &lazySink{root: s.root, make: func() logr.LogSink { return s.sink().WithName(name) }}
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s *lazySink) WithCallDepth(depth int) logr.LogSink {
	return &lazySink{root: s.root, make: func() logr.LogSink {
		if deep, ok := s.sink().(logr.CallDepthLogSink); ok {
			return deep.WithCallDepth(depth)
		}
		return s.sink()
	}}
}

// tracked is a source that reports when it has synced or ended.
type tracked[request comparable] struct {
	ksource.Source[request]
	log  logr.Logger
	once sync.Once
	done chan struct{}
	err  error // error that ended the source before it was synced; set before done is closed
}

// Run implements ksource.Source.
func (t *tracked[request]) Run(ctx context.Context, queue khandler.Queue[request], synced func()) error {
	t.log.Info("Starting EventSource", "source", t.Source.String())
	err := t.Source.Run(ctx, queue, func() {
		synced()
		t.once.Do(func() { close(t.done) })
	})
	t.once.Do(func() {
		t.err = err
		close(t.done)
	})
	return err
}

// Journal returns the journal of the source.
func (t *tracked[request]) Journal() *kclient.Journal {
	if of, ok := t.Source.(interface{ Journal() *kclient.Journal }); ok {
		return of.Journal()
	}
	return nil
}
