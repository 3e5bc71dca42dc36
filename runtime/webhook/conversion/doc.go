// Package conversion converts objects between the versions of a kind, as the API server requests for a kind with
// several served versions.
//
// One version is the hub. The other versions are spokes. Each spoke has two functions, which convert from the hub and
// to the hub. The functions can be in any package, so API packages need not depend on this one:
//
//	err := webhook.For[*v2.Guestbook](m).WithSpokes(conversion.NewSpoke(v1FromV2, v1ToV2)).Complete()
//
//	func v1FromV2(ctx context.Context, hub *v2.Guestbook, spoke *v1.Guestbook) error {
//		spoke.Spec.Message = hub.Spec.Text.Body
//		return conversion.Keep(spoke, hub.Spec.Text.Style) // v1 has no field for it
//	}
//
//	func v1ToV2(ctx context.Context, spoke *v1.Guestbook, hub *v2.Guestbook) error {
//		hub.Spec.Text.Body = spoke.Spec.Message
//		return conversion.Restore(spoke, &hub.Spec.Text.Style)
//	}
//
// The functions do not convert metadata, which are copied before the call. If a function changes metadata, the API
// server accepts only changes of labels and annotations. Package conversiontest tests that conversions lose no data.
//
// # Guarantees
//
//   - Objects are converted one by one. If a conversion fails, the review fails with an error that identifies the
//     object. If a function panics, the answer has code 500, and the log identifies the object.
//   - A spoke is converted to another spoke through the hub.
//   - An invalid review, or a review of an unregistered kind or version, is answered with one clear error.
//
// # Concurrency
//
// The functions are called concurrently.
package conversion
