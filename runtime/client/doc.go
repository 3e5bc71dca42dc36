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
//   - A kind that is namespaced is never asked for without a namespace, nor a cluster-scoped one with it: that is an
//     error before any request.
//   - A request that the server turned away with 429 and a Retry-After is sent again, a bounded number of times, while
//     the context lasts.
//
// # Concurrency
//
// All types are safe for concurrent use except a [Stream], which one goroutine reads. Nothing here starts a goroutine,
// throttles on the client's side, or keeps package-level state.
//
// The client speaks JSON only. It does not cache objects, and it does not convert between API versions.
package client
