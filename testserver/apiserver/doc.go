// Package apiserver is an API server in the process of a test: it starts in milliseconds, and answers as the real
// server does.
//
//	server := apiserver.New(apiserver.Options{})
//	defer server.Close()
//	live, err := client.New(server.Config(), client.Options{Scheme: scheme})
//
// Package testserver/inmemory starts a server for a test, installs CRDs and stops the server. Only tests link this
// package, and the program that `kctrl env up --in-memory` compiles, which serves over TLS ([Server.Serve]) and can
// keep its objects in a file ([Open]).
//
// It serves CustomResourceDefinitions and their objects like the real server:
//
//   - pruning, defaults, validation, rules with transitions and ratcheting, field validation, warnings;
//   - versions with conversion webhooks, status and scale, selectable fields;
//   - server-side apply and managedFields, all types of patches, dry run, generated names;
//   - finalizers, preconditions, optimistic locking;
//   - selectors, pages, resource versions, watches with bookmarks and initial events, tables and metadata-only objects;
//   - the built-in kinds in discovery, discovery itself, and OpenAPI.
//
// Webhooks and admission policies (ValidatingAdmissionPolicy, MutatingAdmissionPolicy) review writes. Roles authorize
// requests of users that a rest.Config impersonates, or that have a token of a service account. docs/fidelity.md lists
// the comparisons with the real server, and the known differences.
//
// # Guarantees
//
//   - Resource versions of writes increase across all resources. A list has one version.
//   - A watch sends each change after its version in order, or ends with 410 Gone. Nothing is buffered for a slow
//     watch.
//   - With the same seed and sequential requests, a server generates the same UIDs and names. In a synctest bubble,
//     whose clock starts at a fixed time, all bytes are equal.
//   - The consequences of a write of a definition are complete when the write returns: the definition is established,
//     or its objects are deleted.
//
// # Concurrency
//
// A Server is safe for concurrent use. New starts no goroutine. A request has a goroutine, which ends with the
// request's context, the body of its response, or the server; Close waits for all of them. There are no sockets, and no
// mutex is held during a wait.
//
// # Limitations
//
// It has no controllers: namespaces stay in termination until a client finalizes them, and garbage is collected only by
// a separate collector. A server of New does not persist objects.
package apiserver
