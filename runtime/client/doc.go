// Package client reads and writes Kubernetes objects through the API server's REST interface.
//
// [REST] is the live client: each call is one request. [Client], [Reader] and [Writer] are what reconcilers and helpers
// should ask for; [NewClient] joins a cached Reader with a live client. [ListWatcher] lists and watches one resource
// for informers, and [Mapper] learns from the server's discovery which resource serves a kind. [Intercept] puts functions
// in front of a client; [WithFieldOwner], [WithFieldValidation], [NewDryRunClient] and [NewNamespacedClient] are such.
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
//   - Errors that the API server sent are *apierrors.StatusError, so apierrors.IsNotFound and its siblings work.
//     Errors of the network wrap their cause and say verb, resource and name: "get guestbooks default/x: ...".
//   - A call changes the object it was given only when it succeeds, and leaves nothing of its former content then.
//   - A kind that is namespaced is never asked for without a namespace: that is an error before any request. The namespace
//     that the key or the object of a cluster-scoped kind has is dropped.
//   - What the server answers is what was asked for: the kind, its version, the format. Any other answer is a [*DecodeError],
//     and a Status of a failure is that failure, whatever the code of the answer. Objects carry their apiVersion and kind.
//   - An object that a cache holds in parts is not written back as a whole: that is a [*MaskedError].
//   - A request that the server turned away with 429 and a Retry-After is sent again, a bounded number of times, while
//     the context lasts.
//
// # Concurrency
//
// All types are safe for concurrent use except a [Stream], which one goroutine reads. Nothing here starts a goroutine,
// throttles on the client's side, or keeps package-level state.
//
// A [REST] speaks JSON; a [ListWatcher], and with it [REST.Watch], speaks protobuf too, see [Scope]. Nothing here
// caches objects, or converts between API versions.
package client
