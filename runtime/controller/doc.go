// Package controller runs a reconciler for every object that changes.
//
// [For] builds a controller on a manager:
//
//	func (r *GuestbookReconciler) SetupWithManager(m controller.Manager) error {
//		r.Client = m.Client()
//		return controller.For[*webappv1.Guestbook](m).Owns(&appsv1.Deployment{}).Complete(r)
//	}
//
// [Of] builds one whose requests are of another type. [New] and [Controller.Watch] build one from its parts, and
// [Controller.Subscribe] adds sources that can be taken away again while it runs.
//
// Guarantees:
//   - A request is never reconciled twice at once.
//   - No reconcile begins before every source of the controller has synced, save those of optional kinds that are not
//     there.
//   - A source that cannot sync stalls this controller only, and [Controller.Ready] says why.
//   - A failed request is retried with exponential backoff, unless its error is a reconcile.TerminalError. Certain
//     writes of this process neither end the backoff nor make it longer. A foreign change, such as one by a user or
//     another controller, makes an attempt at once, at most one each second for one request; when that fails, the
//     backoff goes on as if there had been none. What counts is a new or deleted object, any change of an owned or
//     watched one, and of the object itself one of the generation, the deletion, labels, annotations, finalizers or
//     owners, or any if it has no generation. Resyncs do not count.
//   - What exists at the start is reconciled after what changes meanwhile, but not for ever.
//   - Predicates of [Builder.WithPredicates] cannot keep the reconciler from the end of an object.
//   - [ReasonFrom] tells a reconcile which events asked for it.
//   - Run returns after its last goroutine has ended.
//
// The writes of this process are those of all clients that share the Journal of the cache whose kinds are watched, with
// any context: in a reconcile, in a goroutine that it has started, in a runnable or a webhook. A write with the context
// of another controller's reconciles, or with a context derived from it, is foreign: otherwise a controller that fails
// because an object is missing would wait out its backoff when another controller has created it.
//
// A write is certain if the server has checked the version that it changes: a create, a delete, and an update or patch
// with a resource version. A change of unclear origin counts as foreign:
//   - an apply, and an update or patch without a resource version: it may have changed nothing;
//   - a write whose answer was lost, or takes longer than a second after its event, unless that is an event of the
//     request which is being reconciled;
//   - an event that stands for several changes;
//   - a write that thousands of other writes follow before its event arrives.
package controller
