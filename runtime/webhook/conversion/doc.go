// Package conversion turns objects of one version of a kind into another one, as the API server asks it to for a kind that is served in
// several versions.
//
// One version is the hub; the others are spokes, each of which has two functions, from the hub and to it. They are plain functions
// anywhere, so that API packages know nothing of this one:
//
//	err := webhook.For[*v2.Guestbook](m).WithSpokes(conversion.NewSpoke(v1FromV2, v1ToV2)).Complete()
//
//	func v1FromV2(ctx context.Context, hub *v2.Guestbook, spoke *v1.Guestbook) error {
//		spoke.Spec.Message = hub.Spec.Text.Body
//		return conversion.Keep(spoke, hub.Spec.Text.Style) // what v1 has no field for
//	}
//
//	func v1ToV2(ctx context.Context, spoke *v1.Guestbook, hub *v2.Guestbook) error {
//		hub.Spec.Text.Body = spoke.Spec.Message
//		return conversion.Restore(spoke, &hub.Spec.Text.Style)
//	}
//
// Metadata is not the functions' business: it is copied before they are called, and of what they change in it the API server
// takes labels and annotations alone. Package conversiontest proves that nothing is lost on the way.
//
// # Guarantees
//
//   - Objects are converted one by one. One that cannot be fails the review, with an error that names it. A function that panics
//     answers 500, and the log names the object.
//   - A spoke becomes another spoke by way of the hub.
//   - What is no review, or names a kind or a version that was not registered, is one clear error.
//
// # Concurrency
//
// The functions are called by many goroutines at once.
package conversion
