// Package controller runs a reconciler for every object that changes.
//
// [For] builds a controller on a manager:
//
//	func (r *GuestbookReconciler) SetupWithManager(m *manager.Manager) error {
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
//   - A failed request is retried with exponential backoff, unless its error is a reconcile.TerminalError.
//   - What exists at the start is reconciled after what changes meanwhile, but not for ever.
//   - Predicates of [Builder.WithPredicates] cannot keep the reconciler from the end of an object.
//   - [ReasonFrom] tells a reconcile which events asked for it.
//   - Run returns after its last goroutine has ended.
package controller
