package controller

import "github.com/kctrl-dev/kctrl/runtime/metrics"

// instruments are the metrics of a controller. Their names are those that common dashboards use.
type instruments struct {
	total, errors, terminal, panics, parked, timeouts, syncTimeouts *metrics.Counter
	active                                                          *metrics.Gauge
	seconds                                                         *metrics.Histogram
}

// newInstruments creates all series with the value 0, so that rate() includes the first increment.
func newInstruments(r *metrics.Registry, name string, workers int) *instruments {
	counter := func(metric, help string) *metrics.Counter {
		c := r.Counter(metric, help, "controller")
		c.Add(0, name)
		return c
	}
	i := &instruments{
		total: r.Counter("controller_runtime_reconcile_total", "Reconciles by controller and result.", "controller",
			"result"),
		errors: counter("controller_runtime_reconcile_errors_total", "Reconciles that failed."),
		terminal: counter("controller_runtime_terminal_reconcile_errors_total",
			"Failed reconciles that are not retried."),
		panics: counter("controller_runtime_reconcile_panics_total", "Reconciles that panicked."),
		parked: counter("kctrl_reconcile_parked_total",
			"Requests that waited until the caches had the writes of their last reconcile."),
		timeouts: counter("controller_runtime_reconcile_timeouts_total", "Reconciles that exceeded the reconcile timeout."),
		syncTimeouts: counter("kctrl_cache_sync_timeouts_total",
			"Controller starts whose sources did not sync in time."),
		active: r.Gauge("controller_runtime_active_workers", "Workers that are reconciling a request.", "controller"),
		seconds: r.Histogram("controller_runtime_reconcile_time_seconds", "Duration of reconciles, in seconds.",
			metrics.DefaultBuckets(), "controller"),
	}
	r.Gauge("controller_runtime_max_concurrent_reconciles", "Number of workers of the controller.",
		"controller").Set(float64(workers), name)
	i.active.Set(0, name)
	for _, result := range []outcome{succeeded, requeueAfter, requeue, failed} {
		i.total.Add(0, name, result.String())
	}
	return i
}
