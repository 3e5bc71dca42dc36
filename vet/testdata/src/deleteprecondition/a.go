package deleteprecondition

import (
	"context"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func failed(ctx context.Context, c client.Client, key client.ObjectKey) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod); err != nil {
		return err
	}
	if pod.Status.Phase == "Failed" {
		return c.Delete(ctx, pod) // want `deleteprecondition: this Delete depends on Status.Phase of the cached object`
	}
	return nil
}

// A field that the code sets after the Delete does not decide about it.
func disabled(ctx context.Context, c client.Client, key client.ObjectKey, enabled bool) error {
	pod := &corev1.Pod{}
	err := c.Get(ctx, key, pod)
	if err == nil && !enabled {
		return c.Delete(ctx, pod)
	}
	pod.Spec.NodeName = pod.Status.Phase
	return c.Update(ctx, pod)
}

func created(ctx context.Context, c client.Client, key client.ObjectKey, pod *corev1.Pod) error {
	if err := c.Get(ctx, key, pod); err == nil {
		return nil
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" { // the field of the answer
		return c.Delete(ctx, pod)
	}
	return nil
}

func elements(ctx context.Context, c kclient.Client) error {
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods); err != nil {
		return err
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == "" {
			if err := c.Delete(ctx, &pods.Items[i]); err != nil { // want `this Delete depends on Spec.NodeName of the cached object`
				return err
			}
		}
	}
	return nil
}

func copies(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if pod.Labels["old"] != "" {
			if err := c.Delete(ctx, &pod); err != nil { // want `this Delete depends on Labels of the cached object`
				return err
			}
		}
	}
	return nil
}

func ownerDecides(ctx context.Context, c client.Client, key client.ObjectKey, owner metav1.Object) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod); err != nil {
		return err
	}
	if !metav1.IsControlledBy(pod, owner) {
		return nil
	}
	return c.Delete(ctx, pod) // want `this Delete depends on the owner of the cached object`
}

func always(ctx context.Context, c client.Client, key client.ObjectKey) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	if pod.DeletionTimestamp != nil {
		return nil
	}
	return c.Delete(ctx, pod)
}

func precise(ctx context.Context, c client.Client, key client.ObjectKey) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod); err != nil {
		return err
	}
	if pod.Status.Phase == "Failed" {
		return c.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	}
	return nil
}

func live(ctx context.Context, c kclient.Client, key kclient.ObjectKey) error {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod, kclient.Live); err != nil {
		return err
	}
	if pod.Status.Phase == "Failed" {
		return c.Delete(ctx, pod)
	}
	return nil
}
