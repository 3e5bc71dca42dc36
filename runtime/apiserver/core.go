package apiserver

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

var (
	coreV1        = corev1.SchemeGroupVersion
	namespaceKind = coreV1.WithKind("Namespace")
)

// coreKinds are the kinds of the core group.
func coreKinds() []kind {
	return []kind{
		bindings(), configMaps(), endpointsKind(), limitRanges(), namespaces(), nodes(), volumeClaims(), volumes(), pods(), podTemplates(), replicationControllers(), resourceQuotas(), secrets(), serviceAccounts(), services(),
	}
}

// coreDefaults are the defaults of the core group, but for those of pods.
func coreDefaults() []defaulter {
	return []defaulter{
		defaultsOf(func(configMap *corev1.ConfigMap) {
			if configMap.Data == nil {
				configMap.Data = map[string]string{}
			}
		}),
		defaultsOf(func(controller *corev1.ReplicationController) {
			if template := controller.Spec.Template; template != nil && template.Labels != nil {
				if len(controller.Spec.Selector) == 0 {
					controller.Spec.Selector = template.Labels
				}
				if len(controller.Labels) == 0 {
					controller.Labels = template.Labels
				}
			}
			setPointer(&controller.Spec.Replicas, 1)
		}),
		defaultsOf(func(volume *corev1.PersistentVolume) {
			set(&volume.Status.Phase, corev1.VolumePending)
			set(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
			setPointer(&volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}),
		defaultsOf(func(claim *corev1.PersistentVolumeClaim) { set(&claim.Status.Phase, corev1.ClaimPending) }),
		defaultsOf(func(spec *corev1.PersistentVolumeClaimSpec) {
			setPointer(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		}),
		defaultsOf(func(port *corev1.EndpointPort) { set(&port.Protocol, corev1.ProtocolTCP) }),
		defaultsOf(func(spec *corev1.NodeSpec) { // the first address range stands in two fields
			switch {
			case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
				spec.PodCIDRs = []string{spec.PodCIDR}
			case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
				spec.PodCIDR = spec.PodCIDRs[0]
			}
		}),
		defaultsOf(func(status *corev1.NodeStatus) {
			if status.Allocatable == nil {
				status.Allocatable = status.Capacity
			}
		}),
		defaultsOf(func(limit *corev1.LimitRangeItem) {
			if limit.Type != corev1.LimitTypeContainer {
				return
			}
			for _, lists := range [][2]*corev1.ResourceList{{&limit.Default, &limit.Max}, {&limit.DefaultRequest, &limit.Default}, {&limit.DefaultRequest, &limit.Min}} {
				if *lists[0] == nil {
					*lists[0] = corev1.ResourceList{}
				}
				for name, quantity := range *lists[1] {
					if _, ok := (*lists[0])[name]; !ok {
						(*lists[0])[name] = quantity.DeepCopy()
					}
				}
			}
		}),
		defaultsOf(func(namespace *corev1.Namespace) {
			if namespace.Name != "" {
				labelNamespace(namespace)
			}
		}),
		defaultsOf(func(status *corev1.NamespaceStatus) { set(&status.Phase, corev1.NamespaceActive) }),
		defaultsOf(func(secret *corev1.Secret) {
			set(&secret.Type, corev1.SecretTypeOpaque)
			if len(secret.StringData) > 0 && secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			for key, value := range secret.StringData {
				secret.Data[key] = []byte(value)
			}
			secret.StringData = nil
		}),
	}
}

func unavailable(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	err := apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", info.Name))
	responsewriters.ErrorNegotiated(err, metaCodecs, coreV1, w, r)
}
