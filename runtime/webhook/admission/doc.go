// Package admission decides about objects before the API server stores them: it fills in what users leave out, and refuses
// what is wrong.
//
// [NewDefaulting] and [NewValidating] make handlers of functions that see Go types; webhook.For registers them under the paths
// that controller-gen's markers give them. Any [Handler] can answer by itself, and [Chain] puts several behind one path.
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
//   - The patch of a defaulter holds exactly what it changed, however the object was written: what the Go type does not know,
//     zeros that a user wrote, and other spellings of a value (1000m of 1) stay. An element of a list keeps what is its own
//     wherever it moves to, if its name, or whatever else of it, says which one it is.
//   - Of several handlers in a chain each sees the object as those before it have made it, and one refusal refuses.
//   - What is no review, or is about another kind, is answered by one line that says what is wrong, and no handler sees it.
//   - A handler that panics answers 500, which the failure policy of the webhook decides about.
//
// # Concurrency
//
// All handlers are called by many goroutines at once. The context of a call ends with the time that the API server waits, and
// has the request ([RequestFromContext]) and a logger.
package admission
