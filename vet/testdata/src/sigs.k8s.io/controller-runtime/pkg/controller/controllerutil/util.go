// Package controllerutil is a stub.
package controllerutil

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func AddFinalizer(o client.Object, finalizer string) bool { return true }

func RemoveFinalizer(o client.Object, finalizer string) bool { return true }

func ContainsFinalizer(o client.Object, finalizer string) bool { return true }

func SetControllerReference(owner, controlled metav1.Object, scheme *runtime.Scheme) error {
	return nil
}

func CreateOrUpdate(ctx context.Context, c client.Client, obj client.Object, mutate func() error) (string, error) {
	return "", mutate()
}
