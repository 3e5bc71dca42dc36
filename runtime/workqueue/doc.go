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
// An item names work and is not a message: an item that is added twice before a worker gets it is processed once.
//
// An item is dirty when it needs processing, processing from Get to Done, ready when it is dirty and not processing,
// and waiting when it was added with a delay that has not passed.
//
// # Guarantees
//
//   - An item is ready at most once. Workers get items of one priority in the order in which they became ready, and
//     items of a higher priority first. An item rises by one priority for each [Options].Aging that it is ready, so
//     that no item waits forever.
//   - Two workers never have the same item. An item that is added while it is processed becomes ready again after Done.
//   - The queue forgets no item that was added before [Queue.ShutDown], except items that wait at the ShutDown.
//   - Of several delays for one item the earliest counts. A plain Add does not cancel a delay: the item is ready now,
//     and again when the delay has passed.
//   - A failing item backs off on its own: twice as long each time, up to a maximum. During the backoff, neither an Add
//     nor another failure changes its length. [InterruptLimited] allows an attempt before its end, at most one each
//     [Options].ExtraEvery, which does not count when it fails.
//   - [Queue.Drain] returns no error only when nothing is ready and nothing is processing.
//   - The queue keeps no reference to an item that is done, has not failed, and was not added again.
//
// # Concurrency
//
// A Queue is safe for concurrent use and starts no goroutine. Only Get and Drain block. Delays run on one timer, which
// ShutDown stops.
//
// There is no overall rate limit: the API server limits its clients, and each item limits itself.
package workqueue
