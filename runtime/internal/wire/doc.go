// Package wire decodes the API server's answers to lists and watches into objects. It reads the body in one pass and
// does not decode fields that are not needed.
//
// A [Decoder] is created once per Go type and set of fields. It then decodes any number of lists and watches, in the
// [Format] that the server has chosen:
//
//	decoder, err := wire.NewDecoder(&corev1.Pod{}, wire.Options{GVK: gvk})
//	page, err := decoder.List(body, contentType, nil)
//	events := decoder.Watch(body, contentType, nil)
//	event, err := events.Next()
//
// # Guarantees
//
//   - The package decodes the same values as apimachinery's codecs, and rejects the same input. Names are
//     case-sensitive, unknown fields are ignored, a member that occurs several times is merged over its earlier values,
//     and integers in untyped values are int64. Tests compare the two decoders on API types and on hostile input.
//   - metadata.managedFields are skipped unless [Options].KeepManagedFields is set. If [Options].Mask is set, only the
//     fields in it are decoded.
//   - JSON strings that repeat within or across objects are kept once, in a table of bounded size.
//   - Each object of a list is allocated separately, and the body is never in memory as a whole. A list needs memory
//     for its objects and for one buffer of the size of the largest object.
//   - With a [Known], an object that the caller already has in the same state is not decoded again.
//   - Invalid data causes an [Error], which ends the reader. No data is skipped silently. Objects longer than
//     [MaxObject], and JSON nested deeper than ten thousand levels, are rejected.
//
// # Concurrency
//
// A Decoder is safe for concurrent use. A [Stream] is not. Data of a JSON list that has already arrived is decoded on
// several processors, in order. No goroutine outlives the call that started it.
package wire
