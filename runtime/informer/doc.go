// Package informer keeps a local copy of a resource of a Kubernetes API server, and reports its changes to handlers.
//
// An [Informer] has a reflector, which pushes changes of the resource to a queue. The informer takes the deltas from
// the queue, changes its [Store], and passes the resulting events to its handlers, each of which has its own goroutine
// and buffer:
//
//	inf := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	reg := inf.AddHandler(func(e informer.Event[*corev1.Pod]) { queue.Add(object.KeyOf(e.Object)) })
//	go inf.Run(ctx)
//	<-reg.Synced()
//	pod, ok := inf.Store().Get(key)
//
// Further types:
//
//   - An [Index] finds objects by values of an ordered type, or by ranges of values; a [Lister] by namespace and
//     labels.
//   - A [Scoped] informer covers several namespaces, which can be added and removed. A [Factory] has one per kind, and
//     runs them together.
//   - With [Options].Packed the store keeps its objects packed, in a fraction of the memory.
//   - For tests, [Options].Mutated reports modifications of objects in a store.
//
// # Guarantees
//
//   - The events of one key that a handler receives are an ordered subsequence of its changes: states may be skipped,
//     but never reordered, and the last state is always delivered. There is no order between keys.
//   - An object that is deleted and created again under the same name is reported as Deleted and then Added, even if
//     both were missed and detected by a later list, or merged in a buffer.
//   - The store and its indexes change before handlers receive the event. The store may have changed again by then.
//   - A list replaces the state of the store in one step.
//   - A handler that is added late receives the content of the store as Added events with Initial set, and then every
//     later change, without gaps or duplicates. Its [Registration.Synced] is closed after the last of the initial
//     events, never before.
//   - No failure of the source ends an informer. It follows the source, as package reflector describes, through
//     failures, lost connections, and a server that was reset to an earlier state; [Informer.Err] returns why it is out
//     of step.
//   - Memory is bounded by the number of objects. A buffer delivers every event while few wait, and merges the events
//     of each object when many do. There are two buffers with the same rule: the queue of deltas bounds the lag of the
//     store behind the watch, and the outbox of each handler bounds the lag of that handler behind the store. A handler
//     with such a lag does not see an object that was created and deleted meanwhile.
//
// # Concurrency
//
// [New] starts no goroutine. [Informer.Run] starts one goroutine for the reflector, one per handler, and one for
// resyncs if enabled, and returns when all have ended. [Factory.Run] starts one more for each namespace of each kind.
// Handlers run concurrently with each other, but each receives one event at a time. Handlers may call all methods of
// this package, but must not wait for Run to return. A panic in a handler, a transform or an index function is not
// recovered. Index functions run with the store locked.
//
// The package does not copy objects: handlers and readers receive the objects of the store and must not modify them.
// Readers of a packed store receive their own objects, but handlers share the objects of events even then.
package informer
