package controller

import "github.com/kctrl-dev/kctrl/runtime/metrics"

// instruments are the metrics of a controller, under the names that common dashboards use.
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
			"Reconciles that failed and are not retried.", "controller"),
		panics: r.Counter("controller_runtime_reconcile_panics_total", "Reconciles that panicked.", "controller"),
		parked: r.Counter("kctrl_reconcile_parked_total",
			"Requests that waited for the caches to see what their last reconcile wrote.", "controller"),
		timeouts: r.Counter("controller_runtime_reconcile_timeouts_total", "Reconciles that took longer than they may.",
			"controller"),
		syncTimeouts: r.Counter("kctrl_cache_sync_timeouts_total", "Starts whose sources have not synced in time.",
			"controller"),
		active: r.Gauge("controller_runtime_active_workers", "Workers that reconcile at the moment.", "controller"),
		seconds: r.Histogram("controller_runtime_reconcile_time_seconds", "How long reconciles take.",
			metrics.DefaultBuckets(), "controller"),
	}
	r.Gauge("controller_runtime_max_concurrent_reconciles", "Workers of the controller.",
		"controller").Set(float64(workers), name)
	i.active.Set(0, name)
	// All series start at 0, so that rate() sees the first increment.
	for _, result := range []outcome{succeeded, requeueAfter, requeue, failed} {
		i.total.Add(0, name, result.String())
	}
	for _, counter := range []*metrics.Counter{i.errors, i.terminal, i.panics, i.parked, i.timeouts, i.syncTimeouts} {
		counter.Add(0, name)
	}
	return i
}
