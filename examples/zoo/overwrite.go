package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// overwrite writes the settings of an App into the ConfigMap whose name the App specifies. With the bug, it also
// overwrites a ConfigMap of this name that belongs to another owner.
func overwrite(ctx context.Context, k kit, a *App) error {
	is := &corev1.ConfigMap{}
	err := k.Get(ctx, object.Key{Namespace: a.Namespace, Name: a.Spec.Target}, is)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if k.fixed && err == nil && !metav1.IsControlledBy(is, a) {
		return k.writeStatus(ctx, a, func(s *AppStatus) { s.Phase = "NameIsTaken" })
	}
	if err == nil && !k.fixed {
		is = is.DeepCopy()
		is.Data = a.Spec.Settings
		return k.Update(ctx, is)
	}
	return k.ensureConfig(ctx, a, a.Spec.Target, a.Spec.Settings)
}

// taken is a ConfigMap of another owner.
const taken = `
apiVersion: v1
kind: ConfigMap
metadata: {name: taken, namespace: default}
data: {important: "yes"}
`
