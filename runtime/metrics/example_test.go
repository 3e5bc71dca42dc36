package metrics_test

import (
	"os"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

func Example() {
	registry := metrics.NewRegistry()
	total := registry.Counter("reconcile_total", "Reconciles by result.", "result")
	total.Inc("success")
	total.Inc("success")
	total.Inc("error")
	seconds := registry.Histogram("reconcile_seconds", "Seconds of a reconcile.", []float64{0.1, 1})
	seconds.Observe(0.25)

	_, _ = registry.WriteTo(os.Stdout) // An HTTP server would mount the registry as a handler.
	// Output:
	// # HELP reconcile_seconds Seconds of a reconcile.
	// # TYPE reconcile_seconds histogram
	// reconcile_seconds_bucket{le="0.1"} 0
	// reconcile_seconds_bucket{le="1"} 1
	// reconcile_seconds_bucket{le="+Inf"} 1
	// reconcile_seconds_sum 0.25
	// reconcile_seconds_count 1
	// # HELP reconcile_total Reconciles by result.
	// # TYPE reconcile_total counter
	// reconcile_total{result="error"} 1
	// reconcile_total{result="success"} 2
}
