// Package authority issues and rotates the certificate of a server, and distributes the CA bundle to its clients. An
// [Authority] is an operator's own CA.
//
//	target, err := authority.ParseTarget("validating/guestbook-validating-webhook-configuration")
//	authority, err := authority.New(authority.Options{
//		Client:  live,
//		Secret:  object.Key{Namespace: "guestbook-system", Name: "webhook-certificates"},
//		Targets: []authority.Target{target},
//	})
//
// # Guarantees
//
//   - All replicas have one CA. It is in a Secret, which is written with the read version as a precondition, so that
//     the first writer wins. No leader is needed.
//   - The certificate is replaced after half and before two thirds of its lifetime. All targets trust the next CA
//     before it signs, and the last one until the next rotation, so no client rejects the certificate in between.
//   - A certificate is valid from one hour before its creation, for clients whose clock is behind.
//   - A deleted or damaged Secret is restored with the same CA, as long as one replica has it. A target that was
//     changed is changed back. Both are detected by watches of only these objects.
//   - A target that is missing, cannot be written, or has an invalid name of the server is an error of
//     [Authority.Ready]. The other targets still trust the certificate, which has their names of the server.
//   - A Secret with other content is not changed, and the error names it.
//   - [Authority.Ready] returns nil when the API server has confirmed, after the last change, that every target trusts
//     the served certificate. An outage of the API server does not change readiness, so that webhooks are available
//     when it returns.
//
// # Permissions
//
// The authority needs get, list, watch and update of its Secret, and create of Secrets in its namespace; get, list,
// watch and patch of each target. All permissions except create can be restricted to these names.
//
// # Concurrency
//
// Only [Authority.Run] sends requests, and it waits for the watches that it starts, one per object. All methods are
// safe for concurrent use.
package authority
