// Package informer keeps a local copy of a resource of a Kubernetes API server, and tells handlers what changes in it.
//
// A [Reflector] reads the whole state once, by a streaming list if the server has them and by a paged LIST otherwise,
// and then watches. It pushes what it learns to a [DeltaFIFO]. An [Informer] pops from there, changes its [Store], and
// hands the resulting events to its handlers, each of which has a goroutine and a buffer of its own:
//
//	inf := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	reg := inf.AddHandler(func(e informer.Event[*corev1.Pod]) { queue.Add(object.KeyOf(e.Object)) })
//	go inf.Run(ctx)
//	<-reg.Synced()
//	pod, ok := inf.Store().Get(key)
//
// Around it:
//
//   - An [Index] finds objects by values of any type, also by ranges of them; a [Lister] by namespace and labels.
//   - A [Scoped] informer is one for several namespaces, which may come and go. A [Factory] has one for each kind, and runs
//     them together.
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
//   - No failure of the source ends an informer. It waits, twice as long each time up to half a minute and as long as
//     the server asks for, and goes on; [Informer.Err] says what is wrong until it no longer is.
//   - No connection that is lost without a word stays: a list that stalls is given up after two minutes, and a watch that
//     has been quiet is opened anew after six to eleven.
//   - What a server that was set back to an earlier state, as from a backup, says under a version that it has used before
//     takes the place of what the store has under it. An event, or a bookmark, of a version from before the watch is such a
//     server: it changes nothing, and everything is listed. Such a server does not tell a watch from a version that it has not come to yet
//     that there is none: when nothing was told for five minutes, not even a bookmark, it is asked for its version with the next
//     watch, which opens at once after an outage and else within ten, by a list of one object. That is no list of everything,
//     unless the version is from before the store's. A server that has passed that version by then is not found out, and what
//     was changed before is missed until the next list.
//   - Memory is bounded by the number of objects. A buffer delivers everything as long as few events wait, and folds the
//     events of each object when many do. There are two, by one rule: the [DeltaFIFO] bounds how far the store may be behind
//     the watch, and each handler has an outbox, which bounds how far that one may be behind the store. An object that came and went while a handler was that far
//     behind is not told at all.
//
// # Concurrency
//
// [New] starts nothing. [Informer.Run] starts one goroutine for the reflector, one per handler, and one for resyncs if
// they are on, works itself, and returns when all have ended. [Scoped.Run] and [Factory.Run] start one more for each
// namespace of each kind. Handlers run concurrently with each other, but each is
// called for one event at a time. They may call everything here, save that they must not wait for Run to return. A
// panic in a handler, a transform or an index function is not caught. Index functions run with the store locked.
//
// The package does not copy objects: a handler and a reader get the very objects in the store, and must not modify
// them. Only of a packed store each reader gets objects of his own; those in events are shared by the handlers even then.
package informer
