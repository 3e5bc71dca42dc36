// Package controller runs a reconciler for every object that changes.
//
// [For] builds a controller on a manager:
//
//	func (r *GuestbookReconciler) SetupWithManager(m controller.Manager) error {
//		r.Client = m.Client()
//		return controller.For[*webappv1.Guestbook](m).Owns(&appsv1.Deployment{}).Complete(r)
//	}
//
// [ForRequests] builds a controller whose requests are of another type. [New] and [Controller.Watch] build one from its
// parts, and [Controller.Subscribe] adds sources that can be removed while it runs.
//
// Guarantees:
//   - A request is never reconciled twice at once.
//   - No reconcile begins before every source of the controller has synced, except sources of optional kinds that the
//     server does not have.
//   - A source that cannot sync stalls only this controller, and [Controller.Ready] reports the reason.
//   - A failed request is retried with exponential backoff, unless its error is a reconcile.TerminalError. Certain
//     writes of this process neither end the backoff nor extend it. A foreign change, such as one by a user or another
//     controller, causes an attempt at once, at most one per second and request. If that attempt fails, the backoff
//     continues unchanged.
//   - Foreign changes are: a new or deleted object; any change of an owned or watched object; and of the object itself,
//     a change of generation, deletion, labels, annotations, finalizers or owners, or any change if it has no
//     generation. Resyncs are not changes.
//   - Objects that exist at the start are reconciled after those that change meanwhile, but do not wait forever.
//   - Predicates of [Builder.WithPredicates] cannot hide the end of an object from the reconciler.
//   - [ReasonFrom] returns the events that caused a reconcile.
//   - Run returns after its last goroutine has ended.
//
// The writes of this process are the writes of all clients that share the Journal of the cache whose kinds are watched,
// with any context: in a reconcile, in a goroutine that it has started, in a runnable or a webhook. A write with the
// context of another controller's reconciles, or with a context derived from it, is foreign. Otherwise a controller
// that fails because an object is missing would wait for the end of its backoff although another controller has created
// the object.
//
// A write is certain if the server has checked the version that it changes: a create, a delete, and an update or patch
// with a resource version. A change of unclear origin counts as foreign:
//   - an apply, and an update or patch without a resource version, which may have changed nothing;
//   - a write whose answer was lost, or arrives more than a second after its event, unless that is an event of the
//     request that is being reconciled;
//   - an event that combines several changes;
//   - a write that thousands of other writes follow before its event arrives.
package controller
