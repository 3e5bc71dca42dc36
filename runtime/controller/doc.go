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
//   - A failed request is retried with exponential backoff, unless its error is a reconcile.TerminalError. What this
//     process writes neither ends the backoff nor makes it longer. What somebody else changes, such as a user or
//     another controller, makes an attempt at once, at most one each second for one request; when that
//     fails, the backoff goes on as if there had been none. What counts is a new or deleted object, any change of an owned
//     or watched one, and of the object itself one of the generation, the deletion, labels, annotations, finalizers or
//     owners, or any if it has no generation. Resyncs do not count.
//   - What exists at the start is reconciled after what changes meanwhile, but not for ever.
//   - Predicates of [Builder.WithPredicates] cannot keep the reconciler from the end of an object.
//   - [ReasonFrom] tells a reconcile which events asked for it.
//   - Run returns after its last goroutine has ended.
//
// What this process writes is all that a client writes which tells the Journal of the cache whose kinds are watched, with any
// context: in a reconcile, in a goroutine that it has started, in a runnable or a webhook. The one exception is what another
// controller's reconciles write with their contexts, or with contexts made of these: that is somebody else's, since otherwise a
// controller that has failed for lack of what another one makes would wait out its backoff when it is there. When it is not
// certain who made a change, it is somebody else's: such as one by a client with another Journal, one whose answer was lost or
// takes longer than a second after its event, unless that is an event of the request which is reconciled, one that was sent
// before in the same words, one in an event that stands for several changes, and one that thousands of others have followed
// before its event came.
package controller
