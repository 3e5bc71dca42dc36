// Package builtin defines the built-in kinds: how an API server processes writes of their objects, and how it shows
// them.
//
// Each kind is a [Kind] value, in one file with the other kinds of its API group. A Kind contains names, columns of
// tables, fields of selectors, and [Rules] for writes of the object, its status and its other subresources. Rules are
// usually strategies of k8s.io/kubernetes ([By]). They use internal types, so a [Strategy] converts the objects. If
// upstream's strategy has too many dependencies, a short strategy combines upstream's checks ([Own]). Defaults are
// upstream's ([SetDefaults]). Rules read other objects through the [Cluster]. [Models] contains the schemas of Go types
// for server-side apply.
//
// The package serves no requests and does not act on stored objects. Package apiserver enforces roles, policies and
// webhook configurations. It also defines the kinds that it creates and answers itself: namespaces, service accounts,
// bindings, reviews and definitions.
//
// # Guarantees
//
//   - Upstream's scheme, feature gates and capabilities are global in a process. This package adds the served versions
//     to the scheme once, when the first server is created. It allows privileged containers, and it changes no feature
//     gate.
package builtin
