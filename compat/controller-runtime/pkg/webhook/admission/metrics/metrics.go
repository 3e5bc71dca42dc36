// Package metrics contains the metrics of admission webhooks.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// WebhookPanics counts the panics of handlers.
var WebhookPanics = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "controller_runtime_webhook_panics_total", Help: "Total number of webhook panics",
}, []string{})

func init() {
	metrics.Registry.MustRegister(WebhookPanics)
	WebhookPanics.WithLabelValues().Add(0)
}
