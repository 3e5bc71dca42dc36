// Package garbagecollector deletes objects whose owners are gone, as the garbage collector of kube-controller-manager
// does: what ownerReferences, and the propagation policy of a delete, promise.
//
//	collector, err := garbagecollector.New(config, garbagecollector.Options{})
//	...
//	err = collector.Run(ctx)
//
// A [Graph] keeps who owns whom. It asks the API server which kinds there are, follows the metadata of every kind that
// can be listed, watched and deleted, and goes along with kinds that come and go. An owner that is named before it was
// seen is a virtual node: it takes part as an owner, and is looked up at the server. A Graph can be used alone, to show
// what belongs to what.
//
// A [Collector] looks at an object when the graph says that its owners may have changed, reads it and its owners from the
// API server, and decides by what it has read:
//
//   - An object all of whose owners are gone is deleted.
//   - An object that has an owner left loses the references to those that are gone, or that wait for their dependents.
//   - In a foreground deletion (finalizer foregroundDeletion) the dependents go first, and the owner when none is left
//     whose reference has blockOwnerDeletion set. For the others it does not wait.
//   - In an orphaning deletion (finalizer orphan) the dependents lose their references before the owner goes.
//
// The rules are those of https://kubernetes.io/docs/concepts/architecture/garbage-collection and of the documentation of
// metav1.OwnerReference; KEP-2336 says what becomes of references between namespaces.
//
// # Guarantees
//
//   - An owner is gone only if the API server says so: nothing by the name that the reference has, or something with
//     another UID. An error, a kind that the server does not know, and a graph that lags behind are not it.
//   - What is deleted is what was looked at: every delete has the UID as a precondition, and the resource version, save
//     when the object has changed since but not its owner references.
//   - A patch takes away owner references and finalizers from the state that was read, or fails and is made anew.
//   - A namespaced owner is one in the namespace of its dependent, and the owner of a cluster-scoped object is
//     cluster-scoped. A reference into another namespace is to an owner that does not exist, which a Warning event
//     OwnerRefInvalidNamespace tells; one from a cluster-scoped object to a namespaced kind keeps its object from ever
//     being collected, as does one with a name that no object can have.
//   - Memory is bounded by the number of objects and references. An object costs some 300 bytes, whatever is in it: of
//     its metadata only the name, the owner references and the state of its deletion are kept.
//
// # Concurrency
//
// All methods are safe for concurrent use. New and NewGraph start nothing; Run starts one goroutine for each kind and each
// worker, and returns when all have ended.
//
// Events are not followed, nor are kinds that cannot be watched: they are owners like any other, looked up at the server
// now and then, but are not collected. Nothing here knows why an object exists; see package controllerutil for how to set
// an owner.
//
// The API of this package is not stable yet: docs/api.txt does not list it.
package garbagecollector
