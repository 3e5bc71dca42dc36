package fake

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const listSuffix = "List"

func trimList(kind string) string { return strings.TrimSuffix(kind, listSuffix) }

// controller-runtime's fake client has the same rules for built-in kinds. In each map, one string lists the kinds of a
// group.

// unversioned lists the kinds whose updates need no resourceVersion.
var unversioned = map[string]string{
	"": "ConfigMap Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate " +
		"ReplicationController ResourceQuota Secret Service ServiceAccount",
	"apps":                      "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
	"autoscaling":               "HorizontalPodAutoscaler",
	"batch":                     "CronJob Job",
	"rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
}

// created lists the kinds whose updates can create objects.
var created = map[string]string{"": "Event LimitRange Service"}

// withStatus lists the kinds with a status subresource, by group and version.
var withStatus = map[string]string{
	"v1": "Namespace Node PersistentVolume PersistentVolumeClaim Pod ReplicationController Service",

	"apps/v1":                              "DaemonSet Deployment ReplicaSet StatefulSet",
	"autoscaling/v1":                       "HorizontalPodAutoscaler",
	"batch/v1":                             "CronJob Job",
	"policy/v1":                            "PodDisruptionBudget",
	"networking.k8s.io/v1":                 "Ingress NetworkPolicy",
	"storage.k8s.io/v1":                    "VolumeAttachment",
	"certificates.k8s.io/v1":               "CertificateSigningRequest",
	"apiextensions.k8s.io/v1":              "CustomResourceDefinition",
	"flowcontrol.apiserver.k8s.io/v1":      "FlowSchema PriorityLevelConfiguration",
	"flowcontrol.apiserver.k8s.io/v1beta2": "FlowSchema PriorityLevelConfiguration",
}

// scaled lists the kinds with a scale subresource, by group and version.
var scaled = map[string]string{"v1": "ReplicationController", "apps/v1": "Deployment ReplicaSet StatefulSet"}

func unchecked(kind schema.GroupVersionKind) bool { return lists(unversioned[kind.Group], kind) }

func updateCreates(kind schema.GroupVersionKind) bool { return lists(created[kind.Group], kind) }

func hasScale(kind schema.GroupVersionKind) bool {
	return lists(scaled[kind.GroupVersion().String()], kind)
}

func lists(kinds string, kind schema.GroupVersionKind) bool {
	return slices.Contains(strings.Fields(kinds), kind.Kind)
}

// builtinStatuses returns the built-in kinds with a status subresource.
func builtinStatuses() map[schema.GroupVersionKind]bool {
	found := map[schema.GroupVersionKind]bool{}
	for version, kinds := range withStatus {
		for _, kind := range strings.Fields(kinds) {
			found[schema.FromAPIVersionAndKind(version, kind)] = true
		}
	}
	return found
}
