// Package workqueue holds what a controller still has to look at. Event handlers add items, which are small
// comparable values such as the key of an object; workers get them, do the work, and say Done:
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
// An item is a name of work and not a message: adding it twice before it is got means one piece of work.
//
// In the words used here, an item is dirty when it needs processing, processing from Get to Done, ready when it is
// dirty and not processing, and waiting when it was added with a delay that has not passed.
//
// # Guarantees
//
//   - An item is ready at most once. Items of one priority are got in the order in which they became ready, those of a higher
//     one first; an item rises by one priority each [Options].Aging that it is ready, so that none waits for ever.
//   - Two workers never have one item at the same time. What is added while it is processed is got again after Done.
//   - Nothing added before [Queue.ShutDown] is forgotten, save waiting items at the ShutDown.
//   - Of several delays for one item the earliest counts. A plain Add does not take back a delay: the item is
//     got now, and again when the delay has passed.
//   - A failing item backs off on its own: twice as long each time, up to a maximum that never overflows. While it does,
//     neither an Add nor another failure cuts the backoff short or makes it longer. [InterruptLimited] makes an attempt
//     before its end, at most one each [Options].ExtraEvery, which does not count when it fails.
//   - [Queue.Drain] returns without an error only when nothing is ready and nothing is processing.
//   - The queue keeps no reference to an item that has been got and is done, has not failed, and was not added again.
//
// # Concurrency
//
// A Queue is safe for use from any number of goroutines and starts none. Only Get and Drain block. Delays run on one
// timer, which ShutDown stops.
//
// There is no overall rate limit: the API server limits its clients, and an item limits itself.
package workqueue
