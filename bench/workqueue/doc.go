// Package workqueue measures the work queue of kctrl beside the priority queue of controller-runtime and the rate
// limiting queue of client-go, all three in one run:
//
//	go test -run '^$' -bench . ./workqueue
//
// Read the ratios of BenchmarkRatio: it runs the queues in turns, so that other work on the machine slows all of
// them. The other benchmarks measure each queue on its own, and are there to be profiled.
package workqueue
