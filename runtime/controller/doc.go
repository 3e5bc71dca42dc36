// Package controller runs a reconciler for every object that changes.
//
// [For] builds a controller on a manager:
//
//	func (r *GuestbookReconciler) SetupWithManager(m controller.Manager) error {
//		r.Client = m.Client()
//		return controller.For[*webappv1.Guestbook](m).Owns(&appsv1.Deployment{}).Complete(r)
//	}
//
// [ForRequests] builds a controller whose requests are of another type. [New] and [Controller.Watch] create a
// controller without a builder, and [Controller.Subscribe] adds sources that can be removed while the controller runs.
//
// Guarantees:
//   - No two reconciles of the same request run at the same time.
//   - No reconcile begins before every source of the controller has synced, except sources of optional kinds that the
//     server does not have.
//   - A source that cannot sync blocks only the controllers that use it, and [Controller.Ready] reports the reason.
//   - A failed request is retried with exponential backoff, unless its error is a reconcile.TerminalError. During a
//     backoff, the events of this process's own certain writes (see below) cause no attempt and do not change the
//     backoff. A foreign change, for example by a user or another controller, causes an immediate attempt, but at most
//     one per second for each request. If that attempt fails, the backoff continues unchanged.
//   - The following changes are foreign, unless they are certain writes of this process: the creation or deletion of an
//     object; any change of an owned or watched object; and, of the object itself, a change of generation, deletion,
//     labels, annotations, finalizers or owners, or any change if it has no generation. A resync is not a change.
//   - Objects that exist at the start have a lower priority than objects that change, but are reconciled eventually,
//     however many changes arrive.
//   - Predicates of [Builder.WithPredicates] cannot drop the event that begins the deletion of an object, if they would
//     accept the object as a new one.
//   - [ReasonFrom] returns the events that caused a reconcile.
//   - Run returns after all goroutines that it started have ended.
//
// The writes of this process are the writes of all clients that share the Journal of the watched cache, whether they
// occur in a reconcile, in a goroutine that it has started, in a runnable or in a webhook. The exception is a write
// with the context of another controller's reconcile, or with a context derived from it: such a write is foreign.
// Otherwise, a controller that fails because an object is missing would wait for the end of its backoff although
// another controller has created the object.
//
// A write is certain if the server has checked the version that it changes, as for a create, a delete, and an update or
// patch with a resource version. A change is treated as foreign if its origin is unclear, which is the case for:
//   - an apply, and an update or patch without a resource version, which may have changed nothing;
//   - a write whose answer was lost, or arrived more than a second after its event, unless it is an event for the
//     request that is being reconciled;
//   - an event that combines several changes;
//   - a write that is followed by thousands of other writes before its event arrives.
package controller
