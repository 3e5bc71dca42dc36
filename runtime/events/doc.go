// Package events reports the actions of a controller and their reasons as Event objects on the API server. kubectl
// describe shows the events of an object.
//
// A [Recorder] creates events. A [Broadcaster] counts repeated events and stores them in a [Sink], usually the API
// server:
//
//	broadcaster := events.New(events.Options{Scheme: scheme, Sink: events.NewSink(live)})
//	go broadcaster.Run(ctx) // Wait for its return.
//	recorder := broadcaster.Recorder("guestbook-controller")
//	recorder.Eventf(guestbook, pod, events.Normal, "ScaledUp", "CreatePod", "created pod %s", pod.Name)
//
// The API has two forms of Events. [NewSink] writes the current form, events.k8s.io/v1: reason and action are
// machine-readable, and the note is human-readable (KEP-383). [NewCoreSink] writes the older form, core/v1. The
// API server converts events, so clients can read all events in both forms.
//
// # Repetition
//
// With [BySeries], events that differ only in note and time form a series with the note of the first event (KEP-383,
// "Changes in EventRecorder"). If the object has changed since, an event with another note begins a new series. The
// first event is stored immediately, and the second event turns it into a series. From then on, the count is stored
// every half hour, because API servers keep an event for only an hour after its last write. The last count is stored
// when the event has not occurred for six minutes.
//
// With [ByCount], events that differ only in time are one event with a count, which is stored at each occurrence. If an
// object gets ten different notes for one reason, with less than ten minutes between events, the events with the tenth
// and all further notes are combined into one event. Its note is the last note, marked as combined.
//
// In both cases, the events of one controller, object and type cause a burst of at most 25 writes, and one more write
// every five minutes. Events without a write are counted, and the next write includes them.
//
// # Guarantees
//
//   - Recording never blocks, neither on the API server nor on a slow watcher.
//   - Memory is bounded: at most [Options].QueueSize events wait to be written, and at most [Options].CacheSize counts
//     of each type are kept. Further events are dropped and counted in the metrics, and the log reports this once in
//     ten minutes.
//   - While an event waits for the API server, its repetitions are counted, and it is written once with its count.
//   - A write that fails is attempted up to twelve times in two minutes, and does not delay other writes. A write that
//     hangs delays other writes, and fails after half a minute. An event that the API server rejects is logged and
//     dropped. An event that was deleted on the server is created again, with its count.
//   - [Broadcaster.Run] returns after its last goroutine has ended, and after it has written the remaining events
//     within [Options].FlushTimeout.
//   - Log lines contain the reference and the note of an event, but neither the content of objects nor the annotations
//     of the event.
//
// # Concurrency
//
// All types are safe for concurrent use. Only [Broadcaster.Run] blocks; it starts one goroutine.
//
// The API server deletes events after some time, so a program should not base decisions on them.
package events
