// Package admission reviews objects before the API server stores them: it sets defaults and rejects invalid objects.
//
// [NewDefaulting] and [NewValidating] return handlers that call functions of Go types. webhook.For registers them at
// the paths of controller-gen's markers. Any [Handler] can answer requests, and [Chain] combines several handlers for
// one path.
//
//	handler, err := admission.NewDefaulting(scheme, &v1.Guestbook{}, admission.DefaulterFunc[*v1.Guestbook](
//		func(ctx context.Context, g *v1.Guestbook) error {
//			g.Spec.Replicas = cmp.Or(g.Spec.Replicas, 1)
//			return nil
//		}))
//	http.Handle("/mutate-webapp-example-com-v1-guestbook", admission.NewReviewer(handler, logger))
//
// # Guarantees
//
//   - The patch of a defaulter contains exactly its changes, regardless of how the object is written: unknown fields,
//     explicit zeros, and other notations of a value (1000m for 1) are kept. When an element of a list moves, it keeps
//     its unknown fields if its name or another field identifies it.
//   - In a chain, each handler receives the object as changed by the previous ones, and one rejection rejects the
//     request.
//   - A body that is not a review, or is of another kind, is answered with one line that has the error.
//   - If a handler panics, the answer has code 500. The failure policy of the webhook then decides about the request.
//
// # Concurrency
//
// All handlers are called concurrently. The context of a call ends with the API server's timeout. It contains the
// request, which [RequestFromContext] returns, and a logger.
package admission
