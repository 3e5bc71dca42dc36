// Package metrics collects metrics and exposes them to Prometheus. It depends only on the standard library.
//
// A [Registry] creates metrics and is the http.Handler that exposes them in the text format. A metric is a [Counter], a
// [Gauge] or a [Histogram]. Each metric has a fixed list of label names, and one series per list of label values in
// use:
//
//	registry := metrics.NewRegistry()
//	total := registry.Counter("reconcile_total", "Reconciles by result.", "result")
//	total.Inc("success")
//	http.Handle("/metrics", registry)
//
// # Guarantees
//
//   - The output is sorted by metric name and then by labels, and each value is read once.
//   - If a metric is requested twice from a registry, the registry returns the same metric, so two controllers can
//     share it. A registry that [Registry.Sub] returns has metrics of its own.
//   - The metrics of a nil *Registry work but are not exposed, so code that uses metrics need not check for nil.
//   - A gauge's function is called while no lock of this package is held.
//
// # Concurrency
//
// All types are safe for concurrent use. The package starts no goroutines, and its calls do not block for long.
//
// The package has no summaries, no exemplars, no support for pushing metrics, and no global registry: code that uses
// metrics receives a registry. An invalid name, a wrong number of label values and similar errors are programming
// errors, and cause a panic.
package metrics
