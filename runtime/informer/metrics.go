package informer

import "github.com/kctrl-dev/kctrl/runtime/metrics"

// instruments are the metrics of one informer.
type instruments struct {
	name     string
	lists    *metrics.Counter
	watches  *metrics.Counter
	failures *metrics.Counter
	folded   *metrics.Counter
	objects  *metrics.Gauge
}

func newInstruments(registry *metrics.Registry, name string) instruments {
	return instruments{
		name:     name,
		lists:    registry.Counter("informer_lists_total", "Complete states read from the API server.", "informer"),
		watches:  registry.Counter("informer_watches_total", "Watches opened.", "informer"),
		failures: registry.Counter("informer_failures_total", "Lists and watches that failed.", "informer", "verb"),
		folded:   registry.Counter("informer_folded_events_total", "Events of slow handlers folded into others of the same object.", "informer"),
		objects:  registry.Gauge("informer_objects", "Objects in the store.", "informer"),
	}
}
