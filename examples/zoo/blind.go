package main

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// blind keeps a directory of all Apps in one ConfigMap. With the bug, it replaces the ConfigMap without a
// resourceVersion. Entries that another reconcile or a user has added since the read are lost.
func blind(ctx context.Context, k kit, a *App) error {
	directory := &corev1.ConfigMap{}
	key := object.Key{Namespace: "kube-public", Name: "directory"}
	err := k.Get(ctx, key, directory, client.LiveRead(k.fixed))
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	missing := apierrors.IsNotFound(err)
	entry, listed := directory.Data[a.Name]
	if !a.DeletionTimestamp.IsZero() && !listed {
		return k.releaseApp(ctx, a)
	}
	if a.DeletionTimestamp.IsZero() {
		if controllerutil.AddFinalizer(a, cleanup) {
			return k.Update(ctx, a)
		}
		if entry == a.Spec.Image {
			return nil
		}
	}
	data := maps.Clone(directory.Data)
	if data == nil {
		data = map[string]string{}
	}
	data[a.Name] = a.Spec.Image
	if !a.DeletionTimestamp.IsZero() {
		delete(data, a.Name)
	}
	if missing {
		return k.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: data,
		})
	}
	if directory.Data = data; !k.fixed {
		directory.ResourceVersion = ""
	}
	if err := k.Update(ctx, directory); err != nil || a.DeletionTimestamp.IsZero() {
		return err
	}
	return k.releaseApp(ctx, a)
}

// directory exists before the operator starts.
const directory = `
apiVersion: v1
kind: ConfigMap
metadata: {name: directory, namespace: kube-public}
data: {}
`
