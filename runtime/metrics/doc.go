// Package metrics counts, and shows the counts to Prometheus. It needs nothing outside the standard library.
//
// A [Registry] makes metrics and is the http.Handler that exposes them in the text format. Metrics are [Counter],
// [Gauge] and [Histogram]; each has a fixed list of label names, and one series for every list of label values that
// was used:
//
//	registry := metrics.NewRegistry()
//	total := registry.Counter("reconcile_total", "Reconciles by result.", "result")
//	total.Inc("success")
//	http.Handle("/metrics", registry)
//
// # Guarantees
//
//   - The output is sorted by metric name and then by labels, and each value is read once.
//   - Asking a registry twice for one metric gives the same metric, so that two controllers can share one.
//     A registry of [Registry.Sub] has metrics of its own.
//   - A nil *Registry gives metrics that work and that nobody sees: code that counts needs no condition.
//   - Functions given to a gauge run without any lock of this package held.
//
// # Concurrency
//
// Everything here is safe for use from several goroutines, starts none, and never blocks for long.
//
// There are no summaries, no exemplars, no push, and no registry of the process: who counts is given a registry.
// A wrong name, a wrong number of label values and the like are mistakes in the program, and panic.
package metrics
