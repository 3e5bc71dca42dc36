// Package authority issues and rotates the certificate of a server, and distributes the CA bundle to its clients. An
// [Authority] is an operator's own CA.
//
// # Guarantees
//
//   - All replicas share one CA, which is stored in a Secret. Each write of the Secret has the resource version that
//     was read as a precondition, so the first writer wins and no leader is needed.
//   - The certificate is replaced after half and before two thirds of its lifetime. All targets trust the next CA
//     before it signs, and trust the previous CA until the next rotation, so no client rejects the certificate in
//     between.
//   - A certificate is valid from one hour before its creation, for clients whose clock is behind.
//   - A deleted or damaged Secret is restored with the same CA, as long as one replica has that CA. A changed target is
//     reverted. The authority detects both with watches of only these objects.
//   - [Authority.Ready] returns an error if a target is missing, cannot be written, or calls the server by an invalid
//     name. The other targets still trust the certificate, which contains the names by which they call the server.
//   - A Secret with other content is not changed, and the error identifies it.
//   - [Authority.Ready] returns nil when the API server has confirmed, after the last change, that every target trusts
//     the served certificate. An outage of the API server does not change readiness, so webhooks are available when it
//     returns.
//
// # Concurrency
//
// Only [Authority.Run] sends requests, and it waits for the watches that it starts, one per object. All methods are
// safe for concurrent use.
package authority
