package cachemutation

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func view(ctx context.Context, c *cache.Cache, key kclient.ObjectKey) error {
	pod, err := cache.View(ctx, c, key, &corev1.Pod{})
	if err != nil {
		return err
	}
	controllerutil.AddFinalizer(pod, "example.com/x") // want `AddFinalizer changes an object of the cache`
	return nil
}

func unsafeList(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].Spec.NodeName = "n1" // the list has copies of the structs
		pods.Items[i].Labels["a"] = "b"    // want `this changes Labels`
	}
	return nil
}

func ownUnsafeGet(ctx context.Context, c kclient.Client, key kclient.ObjectKey) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod, kclient.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	pod.Annotations["a"] = "b" // want `this changes Annotations`
	return nil
}

func safeList(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].Labels["a"] = "b"
	}
	return nil
}

var mapped = handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
	obj.SetLabels(nil) // want `SetLabels changes an object of the cache`
	return nil
})

var filter = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	pod := e.ObjectNew.(*corev1.Pod)
	pod.Status.Phase = "" // want `this changes Status.Phase`
	return true
}}

var copies = handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
	pod := obj.(*corev1.Pod).DeepCopy()
	pod.Labels["a"] = "b"
	return nil
})
