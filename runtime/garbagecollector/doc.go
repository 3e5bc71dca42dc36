// Package garbagecollector deletes objects whose owners no longer exist. It implements the semantics of ownerReferences
// and of the propagation policy of deletes, like the garbage collector of kube-controller-manager.
//
//	collector, err := garbagecollector.New(config, garbagecollector.Options{})
//	...
//	err = collector.Run(ctx)
//
// A [Graph] holds the ownership relations of all objects. It discovers the kinds of the API server, watches the
// metadata of every kind that can be listed, watched and deleted, and follows kinds that appear and disappear. An owner
// that is referenced before it is seen is a virtual node, which is looked up on the server. A Graph can be used without
// a collector, to show which objects belong together.
//
// A [Collector] processes an object when its owners in the graph may have changed. It reads the object and its owners
// from the API server, and decides based on these reads:
//
//   - If no owner of an object exists any longer, the object is deleted.
//   - If an object has a remaining owner, its references to other owners are removed if these no longer exist, or wait
//     for their dependents.
//   - In a foreground deletion (finalizer foregroundDeletion), the dependents are deleted first. The owner is deleted
//     when no dependent with blockOwnerDeletion remains. It does not wait for other dependents.
//   - In an orphaning deletion (finalizer orphan), the references of the dependents are removed before the owner is
//     deleted.
//
// The rules follow https://kubernetes.io/docs/concepts/architecture/garbage-collection and the documentation of
// metav1.OwnerReference. KEP-2336 defines the treatment of references between namespaces.
//
// # Guarantees
//
//   - The collector considers an owner gone only if the API server confirms that no object has the name in the
//     reference, or that the object has another UID. An error, a kind that the server does not serve, or a graph that
//     lags behind is not such a confirmation.
//   - The collector deletes only the object that it has read: every delete has the UID as a precondition. The delete
//     also has the resource version as a precondition, unless the object has changed since but its owner references
//     have not.
//   - A patch removes owner references and finalizers from the state that was read. If that state has changed, the
//     patch fails and is retried with the new state.
//   - A namespaced owner is in the namespace of its dependent, and the owner of a cluster-scoped object is
//     cluster-scoped. A reference into another namespace counts as a reference to a missing owner, and causes a Warning
//     event OwnerRefInvalidNamespace. A cluster-scoped object that refers to a namespaced kind is never collected, and
//     neither is an object that refers to an invalid name.
//   - Memory is bounded by the number of objects and references. An object needs about 300 bytes regardless of its
//     content, because only its name, owner references and deletion state are kept.
//
// # Concurrency
//
// All methods are safe for concurrent use. New and NewGraph start no goroutine. Run starts one goroutine per kind and
// worker, and returns when all of them have ended.
//
// The graph does not follow events, and kinds that cannot be watched. Objects of these kinds can be owners, which are
// looked up on the server periodically, but they are not collected. To set an owner, see package controllerutil.
//
// The API of this package is not stable yet: docs/api.txt does not list it.
package garbagecollector
