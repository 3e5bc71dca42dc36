// Package events tells people what a controller did and why, as Event objects of the API server, which kubectl describe
// shows beside the object that they are about.
//
// A [Recorder] makes events, a [Broadcaster] counts those that repeat and stores them in a [Sink], which is usually the
// API server:
//
//	broadcaster := events.New(events.Options{Scheme: scheme, Sink: events.NewSink(live)})
//	go broadcaster.Run(ctx) // Waited for by whoever started it.
//	recorder := broadcaster.Recorder("guestbook-controller")
//	recorder.Eventf(guestbook, pod, events.Normal, "ScaledUp", "CreatePod", "created pod %s", pod.Name)
//
// There are two forms of Events. [NewSink] writes events.k8s.io/v1, which is what programs should write today: reason
// and action are for machines, the note is for people (KEP-383). [NewCoreSink] writes the older core/v1. Whoever reads
// sees both forms, converted by the API server.
//
// # Repetition
//
// With [BySeries], events that differ only in note and time are one series (KEP-383, "Changes in EventRecorder"), with the
// note of the first; another note about an object that has changed since begins another. The first is stored at once, the
// second makes it a series; from then on its count is stored every half hour while it goes on, so that it outlives the
// hour for which API servers keep events, and for the last time when it has not happened for six minutes.
//
// With [ByCount], events that are the same in everything but time are one event with a count, stored at each
// occurrence. When an object has had ten different notes for one reason within ten minutes of each other, the tenth
// and all further ones are one event too, whose note is the last one, marked as combined.
//
// In both, one controller may cause 25 writes about one object and type of event in a burst, and one more every five
// minutes. What is filtered out still counts: the next write tells it.
//
// # Guarantees
//
//   - Recording never blocks: not on the API server, and not on a slow watcher.
//   - Memory is bounded: at most [Options].QueueSize events are yet to be written, and at most CacheSize counts are
//     kept of each sort. What does not fit is dropped, counted in the metrics, and logged once in ten minutes.
//   - An event that waits for the API server goes on counting, and is written once with what it has counted.
//   - A write that fails is tried twelve times in two minutes, without holding up the others; only one that hangs does,
//     and is given up as failed after half a minute. What the API server refuses is logged and dropped. An event that
//     is gone at the server is created again, with its count.
//   - [Broadcaster.Run] returns after its last goroutine, and after it has written what it still had, within
//     [Options].FlushTimeout.
//   - Objects are never logged, only what they are called. A log line has the note of an event, but no annotations.
//
// # Concurrency
//
// Everything here is safe for use from several goroutines. Only [Broadcaster.Run] blocks; it starts one goroutine.
//
// Events are news, not records: the API server forgets them, and a program should not read them to decide anything.
package events
