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

// recount starts the pods that an App requires. With the bug, it counts the pods in a cache, which may not yet have the
// pods that it has just created, and creates more pods. The fixed operator numbers its pods, so that the API server
// rejects duplicates.
func recount(ctx context.Context, k kit, a *App) error {
	pods := &corev1.PodList{}
	if err := k.List(ctx, pods, client.InNamespace(a.Namespace), client.MatchingLabels{"app": a.Name}); err != nil {
		return err
	}
	if k.fixed {
		for i := range a.Spec.Replicas {
			if err := k.createPod(ctx, a, fmt.Sprintf("%s-%d", a.Name, i), ""); err != nil {
				return err
			}
		}
		return k.deleteSurplus(ctx, a, pods.Items)
	}
	for range a.Spec.Replicas - len(pods.Items) {
		if err := k.createPod(ctx, a, "", a.Name+"-"); err != nil {
			return err
		}
	}
	for len(pods.Items) > a.Spec.Replicas {
		if err := client.IgnoreNotFound(k.Delete(ctx, &pods.Items[0])); err != nil {
			return err
		}
		pods.Items = pods.Items[1:]
	}
	return nil
}

// createPod creates a pod, unless a pod with the name exists.
func (k kit) createPod(ctx context.Context, a *App, name, generateName string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.Namespace, Name: name, GenerateName: generateName, Labels: map[string]string{"app": a.Name},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1"}}},
	}
	if err := controllerutil.SetControllerReference(a, pod, k.Scheme()); err != nil {
		return err
	}
	if name != "" && k.Get(ctx, object.KeyOf(pod), &corev1.Pod{}) == nil {
		return nil
	}
	return client.IgnoreAlreadyExists(k.Create(ctx, pod))
}

// deleteSurplus deletes the pods whose numbers are too high.
func (k kit) deleteSurplus(ctx context.Context, a *App, pods []corev1.Pod) error {
	for i := range pods {
		var number int
		if n, _ := fmt.Sscanf(pods[i].Name, a.Name+"-%d", &number); n != 1 || number < a.Spec.Replicas {
			continue
		}
		if err := client.IgnoreNotFound(controllerutil.DeleteWithUID(ctx, k.Client, &pods[i])); err != nil {
			return err
		}
	}
	return nil
}
