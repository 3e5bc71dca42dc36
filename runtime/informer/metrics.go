package informer

import "github.com/kctrl-dev/kctrl/runtime/metrics"

// instruments are the metrics of one informer.
type instruments struct {
	registry *metrics.Registry
	lists    *metrics.Counter
	watches  *metrics.Counter
	failures *metrics.Counter
	folded   *metrics.Counter
	objects  *metrics.Gauge
}

func newInstruments(registry *metrics.Registry) instruments {
	return instruments{
		registry: registry,
		lists:    registry.Counter("informer_lists_total", "Complete states read from the API server.", "informer"),
		watches:  registry.Counter("informer_watches_total", "Watches opened.", "informer"),
		failures: registry.Counter("informer_failures_total", "Lists and watches that failed.", "informer", "verb"),
		folded:   registry.Counter("informer_folded_events_total", "Events of slow handlers folded into others of the same object.", "informer"),
		objects:  registry.Gauge("informer_objects", "Objects in the store.", "informer"),
	}
}

// DropMetrics forgets the metrics of the informer, which its registry would keep, and the store with them. It is for after
// Run.
func (c *core[T]) DropMetrics() {
	for _, metric := range []string{
		"informer_lists_total", "informer_watches_total", "informer_failures_total", "informer_folded_events_total", "informer_objects",
	} {
		c.metrics.registry.Drop(metric, "informer", c.label)
	}
}

// label is what the metrics call an informer.
func label(name, namespace string) string {
	if namespace == "" {
		return name
	}
	return name + "/" + namespace
}
