package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// elsewhere deletes the settings that an App no longer has. With the bug, it lists them in all namespaces, and so
// deletes objects of other teams with the same labels.
func elsewhere(ctx context.Context, k kit, a *App) error {
	if err := k.ensureConfig(ctx, a, a.Name+"-"+a.Spec.Target, a.Spec.Settings); err != nil {
		return err
	}
	all := &corev1.ConfigMapList{}
	var options []client.ListOption
	if k.fixed {
		options = append(options, client.InNamespace(a.Namespace))
	}
	if err := k.List(ctx, all, options...); err != nil {
		return err
	}
	for i := range all.Items {
		other := &all.Items[i]
		mine := metav1.IsControlledBy(other, a)
		if !k.fixed {
			mine = mine || equality.Semantic.DeepEqual(other.Labels, map[string]string{"app": a.Name})
		}
		if mine && other.Name != a.Name+"-"+a.Spec.Target {
			if err := k.remove(ctx, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// theirs is an object of another team.
const theirs = `
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: kube-public, labels: {app: a}}
`
