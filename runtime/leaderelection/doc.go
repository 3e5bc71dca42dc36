// Package leaderelection ensures that only one of several processes acts at a time. The processes, called candidates,
// compete for a Lease object (coordination.k8s.io/v1) on the API server. The holder of the Lease is the leader, and
// renews the Lease:
//
//	elector, err := leaderelection.New(leases, leaderelection.Options{Namespace: "guestbook-system", Name: "guestbook"})
//	...
//	err = elector.Run(ctx, func(ctx context.Context) error {
//		return controllers.Run(ctx) // Only the leader gets here.
//	})
//
// # Guarantees
//
//   - The leader's context ends at the latest when RenewDeadline has passed since the start of the last successful
//     renewal, even if the API server or the client hangs. No other candidate acquires the Lease before LeaseDuration
//     has passed since that renewal. In the time between, the leader must stop.
//   - The clocks of machines are not compared. A candidate acquires the Lease if the Lease has not changed for
//     LeaseDuration on the candidate's own clock. The times in the Lease are informational.
//   - While the leader stops after its context has been canceled by the caller, the Lease is still renewed. It is
//     released only after the leader's function has returned.
//   - Labels, annotations and other fields of the Lease are preserved.
//   - With a [Fence], no request of a term is sent after the end of the term, not even by a process that was suspended.
//
// There is no guarantee that a request that has left this machine is executed soon, so a request can take effect after
// the end of its term. The resourceVersion protects updates from this.
//
// While a machine sleeps, the monotonic clock and the timers of its processes stop. A [Fence] also checks the wall
// clock, so that no request is sent in a term that ended while the machine slept. The leader's context may end only
// when the timers continue. If the wall clock is set forward by more than the rest of a term, the term ends. Setting it
// back has no effect.
//
// # Concurrency
//
// [Elector.Run] starts a goroutine that renews the Lease and ends before Run returns. The leader's function runs in the
// goroutine of the caller.
package leaderelection
