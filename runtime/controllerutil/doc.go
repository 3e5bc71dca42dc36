// Package controllerutil provides helpers for reconcilers: functions for owner references, finalizers and conditions,
// and writes that send a request only if it would change the object.
//
//	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}}
//	_, err := controllerutil.CreateOrPatch(ctx, r.Client, deployment, func() error {
//		deployment.Spec.Replicas = g.Spec.Replicas
//		return controllerutil.SetControllerReference(g, deployment, r.Scheme())
//	})
//
// Prefer [ApplyIfDifferent] if the reconciler knows the complete desired state. It sends and owns only the fields that
// the reconciler sets, so it conflicts neither with defaults of the server nor with fields of other owners.
//
// Functions without a client argument change objects only in memory. Only an [Applier] has state. All functions are
// safe for concurrent use, but only one goroutine may use an object at a time.
package controllerutil
