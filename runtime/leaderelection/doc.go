// Package leaderelection lets one of several processes act at a time. The processes, called candidates, compete for a
// Lease object (coordination.k8s.io/v1) of the API server. Its holder is the leader and renews it:
//
//	elector, err := leaderelection.New(leases, leaderelection.Options{Namespace: "guestbook-system", Name: "guestbook"})
//	...
//	err = elector.Run(ctx, func(ctx context.Context) error {
//		return controllers.Run(ctx) // Only the leader gets here.
//	})
//
// # Guarantees
//
//   - The context of the leader ends at the latest when RenewDeadline has passed since the start of the last successful
//     renewal, even if the API server or the client hangs. No other candidate acquires the Lease before its
//     LeaseDuration has passed since that renewal. The difference is the leader's time for stopping.
//   - Clocks are not compared. A candidate acquires the Lease after it has seen no change of it for a LeaseDuration on
//     its own clock; the times in the Lease are informational.
//   - While the leader stops regularly, the Lease is still renewed. It is released only after the leader has returned.
//   - Labels, annotations and other fields of the Lease are preserved.
//   - A request of a term is not sent after its end, not even by a process that was suspended meanwhile, if it uses a
//     [Fence].
//
// There is no guarantee that a request that has left this machine is executed soon. The resourceVersion protects
// updates from that.
//
// While a machine sleeps, the monotonic clock and the timers of its processes stop. A [Fence] also checks the wall
// clock, so that no request is sent in a term that ended meanwhile. The context of the leader may end only when its
// timers continue. If the wall clock is set forward by more than the rest of a term, the term ends; setting it back has
// no effect.
//
// # Concurrency
//
// [Elector.Run] starts one goroutine, which renews the Lease and has ended when Run returns. The leader's function runs
// in the goroutine of the caller.
package leaderelection
