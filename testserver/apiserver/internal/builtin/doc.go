// Package builtin has the built-in kinds as values: how an API server processes writes of their objects, and how it
// shows them.
//
// A kind is a [Kind] value, in a file with the others of its API group: names, columns of tables, fields of selectors,
// and [Rules] for writes of the object, its status and its other subresources. Rules are strategies of
// k8s.io/kubernetes ([By]), which work on internal types: a [Strategy] converts. If upstream's strategy has too many
// dependencies, a short one combines upstream's checks ([Own]). Defaults are upstream's ([SetDefaults]). Rules read
// other objects through the [Cluster]. [Models] has the schemas of Go types for server-side apply.
//
// The package serves no requests, and acts on no objects: package apiserver enforces roles, policies and webhook
// configurations. It also has the kinds that it creates and answers itself: namespaces, service accounts, bindings,
// reviews and definitions.
//
// # Guarantees
//
//   - Upstream's scheme, feature gates and capabilities are global in a process. This package adds the served versions
//     to the scheme once, when the first server is created, allows privileged containers, and changes no feature gate.
package builtin
