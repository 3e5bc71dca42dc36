// Package wire turns what an API server sends for a list or a watch into objects: in one pass from the body, without
// building what nobody asked for.
//
// A [Decoder] is made once for a Go type and says what is built of it. It then reads any number of lists and watches, in
// whichever [Format] the server chose:
//
//	decoder, err := wire.NewDecoder(&corev1.Pod{}, wire.Options{GVK: gvk})
//	page, err := decoder.List(body, contentType, nil)
//	events := decoder.Watch(body, contentType, nil)
//	event, err := events.Next()
//
// # Guarantees
//
//   - Decoded values are those of apimachinery's codecs, and what they refuse is refused: names are case-sensitive,
//     unknown fields are ignored, the last of several members with one name is merged over those before it, integers in
//     untyped values are int64. The tests compare the two on API types and on hostile input.
//   - metadata.managedFields are skipped, not built and dropped, unless [Options].KeepManagedFields is set. With
//     [Options].Mask nothing is built but what it names.
//   - Strings of JSON that repeat, within an object or from object to object, are kept once, through a table of bounded
//     size.
//   - Each object of a list is allocated by itself, and the body is never held as a whole: a list costs its objects and
//     one buffer as large as the largest of them.
//   - With a [Known], an object that the caller has already, in the same state, is not built again.
//   - What cannot be read is an [Error]; the reader is over after it. Nothing is skipped, and nothing that is longer than
//     [MaxObject], nor JSON that is nested deeper than ten thousand levels, is read.
//
// # Concurrency
//
// A Decoder is safe for concurrent use. A [Stream] belongs to one goroutine. What has arrived of a JSON list before it is asked
// for is decoded on several processors, in order; no goroutine outlives the call that started it.
package wire
