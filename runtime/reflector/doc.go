// Package reflector follows a resource of a Kubernetes API server. It is the lower half of an informer. Programs can
// use it directly to keep a structure other than a store up to date with a resource, such as a graph of owners. Its API
// is not part of the stable API of the runtime.
//
// A [Reflector] reads the complete state once, with a streaming list if the server supports it and with a paged LIST
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
//     all.
//   - No failure of the source ends a reflector. After a failure, it waits and tries again. Each wait is twice as long
//     as the previous one, up to half a minute, and at least as long as the server requests. [Reflector.Err] returns
//     the cause until the sink is up to date again. After an outage, the reflector recovers within seconds.
//   - A lost connection is detected: a stalled list fails after 2 minutes, a silent watch is reopened after 6 to 11.
//   - The reflector detects that a server was reset to an earlier state, for example from a backup, by an event or a
//     bookmark with a version before the watch's version. If it receives neither for five minutes, it requests a list
//     of one object and checks its version. After a reset, it lists everything and marks the Replaced as SetBack. It
//     does not detect the reset of a server that has passed the version of the watch by then: changes before that are
//     missed until the next list.
//   - A [DeltaFIFO] delivers every delta while few deltas wait, and folds the deltas of each object when hundreds wait.
//     Its memory is bounded by the number of objects.
//   - If an object is deleted and created again under the same name, the sink receives two deltas, even after folding.
//
// # Concurrency
//
// [New] starts no goroutine. [Reflector.Run] calls the sink from its own goroutine and returns after the last goroutine
// that it has started. A [DeltaFIFO] is safe for concurrent use, but only one goroutine may be in Pop or Run.
//
// The package keeps no objects and does not copy them: a sink owns the objects that it receives.
package reflector
