package main

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// setupPermission starts an operator that writes the replicas of an App into a ConfigMap. Its role allows it to create
// and update ConfigMaps, but not to delete them. With the bug, it deletes the ConfigMap of an App with many replicas.
// Its tests do not cover this case.
func setupPermission(m controller.Manager, fixed bool) error {
	return livingApps(func(ctx context.Context, k kit, a *App) error {
		if k.fixed || a.Spec.Replicas < 3 {
			return k.ensureConfig(ctx, a, a.Name, map[string]string{"replicas": strconv.Itoa(a.Spec.Replicas)})
		}
		config := &corev1.ConfigMap{}
		config.Namespace, config.Name = a.Namespace, a.Name
		return k.Delete(ctx, config)
	}, &corev1.ConfigMap{})(m, fixed)
}

const (
	permissionUser = "system:serviceaccount:default:zoo"
	permissionRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: zoo}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update]}
- {apiGroups: [zoo.example.com], resources: [apps], verbs: [get, list, watch, update]}
- {apiGroups: [zoo.example.com], resources: [apps/status], verbs: [update]}
- {apiGroups: [zoo.example.com], resources: [apps/finalizers], verbs: [update]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
`
	permissionBinding = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: zoo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: zoo}
subjects:
- {kind: ServiceAccount, name: zoo, namespace: default}
`
)
