// Package workqueue compares kctrl's work queue with controller-runtime's priority queue and client-go's rate limiting
// queue, in one run:
//
//	go test -run '^$' -bench . ./workqueue
//
// Read the ratios of BenchmarkRatio: it runs the queues in turn, so that other work on the machine slows all of them.
// The other benchmarks run each queue on its own, for profiles.
package workqueue
