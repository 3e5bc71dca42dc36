// Package conversion converts objects between the versions of a kind, as the API server requests for a kind with
// several served versions.
//
// One version is the hub. The others are spokes, each with two functions: from the hub and to the hub. The functions
// can be in any package, so that API packages do not depend on this one:
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
// The functions do not convert metadata: these are copied before the call, and of later changes the API server accepts
// only labels and annotations. Package conversiontest tests that conversions lose no data.
//
// # Guarantees
//
//   - Objects are converted one by one. If one fails, the review fails with an error that names it. A function that
//     panics answers 500, and the log names the object.
//   - A spoke is converted to another spoke through the hub.
//   - An invalid review, or one of an unregistered kind or version, is one clear error.
//
// # Concurrency
//
// The functions are called concurrently.
package conversion
