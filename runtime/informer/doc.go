// Package informer keeps a local copy of a resource of a Kubernetes API server, and tells handlers what changes in it.
//
// An [Informer] has a reflector, which pushes what it learns of the resource to a queue. It takes the deltas from
// there, changes its [Store], and hands the resulting events to its handlers, each of which has a goroutine and a
// buffer of its own:
//
//	inf := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	reg := inf.AddHandler(func(e informer.Event[*corev1.Pod]) { queue.Add(object.KeyOf(e.Object)) })
//	go inf.Run(ctx)
//	<-reg.Synced()
//	pod, ok := inf.Store().Get(key)
//
// Around it:
//
//   - An [Index] finds objects by values of an ordered type, also by ranges of them; a [Lister] by namespace and
//     labels.
//   - A [Scoped] informer is one for several namespaces, which may come and go. A [Factory] has one for each kind, and
//     runs them together.
//   - With [Options].Packed the store holds its objects packed, in a fraction of the memory.
//   - For tests, [Options].Mutated reports who modifies an object in a store.
//
// # Guarantees
//
//   - What a handler is told of one key is an ordered subsequence of what happened to it: states may be left out, but
//     never reordered, and the last one is always told. There is no order between keys.
//   - An object that is deleted and created again under the same name is told as Deleted and then Added, even if both
//     were missed and noticed in a later list, or compressed in a buffer.
//   - The store, with its indexes, has changed before a handler is told. It may by then have changed again.
//   - A list replaces the state of the store in one step.
//   - A handler that is added late gets what is in the store as Added events with Initial set, then every later change,
//     nothing twice and nothing left out. Its [Registration.Synced] is closed after the last of these, never before.
//   - No failure of the source ends an informer. It follows the source as package reflector says, over failures, lost
//     connections, and a server that was set back to an earlier state; [Informer.Err] says why it is out of step.
//   - Memory is bounded by the number of objects. A buffer delivers everything as long as few events wait, and folds
//     the events of each object when many do. There are two, by one rule: the queue of deltas bounds how far the store
//     may be behind the watch, and each handler has an outbox, which bounds how far that handler may be behind the
//     store. An object that came and went while a handler was that far behind is not told at all.
//
// # Concurrency
//
// [New] starts nothing. [Informer.Run] starts one goroutine for the reflector, one per handler, and one for resyncs if
// they are on, works itself, and returns when all have ended. [Factory.Run] starts one more for each namespace of each
// kind. Handlers run concurrently with each other, but each is called for one event at a time. They may call everything
// here, save that they must not wait for Run to return. A panic in a handler, a transform or an index function is not
// caught. Index functions run with the store locked.
//
// The package does not copy objects: a handler and a reader get the very objects in the store, and must not modify
// them. Only of a packed store each reader gets objects of his own; those in events are shared by the handlers even
// then.
package informer
