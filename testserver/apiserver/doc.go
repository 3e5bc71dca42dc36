// Package apiserver is an API server that runs in the process of a test. It starts in milliseconds, and answers like
// the real server.
//
//	server := apiserver.New(apiserver.Options{})
//	defer server.Close()
//	live, err := client.New(server.Config(), client.Options{Scheme: scheme})
//
// Package testserver/inmemory starts a server for a test, installs CRDs and stops the server. Only tests and the
// program that `kctrl env up --in-memory` compiles link this package. That program serves over TLS ([Server.Serve]) and
// can keep its objects in a file ([Open]).
//
// The server serves CustomResourceDefinitions and their objects like the real server:
//
//   - pruning, defaults, validation, validation rules (also transition rules and ratcheting), field validation,
//     warnings;
//   - versions with conversion webhooks, the status and scale subresources, selectable fields;
//   - server-side apply and managedFields, all types of patches, dry run, generated names;
//   - finalizers, preconditions, optimistic locking;
//   - selectors, pages, resource versions, watches with bookmarks and initial events, tables and metadata-only objects;
//   - the built-in kinds in discovery, discovery itself, and OpenAPI.
//
// Webhooks and admission policies (ValidatingAdmissionPolicy, MutatingAdmissionPolicy) review writes. If a rest.Config
// impersonates a user or has the token of a service account, the server authorizes its requests with RBAC.
// docs/fidelity.md lists the comparisons with the real server, and the known differences.
//
// # Guarantees
//
//   - Resource versions of writes increase across all resources. A list has one version.
//   - A watch sends all changes after its version, in order, or ends with 410 Gone. The server does not buffer events
//     for a slow watch.
//   - With the same seed and the same sequential requests, a server generates the same UIDs and names. In a synctest
//     bubble, whose clock starts at a fixed time, the responses are equal byte for byte.
//   - When a write of a definition returns, its consequences are complete. The definition is established, or its
//     objects are deleted.
//
// # Concurrency
//
// A Server is safe for concurrent use. New starts no goroutine. A request has a goroutine, which ends when the
// request's context ends, when the body of its response is closed, or when the server is closed; Close waits for all of
// these goroutines. The server uses no sockets, and holds no mutex while it waits.
//
// # Limitations
//
// The server has no controllers. A namespace stays in termination until a client finalizes it, and only a separate
// garbage collector deletes dependents. A server that New returns does not persist objects.
package apiserver
