// Package leaderelection lets one of several processes act at a time. The processes, called candidates, compete for
// a Lease object (coordination.k8s.io/v1) of the API server; its holder is the leader and renews it:
//
//	elector, err := leaderelection.New(leases, leaderelection.Options{Namespace: "guestbook-system", Name: "guestbook"})
//	...
//	err = elector.Run(ctx, func(ctx context.Context) error {
//		return controllers.Run(ctx) // Only the leader gets here.
//	})
//
// # Guarantees
//
//   - The context of the leader ends at the latest when RenewDeadline has passed since the start of the last renewal
//     that succeeded, even if the API server or the client hangs. No other candidate takes the Lease before its
//     LeaseDuration has passed since that renewal: the difference is the time the leader has for stopping.
//   - Clocks are not compared. A candidate takes the Lease when it has seen no change of it for a LeaseDuration on
//     its own clock; the times in the Lease are for people.
//   - While the leader stops in good order the Lease is still renewed, and it is released only after the leader has
//     returned.
//   - Labels, annotations and what else the Lease holds are kept.
//   - Nothing that was begun in a term is sent after it, not even by a process that was frozen meanwhile, if it goes
//     through a [Fence].
//
// What is not guaranteed: that a request which has left this machine is carried out soon. Updates are safe from that by
// their resourceVersion.
//
// A machine that sleeps stops the monotonic clock and the timers of its processes. A [Fence] looks at the wall clock too, so
// that nothing is sent in a term that ended meanwhile. The context of the leader may end only when its timers go on. A wall
// clock that is set forward by more than what is left of a term ends it; one that is set back changes nothing.
//
// # Concurrency
//
// [Elector.Run] starts one goroutine, which renews the Lease and has ended when Run returns. The leader's function runs
// in the goroutine of the caller.
package leaderelection
