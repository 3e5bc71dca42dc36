// Package controller runs a reconciler for every object that changes.
//
// [For] builds a controller on a manager:
//
//	func (r *GuestbookReconciler) SetupWithManager(m *manager.Manager) error {
//		r.Client = m.Client()
//		return controller.For[*webappv1.Guestbook](m).Owns(&appsv1.Deployment{}).Complete(r)
//	}
//
// [New] and [Controller.Watch] build one from its parts.
//
// Guarantees:
//   - A request is never reconciled twice at once.
//   - No reconcile begins before every source of the controller has synced.
//   - A source that cannot sync stalls this controller only, and [Controller.Ready] says why.
//   - A failed request is retried with exponential backoff, unless its error is a reconcile.TerminalError.
//   - Run returns after its last goroutine has ended.
package controller
