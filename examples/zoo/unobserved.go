package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// unobserved starts pods, each with a volume. When the replicas of an App decrease, it also deletes the volumes of the
// deleted pods. With the bug, it finds these volumes through pods that are being deleted, a state that it may never
// observe.
func unobserved(ctx context.Context, k kit, a *App) error {
	pods, volumes := &corev1.PodList{}, &corev1.ConfigMapList{}
	mine := []client.ListOption{client.InNamespace(a.Namespace), client.MatchingLabels{"app": a.Name}}
	if err := k.List(ctx, pods, mine...); err != nil {
		return err
	}
	if err := k.List(ctx, volumes, mine...); err != nil {
		return err
	}
	surplus := func(name string) bool {
		var number int
		n, _ := fmt.Sscanf(name, a.Name+"-%d", &number)
		return n == 1 && number >= a.Spec.Replicas
	}
	for i := range volumes.Items {
		if k.fixed && surplus(volumes.Items[i].Name) {
			if err := k.remove(ctx, &volumes.Items[i]); err != nil {
				return err
			}
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !k.fixed && !pod.DeletionTimestamp.IsZero() && surplus(pod.Name) {
			volume := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
			if err := client.IgnoreNotFound(k.Delete(ctx, volume)); err != nil {
				return err
			}
		}
	}
	if err := k.deleteSurplus(ctx, a, pods.Items); err != nil {
		return err
	}
	for i := range a.Spec.Replicas {
		name := fmt.Sprintf("%s-%d", a.Name, i)
		if err := k.ensureVolume(ctx, a, name); err != nil {
			return err
		}
		if err := k.createPod(ctx, a, name, ""); err != nil {
			return err
		}
	}
	return nil
}

// ensureVolume creates a ConfigMap that simulates a volume.
func (k kit) ensureVolume(ctx context.Context, a *App, name string) error {
	volume := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name}}
	_, err := controllerutil.CreateOrUpdate(ctx, k.Client, volume, func() error {
		volume.Labels = map[string]string{"app": a.Name}
		return controllerutil.SetControllerReference(a, volume, k.Scheme())
	})
	return err
}

// remove deletes an object with its UID and version as preconditions.
func (k kit) remove(ctx context.Context, o object.Object) error {
	return client.IgnoreNotFound(controllerutil.DeleteWithUID(ctx, k.Client, o))
}
