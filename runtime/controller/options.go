package controller

import (
	"log/slog"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Options tune a controller. The zero value is one worker with the default backoff.
type Options struct {
	// MaxConcurrentReconciles is how many requests are reconciled at once. Zero means the manager's default, which is 1.
	MaxConcurrentReconciles int
	// BaseDelay is how long a request waits after its first failure; each further one doubles it. Zero means 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest time that a request waits after a failure. Zero means 1000 s.
	MaxDelay time.Duration
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
