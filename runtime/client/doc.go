// Package client reads and writes Kubernetes objects through the API server's REST interface.
//
// [REST] is the live client: each call is one request. Reconcilers and helpers should accept [Client], [Reader] or
// [Writer]; [NewClient] joins a cached Reader with a live client. [ListWatcher] lists and watches one resource for
// informers, and [Mapper] maps kinds to resources with the server's discovery documents. [Intercept] wraps the methods
// of a client; [WithFieldOwner], [WithFieldValidation], [NewDryRunClient] and [NewNamespacedClient] are built on it.
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
//   - Errors from the API server are *apierrors.StatusError, so apierrors.IsNotFound and similar functions work.
//     Network errors wrap their cause and include verb, resource and name: "get guestbooks default/x: ...".
//   - A call changes the object passed to it only if it succeeds, and then replaces the whole content.
//   - A call for a namespaced kind fails before any request if the key or object has no namespace. For a cluster-scoped
//     kind, the namespace in the key or object is ignored.
//   - The server's answer matches the request in kind, version and format; for any other answer, the call returns a
//     [*DecodeError]. An answer that is a Status with status Failure is returned as an error, whatever the HTTP code.
//     Returned objects have apiVersion and kind set.
//   - An object that was read from a cache with only some of its fields cannot be written as a whole: the write fails
//     with a [*MaskedError], because it would remove the other fields.
//   - If the server rejects a request with 429 and Retry-After, the client retries it a limited number of times, until
//     the context ends.
//
// # Concurrency
//
// All types are safe for concurrent use, except that only one goroutine may read a [Stream]. The package starts no
// goroutines, does not throttle requests, and keeps no state of a connection in package variables.
//
// A [REST] encodes objects as JSON. A [ListWatcher], and therefore [REST.Watch], also accepts protobuf, see [Scope].
// The package does not cache objects or convert between API versions.
package client
