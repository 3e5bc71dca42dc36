// Package apiserver is an API server in the process of a test: it is there in milliseconds, and answers as the real one does.
//
//	server := apiserver.New(apiserver.Options{})
//	defer server.Close()
//	live, err := client.New(server.Config(), client.Options{Scheme: scheme})
//
// Package testserver/inmemory starts a server for a test, installs CRDs and ends it. Only tests link this package, and the
// program that `kctrl env up --in-memory` compiles, which serves over TLS ([Server.Serve]) and keeps its objects in a file
// ([Open]).
//
// It serves CustomResourceDefinitions and their objects as the real server does: pruning, defaults, validation, rules with
// transitions and ratcheting, versions with conversion webhooks, status and scale, selectable fields, server-side apply and
// managedFields, all types of patches, field validation, dry run, warnings, finalizers, preconditions, optimistic locking,
// generated names, selectors, pages, versions, watches with bookmarks and initial events, tables and metadata alone; and the
// built-in kinds that discovery names; discovery and OpenAPI. Webhooks and admission policies (ValidatingAdmissionPolicy, MutatingAdmissionPolicy) decide about writes, and roles about requests of users
// whom a rest.Config impersonates or who have a token of a service account. docs/fidelity.md says what is compared with the real server, and
// which differences are known.
//
// # Guarantees
//
//   - Writes have versions that only grow, over all resources. A list is of one version.
//   - A watch tells of each change after its version in order, or ends with 410 Gone. Nothing is kept for one that is slow.
//   - With the same seed, and requests one after the other, a server gives the same UIDs and names; in a synctest bubble, whose
//     clock starts at one time, the same bytes.
//   - What follows a write of a definition has happened when the write returns: it is established, or its objects are gone.
//
// # Concurrency
//
// A Server is safe for concurrent use. New starts nothing; a request has a goroutine, which ends with the request's context, the
// body of its response, or the server, and Close waits for all of them. There are no sockets, and no mutex is held over a wait.
//
// # What it does not do
//
// It has no controllers: namespaces stay in termination until somebody finalizes them, and nothing collects garbage unless a
// collector runs. One that New makes does not save anything.
package apiserver
