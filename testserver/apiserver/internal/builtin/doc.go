// Package builtin has the kinds that are there without a CustomResourceDefinition, as values: what an API server makes of the objects of
// each when they are written, and how it shows them.
//
// A kind is a row, a [Kind], in a file with the others of its API group: names, columns of tables, fields of selectors, and [Rules] for
// writes of the object, its status and its other subresources. Rules are strategies of k8s.io/kubernetes ([By]), which work on internal
// types: a [Strategy] converts. Where upstream's strategy imports too much there is a short one of upstream's checks ([Own]). Defaults are
// upstream's ([SetDefaults]). What rules need of other objects they ask the [Cluster] for. What server-side apply must know of Go types
// says [Models].
//
// Nothing here serves requests, and nothing is done because of an object: package apiserver does what roles, policies and configurations of
// webhooks say, and has those kinds itself that it makes and answers: namespaces, service accounts, bindings, reviews and definitions.
//
// # Guarantees
//
//   - Upstream's scheme, feature gates and capabilities are global in a process. This package adds the served versions to the scheme once,
//     when the first server is made, allows privileged containers, and changes no feature gate.
package builtin
