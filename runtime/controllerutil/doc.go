// Package controllerutil has helpers for reconcilers: owner references, finalizers, conditions, and writes that are
// skipped if they change nothing.
//
//	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}}
//	_, err := controllerutil.CreateOrPatch(ctx, r.Client, deployment, func() error {
//		deployment.Spec.Replicas = g.Spec.Replicas
//		return controllerutil.SetControllerReference(g, deployment, r.Scheme())
//	})
//
// Prefer [ApplyIfDifferent] if the reconciler knows the complete desired state. It owns its fields, so it conflicts
// neither with defaults of the server nor with fields of other owners.
//
// Functions without a client change objects only in memory. Only an [Applier] has state. All functions are safe for
// concurrent use, with each object in one goroutine at a time.
package controllerutil
