// Package reflector follows a resource of a Kubernetes API server. It is the lower half of an informer, for programs
// that keep another structure than a store in step with a resource, such as a graph of owners. Its API is not part of
// the stable API of the runtime.
//
// A [Reflector] reads the complete state once, by a streaming list if the server supports it and by a paged LIST
// otherwise, and then watches. It pushes changes to a [Sink] as deltas. A [DeltaFIFO] is a sink that passes the deltas
// to a slower consumer:
//
//	queue := reflector.NewDeltaFIFO[*corev1.Pod](nil)
//	r := reflector.New(source, queue, reflector.Options[*corev1.Pod]{Name: "pods"})
//	go r.Run(ctx)
//	err := queue.Run(ctx, func(deltas reflector.Deltas[*corev1.Pod]) { ... })
//
// A source is a *client.ListWatcher, or any other [ListerWatcher].
//
// # Guarantees
//
//   - A sink receives the complete state as one Replaced, and then each change in order. A later Replaced supersedes
//     everything before it.
//   - No failure of the source ends a reflector. It waits, twice as long each time up to half a minute and at least as
//     long as the server requests, and tries again. [Reflector.Err] returns the cause until the sink is in step again.
//     After an outage it recovers within seconds.
//   - A lost connection is detected: a stalled list fails after two minutes, and a quiet watch is opened again after
//     six to eleven.
//   - A server that was reset to an earlier state, as from a backup, is detected by an event or a bookmark with a
//     version before that of the watch. Without one, the reflector requests a list of one object after five quiet
//     minutes and checks its version. It then lists everything, and marks the Replaced as SetBack. It does not detect a
//     server that has passed the version of the watch by then: changes before that are missed until the next list.
//   - A [DeltaFIFO] delivers every delta while few wait, and folds the deltas of each object when hundreds do. Its
//     memory is bounded by the number of objects.
//   - An object that is deleted and created again under the same name is two deltas, folded or not.
//
// # Concurrency
//
// [New] starts no goroutine. [Reflector.Run] calls the sink from its own goroutine and returns after the last goroutine
// that it has started. A [DeltaFIFO] is safe for concurrent use, but only one goroutine may be in Pop or Run.
//
// The package keeps no objects and does not copy them: a sink owns the objects that it receives.
package reflector
