package maskedupdate

import (
	"context"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type partial struct {
	*metav1.PartialObjectMetadata
}

func (partial) DeepCopyObject() runtime.Object { return nil }

func partialUpdate(ctx context.Context, c client.Client, key client.ObjectKey) error {
	meta := &metav1.PartialObjectMetadata{}
	if err := c.Get(ctx, key, partial{meta}); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta}
	pod.Labels = nil
	return c.Update(ctx, pod) // want `maskedupdate: Update sends an object that has only the metadata of a PartialObjectMetadata`
}

func ownUpdate(ctx context.Context, c kclient.Client, meta *metav1.PartialObjectMetadata) error {
	pod := &corev1.Pod{}
	pod.ObjectMeta = meta.ObjectMeta
	return c.Update(ctx, pod) // want `Update sends an object that has only the metadata`
}

func readWhole(ctx context.Context, c client.Client, key client.ObjectKey, meta *metav1.PartialObjectMetadata) error {
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta}
	if err := c.Get(ctx, key, pod); err != nil {
		return err
	}
	return c.Update(ctx, pod)
}
