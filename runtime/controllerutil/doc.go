// Package controllerutil has what nearly every reconciler does: owner references, finalizers, conditions, and writes that
// are left out when they would change nothing.
//
//	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}}
//	_, err := controllerutil.CreateOrPatch(ctx, r.Client, deployment, func() error {
//		deployment.Spec.Replicas = g.Spec.Replicas
//		return controllerutil.SetControllerReference(g, deployment, r.Scheme())
//	})
//
// [ApplyIfDifferent] is the better way when the whole of what is wanted is known: it owns its fields, so that it neither
// fights the defaults of the server nor the fields of others.
//
// Functions that change an object change it in memory only, unless they take a client. Nothing here but an [Applier] keeps
// state, and all is safe for concurrent use, each object by one goroutine at a time.
package controllerutil
