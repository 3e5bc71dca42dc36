// Package metrics collects metrics and exposes them to Prometheus. It depends only on the standard library.
//
// A [Registry] creates metrics and is the http.Handler that exposes them in the text format. Metrics are [Counter],
// [Gauge] and [Histogram]. Each has a fixed list of label names, and one series per list of label values in use:
//
//	registry := metrics.NewRegistry()
//	total := registry.Counter("reconcile_total", "Reconciles by result.", "result")
//	total.Inc("success")
//	http.Handle("/metrics", registry)
//
// # Guarantees
//
//   - The output is sorted by metric name and then by labels, and each value is read once.
//   - Requesting one metric twice from a registry returns the same metric, so that two controllers can share one. A
//     registry of [Registry.Sub] has its own metrics.
//   - The metrics of a nil *Registry work but are not exposed, so that code that counts needs no condition.
//   - Functions of a gauge are called without any lock of this package.
//
// # Concurrency
//
// All types are safe for concurrent use. The package starts no goroutines, and its calls do not block for long.
//
// There are no summaries, exemplars, pushes, or global registry: code that counts receives a registry. An invalid name,
// a wrong number of label values and similar errors are programming mistakes, and panic.
package metrics
