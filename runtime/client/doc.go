// Package client reads and writes Kubernetes objects through the API server's REST interface.
//
// [REST] is the live client: each call is one request. Reconcilers and helpers should accept [Client], [Reader] or
// [Writer]; [NewClient] joins a cached Reader with a live client. [ListWatcher] lists and watches one resource for
// informers, and [Mapper] maps kinds to resources by the server's discovery. [Intercept] puts functions in front of a
// client. [WithFieldOwner], [WithFieldValidation], [NewDryRunClient] and [NewNamespacedClient] use it.
//
//	c, err := client.New(config, client.Options{Scheme: scheme, FieldOwner: "guestbook-controller"})
//	var cm corev1.ConfigMap
//	err = c.Get(ctx, object.Key{Namespace: "default", Name: "settings"}, &cm)
//	base := cm.DeepCopy()
//	cm.Data["mode"] = "fast"
//	err = c.Patch(ctx, &cm, client.MergeFrom(base))
//
// # Guarantees
//
//   - Errors from the API server are *apierrors.StatusError, so apierrors.IsNotFound and its siblings work. Network
//     errors wrap their cause and include verb, resource and name: "get guestbooks default/x: ...".
//   - A call changes its object only on success, and then replaces the whole content.
//   - A call for an object of a namespaced kind without a namespace fails before any request. The namespace in the key
//     or object of a cluster-scoped kind is ignored.
//   - The server's answer matches the request in kind, version and format; any other answer is a [*DecodeError]. A
//     Status of a failure is an error, whatever the HTTP code. Objects have their apiVersion and kind set.
//   - An object that a cache holds in parts is not written as a whole: that fails with a [*MaskedError].
//   - A request that the server rejects with 429 and Retry-After is sent again, a limited number of times, until the
//     context ends.
//
// # Concurrency
//
// All types are safe for concurrent use except a [Stream], which one goroutine reads. The package starts no goroutines,
// does not throttle requests, and keeps no state of a connection in package variables.
//
// A [REST] uses JSON. A [ListWatcher], and therefore [REST.Watch], also uses protobuf, see [Scope]. The package does
// not cache objects or convert between API versions.
package client
