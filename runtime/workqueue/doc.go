// Package workqueue provides the work queue of a controller. Event handlers add items, which are small comparable
// values such as the key of an object. Workers get items, process them and call Done:
//
//	queue := workqueue.New[string](workqueue.Options{Name: "guestbook"})
//	queue.Add("default/hello")
//	for {
//		item, ok := queue.Get(ctx)
//		if !ok {
//			return
//		}
//		work(item)
//		queue.Done(item)
//	}
//
// An item identifies work and is not a message: an item that is added twice before a worker gets it is processed once.
//
// An item can be in these states:
//
//   - It is dirty when it needs processing.
//   - It is processing from Get to Done.
//   - It is ready when it is dirty and not processing.
//   - It is waiting when it was added with a delay that has not passed.
//
// # Guarantees
//
//   - An item is ready at most once at a time. Workers get items of one priority in the order in which they became
//     ready, and items of a higher priority first. The priority of an item rises by one for each [Options].Aging that
//     it is ready, so no item waits forever.
//   - Two workers never have the same item. An item that is added while it is processed becomes ready again after Done.
//   - The queue loses no item that was added before [Queue.ShutDown], except items that are waiting at that time.
//   - If an item is added with several delays, the earliest time applies. A plain Add does not cancel a delay: the item
//     becomes ready now, and again when the delay has passed.
//   - Each failing item has its own backoff, which doubles with each failure, up to a maximum. During the backoff,
//     neither an Add nor another failure changes its length. [InterruptLimited] allows an attempt before the backoff
//     ends, at most one per [Options].ExtraEvery. If that attempt fails, it does not count as a failure.
//   - [Queue.Drain] returns nil only when no item is ready and no item is processing.
//   - The queue keeps no reference to an item that is done, has not failed, and was not added again.
//
// # Concurrency
//
// A Queue is safe for concurrent use and starts no goroutine. Only Get and Drain block. ShutDown stops the only timer.
//
// There is no overall rate limit, because the API server limits its clients and each item has its own backoff.
package workqueue
