package controller

import "github.com/kctrl-dev/kctrl/runtime/metrics"

// instruments are the metrics of a controller. Their names are those that common dashboards use.
type instruments struct {
	total, errors, terminal, panics, parked, timeouts, syncTimeouts *metrics.Counter
	active                                                          *metrics.Gauge
	seconds                                                         *metrics.Histogram
}

func newInstruments(r *metrics.Registry, name string, workers int) *instruments {
	i := &instruments{
		total: r.Counter("controller_runtime_reconcile_total", "Reconciles by controller and result.", "controller",
			"result"),
		errors: r.Counter("controller_runtime_reconcile_errors_total", "Reconciles that failed.", "controller"),
		terminal: r.Counter("controller_runtime_terminal_reconcile_errors_total",
			"Failed reconciles that are not retried.", "controller"),
		panics: r.Counter("controller_runtime_reconcile_panics_total", "Reconciles that panicked.", "controller"),
		parked: r.Counter("kctrl_reconcile_parked_total",
			"Requests that waited until the caches had the writes of their last reconcile.", "controller"),
		timeouts: r.Counter("controller_runtime_reconcile_timeouts_total", "Reconciles that exceeded the reconcile timeout.",
			"controller"),
		syncTimeouts: r.Counter("kctrl_cache_sync_timeouts_total", "Controller starts whose sources did not sync in time.",
			"controller"),
		active: r.Gauge("controller_runtime_active_workers", "Workers that are reconciling a request.", "controller"),
		seconds: r.Histogram("controller_runtime_reconcile_time_seconds", "Duration of reconciles, in seconds.",
			metrics.DefaultBuckets(), "controller"),
	}
	r.Gauge("controller_runtime_max_concurrent_reconciles", "Number of workers of the controller.",
		"controller").Set(float64(workers), name)
	i.active.Set(0, name)
	// Create all series with the value 0, so that rate() includes the first increment.
	for _, result := range []outcome{succeeded, requeueAfter, requeue, failed} {
		i.total.Add(0, name, result.String())
	}
	for _, counter := range []*metrics.Counter{i.errors, i.terminal, i.panics, i.parked, i.timeouts, i.syncTimeouts} {
		counter.Add(0, name)
	}
	return i
}
