// Package workqueue compares the work queue of kctrl with the priority queue of controller-runtime and the rate
// limiting queue of client-go, in one run:
//
//	go test -run '^$' -bench . ./workqueue
//
// Read the ratios of BenchmarkRatio: it runs the queues in turn, so that other work on the machine slows all of them.
// The other benchmarks run each queue on its own, for profiles.
package workqueue
