// Package informer maintains a local copy of a resource of a Kubernetes API server, and reports changes to handlers.
//
// An [Informer] runs a reflector, which pushes changes of the resource to a queue. The informer takes the deltas from
// the queue, updates its [Store], and passes the resulting events to its handlers. Each handler has its own goroutine
// and buffer:
//
//	inf := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	reg := inf.AddHandler(func(e informer.Event[*corev1.Pod]) { queue.Add(object.KeyOf(e.Object)) })
//	go inf.Run(ctx)
//	<-reg.Synced()
//	pod, ok := inf.Store().Get(key)
//
// Other types and options:
//
//   - An [Index] finds objects by values of an ordered type or by ranges, and a [Lister] by namespace and labels.
//   - A [Scoped] informer covers several namespaces, which can be added and removed at run time. A [Factory] holds one
//     scoped informer per kind and runs them together.
//   - With [Options].Packed, the store keeps its objects in a packed form, which takes a fraction of the memory.
//   - In tests, [Options].Mutated reports objects that were modified while they were in a store.
//
// # Guarantees
//
//   - A handler receives an ordered subsequence of the changes of each key: states may be skipped, but they are never
//     reordered, and the last state is always delivered. Events of different keys are not ordered.
//   - An object that is deleted and created again under the same name is reported as Deleted and then Added, even if
//     the watch missed both changes and a later list revealed them, or if a buffer merged them.
//   - The store and its indexes change before handlers receive the event. The store may have changed again by then.
//   - A list replaces the state of the store in one step.
//   - A handler that is added late receives the content of the store as Added events with Initial set, and then every
//     later change, without gaps or duplicates. Its [Registration.Synced] is closed after the last of the initial
//     events, never earlier.
//   - No failure of the source ends an informer. As package reflector describes, it continues after errors, lost
//     connections, and a server that was reset to an earlier state. [Informer.Err] returns the reason while the store
//     is out of date.
//   - Memory is bounded by the number of objects. A buffer delivers every event while few events wait, and merges the
//     events of each object when many wait. Two buffers follow this rule: the queue of deltas limits how far the store
//     can lag behind the watch, and each handler's outbox limits how far that handler can lag behind the store. A
//     handler that lags this far does not see an object that was created and deleted in the meantime.
//
// # Concurrency
//
// [New] starts no goroutine. [Informer.Run] starts one goroutine for the reflector, one per handler, and one for
// resyncs if they are enabled. It returns when all of them have ended. [Factory.Run] starts one more goroutine for each
// namespace of each kind. Handlers run concurrently with each other, but each handler receives one event at a time.
// Handlers may call all methods of this package, but must not wait for Run to return. A panic in a handler, a transform
// or an index function is not recovered. Index functions run while the store is locked.
//
// The package does not copy objects: handlers and readers receive the objects of the store and must not modify them.
// Readers of a packed store receive objects of their own, but even then handlers share the objects of events.
package informer
