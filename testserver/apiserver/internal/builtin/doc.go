// Package builtin has the kinds that are there without a CustomResourceDefinition, as values: what an API server makes of the objects of
// each when they are written, and how it shows them.
//
// A kind is a row, a [Kind], in a file with the others of its API group: names, columns of tables, fields of selectors, and [Rules] for
// writes of the object, its status and its other subresources. Rules are functions of Go types. What they need of other objects they ask
// the [Cluster] for. Defaults are by Go type and not by kind ([NewDefaults]), since types are in many kinds; what server-side apply must
// know of them says [Models].
//
// Nothing here serves requests, and nothing is done because of an object: package apiserver does what roles, policies and configurations of
// webhooks say, and has those kinds itself that it makes and answers: namespaces, service accounts, bindings, reviews and definitions.
// Errors are those of the real server, word for word, and in its order.
package builtin
