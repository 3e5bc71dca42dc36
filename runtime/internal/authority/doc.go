// Package authority issues and rotates the certificate of a server, and makes its clients trust it: [Authority] is one that
// an operator makes for itself.
//
//	target, err := authority.ParseTarget("validating/guestbook-validating-webhook-configuration")
//	authority, err := authority.New(authority.Options{
//		Client: live, Secret: object.Key{Namespace: "guestbook-system", Name: "webhook-certificates"}, Targets: []authority.Target{target},
//	})
//
// # Guarantees
//
//   - All replicas have one authority: it is in a Secret, which is written only as it was read, and whoever is first is right. No
//     leader is needed.
//   - The certificate is changed after half of its lifetime, before two thirds of it are over. Whoever is to trust the next authority
//     trusts it before it signs anything, and the last one until the rotation after; so nobody is refused in between.
//   - It is valid from an hour before it was made, for clients whose clock is behind.
//   - A Secret that is deleted or damaged is written again, with the same authority as long as one replica knows it. A target that
//     somebody else has changed is changed back. Both are seen by watches of these objects alone.
//   - A target that is missing, that may not be written, or that is called by what can be no name is the error of
//     [Authority.Ready]; the others trust the certificate all the same, and it has the names by which they are called.
//   - A Secret that has something else is left alone, and the error names it.
//   - [Authority.Ready] returns nil when the API server has told, after the last change, that every target trusts what is served. An
//     outage of the API server is no change: it does not take all replicas away from a Service that is called when it is back.
//
// # Rights
//
// The authority needs get, list, watch and update of its Secret, and create of Secrets in its namespace; get, list, watch and patch of
// each target. All but create can be given for the names alone.
//
// # Concurrency
//
// [Authority.Run] is the only one that makes requests, besides a watch for each object, for which it waits. All methods are safe for concurrent
// use.
package authority
