// Package garbagecollector deletes objects whose owners are gone. It implements the semantics of ownerReferences and of
// the propagation policy of deletes, like the garbage collector of kube-controller-manager.
//
//	collector, err := garbagecollector.New(config, garbagecollector.Options{})
//	...
//	err = collector.Run(ctx)
//
// A [Graph] has the ownership relations of all objects. It discovers the kinds of the API server, watches the metadata
// of every kind that can be listed, watched and deleted, and follows kinds that appear and disappear. An owner that is
// referenced before it is seen is a virtual node, which is looked up on the server. A Graph can be used alone, to show
// which objects belong together.
//
// A [Collector] processes an object when its owners in the graph may have changed. It reads the object and its owners
// from the API server, and decides by what it has read:
//
//   - An object all of whose owners are gone is deleted.
//   - An object with a remaining owner loses the references to owners that are gone, or that wait for their dependents.
//   - In a foreground deletion (finalizer foregroundDeletion) the dependents are deleted first. The owner follows when
//     no dependent with blockOwnerDeletion remains; it does not wait for others.
//   - In an orphaning deletion (finalizer orphan) the dependents lose their references before the owner is deleted.
//
// The rules are those of https://kubernetes.io/docs/concepts/architecture/garbage-collection and of the documentation
// of metav1.OwnerReference. KEP-2336 defines the treatment of references between namespaces.
//
// # Guarantees
//
//   - An owner counts as gone only if the API server confirms it: no object has the name in the reference, or it has
//     another UID. An error, a kind that the server does not have, and a graph that lags behind prove nothing.
//   - The collector deletes only the object that it has read: every delete has the UID as a precondition. It also has
//     the resource version, unless the object has changed since but its owner references have not.
//   - A patch removes owner references and finalizers from the state that was read, or fails and is retried with a new
//     one.
//   - A namespaced owner is in the namespace of its dependent, and the owner of a cluster-scoped object is
//     cluster-scoped. A reference into another namespace counts as a reference to a missing owner, and causes a Warning
//     event OwnerRefInvalidNamespace. A cluster-scoped object with a reference to a namespaced kind is never collected,
//     nor is an object with a reference to an invalid name.
//   - Memory is bounded by the number of objects and references. An object needs about 300 bytes, whatever its content:
//     only name, owner references and state of deletion are kept of its metadata.
//
// # Concurrency
//
// All methods are safe for concurrent use. New and NewGraph start no goroutine. Run starts one goroutine per kind and
// worker, and returns when all have ended.
//
// Events, and kinds that cannot be watched, are not followed. They can be owners, which are looked up on the server
// periodically, but are not collected. To set an owner, see package controllerutil.
//
// The API of this package is not stable yet: docs/api.txt does not list it.
package garbagecollector
