// Package objects has functions that reconcilers of another package call.
package objects

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
)

func Remove(ctx context.Context, c crclient.Client, pod *corev1.Pod) {
	c.Delete(ctx, pod)
}
