// Package wire decodes the API server's answers to lists and watches into objects, in one pass over the body, without
// decoding fields that are not needed.
//
// A [Decoder] is created once per Go type and set of fields. It then decodes any number of lists and watches, in the
// [Format] that the server chose:
//
//	decoder, err := wire.NewDecoder(&corev1.Pod{}, wire.Options{GVK: gvk})
//	page, err := decoder.List(body, contentType, nil)
//	events := decoder.Watch(body, contentType, nil)
//	event, err := events.Next()
//
// # Guarantees
//
//   - Decoded values equal those of apimachinery's codecs, and the same input is rejected: names are case-sensitive,
//     unknown fields are ignored, the last of several members with one name is merged over earlier ones, integers in
//     untyped values are int64. Tests compare the two on API types and on hostile input.
//   - metadata.managedFields are skipped unless [Options].KeepManagedFields is set. With [Options].Mask only its fields
//     are decoded.
//   - Strings of JSON that repeat within or across objects are kept once, by a table of bounded size.
//   - Each object of a list is allocated by itself, and the body is never in memory as a whole: a list needs memory for
//     its objects and for one buffer of the size of the largest.
//   - With a [Known], an object that the caller already has in the same state is not decoded again.
//   - Invalid data is an [Error] that ends the reader. Nothing is skipped silently. Objects longer than [MaxObject],
//     and JSON nested deeper than ten thousand levels, are rejected.
//
// # Concurrency
//
// A Decoder is safe for concurrent use. A [Stream] is not. Data of a JSON list that has already arrived is decoded on
// several processors, in order; no goroutine outlives the call that started it.
package wire
