// Package events reports the actions of a controller and their reasons as Event objects of the API server. kubectl
// describe shows them with the object that they are about.
//
// A [Recorder] creates events. A [Broadcaster] counts repeated events and stores them in a [Sink], usually the API
// server:
//
//	broadcaster := events.New(events.Options{Scheme: scheme, Sink: events.NewSink(live)})
//	go broadcaster.Run(ctx) // Wait for its return.
//	recorder := broadcaster.Recorder("guestbook-controller")
//	recorder.Eventf(guestbook, pod, events.Normal, "ScaledUp", "CreatePod", "created pod %s", pod.Name)
//
// There are two forms of Events. [NewSink] writes events.k8s.io/v1, the current form: reason and action are for
// programs, the note is for people (KEP-383). [NewCoreSink] writes the older core/v1. Readers see all events in both
// forms, converted by the API server.
//
// # Repetition
//
// With [BySeries], events that differ only in note and time form a series with the note of the first (KEP-383, "Changes
// in EventRecorder"). Another note about an object that has changed since begins another series. The first event is
// stored at once, and the second turns it into a series. From then on its count is stored every half hour, so that it
// outlives the hour for which API servers keep events, and a last time when it has not occurred for six minutes.
//
// With [ByCount], events that differ only in time are one event with a count, which is stored at each occurrence. If an
// object has had ten different notes for one reason within ten minutes of each other, the tenth and all further ones
// are combined into one event. Its note is the last one, marked as combined.
//
// In both cases, the events of one controller, object and type cause at most 25 writes in a burst, and one more every
// five minutes. Suppressed events still count, and the next write includes them.
//
// # Guarantees
//
//   - Recording never blocks, neither on the API server nor on a slow watcher.
//   - Memory is bounded: at most [Options].QueueSize events are unwritten, and at most CacheSize counts are kept of
//     each type. Events beyond that are dropped, counted in the metrics, and logged once in ten minutes.
//   - An event that waits for the API server continues to count, and is written once with its count.
//   - A failed write is attempted twelve times in two minutes, without delaying others. Only a write that hangs delays
//     others; it fails after half a minute. An event that the API server rejects is logged and dropped. An event that
//     was deleted on the server is created again, with its count.
//   - [Broadcaster.Run] returns after its last goroutine has ended, and after it has written the remaining events
//     within [Options].FlushTimeout.
//   - Logs contain references to objects, but no objects. A log line has the note of an event, but no annotations.
//
// # Concurrency
//
// All types are safe for concurrent use. Only [Broadcaster.Run] blocks; it starts one goroutine.
//
// Events are information, not a record: the API server deletes them, and a program should not base decisions on them.
package events
