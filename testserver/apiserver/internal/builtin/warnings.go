package builtin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// cautions are the warnings of one object, in the order of the real server.
type cautions []string

func (c *cautions) warn(format string, arguments ...any) {
	*c = append(*c, fmt.Sprintf(format, arguments...))
}

// address warns of one that not every reader takes for the same, or whose usual form is another.
func (c *cautions) address(at *field.Path, ip string) {
	if ip != "" {
		*c = append(*c, utilvalidation.GetWarningsForIP(at, ip)...)
	}
}

func (c *cautions) network(at *field.Path, cidr string) {
	*c = append(*c, utilvalidation.GetWarningsForCIDR(at, cidr)...)
}

func (c *cautions) wholeStorage(spec *corev1.PersistentVolumeClaimSpec, at *field.Path) {
	c.whole(corev1.ResourceStorage, amounts{"requests", spec.Resources.Requests}, at.Child("resources"))
	c.whole(corev1.ResourceStorage, amounts{"limits", spec.Resources.Limits}, at.Child("resources"))
}

func claimWarnings(claim *corev1.PersistentVolumeClaim) []string {
	var c cautions
	if _, old := claim.Annotations[corev1.BetaStorageClassAnnotation]; old {
		c.warn("%s: deprecated since v1.8; use \"storageClassName\" attribute instead", field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation))
	}
	c.wholeStorage(&claim.Spec, field.NewPath("spec"))
	return c
}

func volumeWarnings(volume *corev1.PersistentVolume) []string {
	var c cautions
	for _, old := range [][2]string{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, there := volume.Annotations[old[0]]; there {
			c.warn("%s: %s", field.NewPath("metadata", "annotations").Key(old[0]), old[1])
		}
	}
	spec, at := &volume.Spec, field.NewPath("spec")
	if spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		c.warn("%s: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.", at.Child("persistentVolumeReclaimPolicy"))
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		for i, term := range spec.NodeAffinity.Required.NodeSelectorTerms {
			c.nodeTerm(term, false, at.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i))
		}
	}
	for _, old := range []struct {
		is            bool
		name, message string
	}{
		{spec.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{spec.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{spec.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{spec.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{spec.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{spec.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if old.is {
			c.warn("%s: %s", at.Child(old.name), old.message)
		}
	}
	return c
}

func storageClassWarnings(class *storagev1.StorageClass) []string {
	var c cautions
	for i, topology := range class.AllowedTopologies {
		for j, expression := range topology.MatchLabelExpressions {
			if message, old := deprecatedNodeLabels[expression.Key]; old {
				c.warn("%s: %s", field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key"), message)
			}
		}
	}
	return c
}

func capacityWarnings(capacity *storagev1.CSIStorageCapacity) []string {
	var c cautions
	selector, at := capacity.NodeTopology, field.NewPath("nodeTopology")
	if selector == nil {
		return nil
	}
	for i, expression := range selector.MatchExpressions {
		if message, old := deprecatedNodeLabels[expression.Key]; old {
			c.warn("%s: %s is %s", at.Child("matchExpressions").Index(i).Child("key"), expression.Key, message)
		}
	}
	for _, name := range sortedMap(selector.MatchLabels) {
		if message, old := deprecatedNodeLabels[name]; old {
			c.warn("%s: %s", at.Child("matchLabels", name), message)
		}
	}
	return c
}

func runtimeClassWarnings(class *nodev1.RuntimeClass) []string {
	var c cautions
	if class.Scheduling != nil {
		for _, name := range sortedMap(class.Scheduling.NodeSelector) {
			if message, old := deprecatedNodeLabels[name]; old {
				c.warn("scheduling.nodeSelector: %s", message)
			}
		}
	}
	return c
}

func nodeWarnings(node *corev1.Node) []string {
	var c cautions
	//lint:ignore SA1019 clients still have them
	if node.Spec.ConfigSource != nil {
		c.warn("spec.configSource: the feature is removed")
	}
	if node.Spec.DoNotUseExternalID != "" {
		c.warn("spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range node.Spec.PodCIDRs {
		c.network(field.NewPath("spec", "podCIDRs").Index(i), cidr)
	}
	return c
}

func endpointsWarnings(e *endpoints) []string {
	var c cautions
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil // which writes addresses in their usual form
	}
	for i, subset := range e.Subsets {
		at := field.NewPath("subsets").Index(i)
		for j, address := range subset.Addresses {
			c.address(at.Child("addresses").Index(j).Child("ip"), address.IP)
		}
		for j, address := range subset.NotReadyAddresses {
			c.address(at.Child("notReadyAddresses").Index(j).Child("ip"), address.IP)
		}
	}
	return c
}

func endpointSliceWarnings(slice *discoveryv1.EndpointSlice) []string {
	var c cautions
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		c.warn("spec.addressType: FQDN endpoints are deprecated")
	}
	return append(c, endpointAddressWarnings(slice, nil)...)
}

func endpointAddressWarnings(slice, _ *discoveryv1.EndpointSlice) []string {
	var c cautions
	switch slice.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return nil
	}
	for i, endpoint := range slice.Endpoints {
		for j, address := range endpoint.Addresses {
			if slice.AddressType != discoveryv1.AddressTypeFQDN {
				c.address(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), address)
			}
		}
	}
	return c
}

func networkPolicyWarnings(policy *networkingv1.NetworkPolicy) []string {
	var c cautions
	blocks := func(peers []networkingv1.NetworkPolicyPeer, at *field.Path) {
		for i, peer := range peers {
			if peer.IPBlock == nil {
				continue
			}
			here := at.Index(i).Child("ipBlock")
			c.network(here.Child("cidr"), peer.IPBlock.CIDR)
			for j, except := range peer.IPBlock.Except {
				c.network(here.Child("except").Index(j), except)
			}
		}
	}
	for i, rule := range policy.Spec.Ingress {
		blocks(rule.From, field.NewPath("spec", "ingress").Index(i).Child("from"))
	}
	for i, rule := range policy.Spec.Egress {
		blocks(rule.To, field.NewPath("spec", "egress").Index(i).Child("to"))
	}
	return c
}

// balancerWarnings are of the addresses of load balancers.
func balancerWarnings[T any](points []T, ip func(T) string) []string {
	var c cautions
	for i, point := range points {
		c.address(field.NewPath("status", "loadBalancer", "ingress").Index(i), ip(point))
	}
	return c
}

func podStatusWarnings(pod *corev1.Pod) []string {
	var c cautions
	for i, ip := range pod.Status.PodIPs {
		c.address(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)
	}
	for i, ip := range pod.Status.HostIPs {
		c.address(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)
	}
	return c
}

// quotaWarnings are of a new quota that lets requests have more than limits.
func quotaWarnings(quota *corev1.ResourceQuota) []string {
	var c cautions
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage} {
		requests, limits := "requests."+name, "limits."+name
		request, requested := quota.Spec.Hard[requests]
		if !requested && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requests = name
			request, requested = quota.Spec.Hard[requests]
		}
		if limit, limited := quota.Spec.Hard[limits]; requested && limited && request.Cmp(limit) > 0 {
			c.warn("ResourceQuota %s (%s) should be less than %s (%s)", requests, request.String(), limits, limit.String())
		}
	}
	return c
}
