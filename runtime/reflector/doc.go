// Package reflector follows a resource of a Kubernetes API server. It is the lower half of an informer, for programs
// that keep something else than a store in step with a resource, such as a graph of owners. Its API is not part of the
// stable API of the runtime.
//
// A [Reflector] reads the whole state once, by a streaming list if the server has them and by a paged LIST otherwise,
// and then watches. It pushes what it learns to a [Sink] as deltas. A [DeltaFIFO] is a sink that carries the deltas to
// a slower consumer:
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
//   - A sink receives the whole state as one Replaced, and then each change in order. A later Replaced takes the place
//     of everything before it.
//   - No failure of the source ends a reflector. It waits, twice as long each time up to half a minute and as long as
//     the server asks for, and tries again; [Reflector.Err] returns the cause until the sink is in step again. After an
//     outage it comes back within seconds.
//   - A lost connection is noticed: a list that stalls is given up after two minutes, and a watch that has been quiet
//     is opened again after six to eleven.
//   - A server that was set back to an earlier state, as from a backup, is noticed by an event or a bookmark of a
//     version from before the watch, or else by the version of a list of one object, for which the reflector asks after
//     five quiet minutes. All is then listed, and the Replaced is marked as SetBack. A server that has passed the
//     version of the watch by then is not noticed: what was changed before is missed until the next list.
//   - A [DeltaFIFO] delivers every delta as long as few wait, and folds the deltas of each object when hundreds do. Its
//     memory is bounded by the number of objects.
//   - An object that is deleted and created again under the same name is two deltas, folded or not.
//
// # Concurrency
//
// [New] starts nothing. [Reflector.Run] calls the sink from its own goroutine and returns after the last goroutine that
// it has started. All methods of a [DeltaFIFO] are safe for concurrent use, but only one goroutine may be in Pop or
// Run.
//
// The package keeps no objects and does not copy them: a sink owns what it gets.
package reflector
