package builtin

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// statusList are the statuses of the containers of one sort.
type statusList struct {
	at         *field.Path
	now, was   []corev1.ContainerStatus
	containers []corev1.Container // nil for ephemeral ones
}

// validatePodStatus checks a status that a kubelet or a scheduler writes.
func validatePodStatus(pod, old *corev1.Pod) field.ErrorList {
	at, is, was := field.NewPath("status"), &pod.Status, &old.Status
	f := Findings{ValidateMetadataUpdate(pod, old)}
	f.annotationsChanged(pod, old)
	f.podConditions(is.Conditions, at.Child("conditions"))
	if name := is.NominatedNodeName; name != was.NominatedNodeName && name != "" {
		f.subdomain(at.Child("nominatedNodeName"), name)
		if old.Spec.NodeName != "" {
			f.forbidden(at.Child("nominatedNodeName"), "may not be set on pods that are already bound to a node")
		}
	}
	if is.ObservedGeneration < 0 {
		f.invalid(at.Child("observedGeneration"), is.ObservedGeneration, "must be a non-negative integer")
	}
	f.immutable(at.Child("qosClass"), is.QOSClass, was.QOSClass)
	lists := []statusList{
		{at.Child("containerStatuses"), is.ContainerStatuses, was.ContainerStatuses, pod.Spec.Containers},
		{at.Child("initContainerStatuses"), is.InitContainerStatuses, was.InitContainerStatuses, pod.Spec.InitContainers},
		{at.Child("ephemeralContainerStatuses"), is.EphemeralContainerStatuses, was.EphemeralContainerStatuses, nil},
	}
	for _, list := range lists {
		f.ended(list, &old.Spec)
	}
	f.claimStatuses(is.ResourceClaimStatuses, pod.Spec.ResourceClaims, at.Child("resourceClaimStatuses"))
	f.extendedClaims(is.ExtendedResourceClaimStatus, &pod.Spec, at.Child("extendedResourceClaimStatus"))
	f.podAddresses(pod, old, at)
	for _, list := range lists {
		f.users(list, pod.Spec.OS)
	}
	for _, list := range lists {
		f.allocated(list, is.ExtendedResourceClaimStatus)
	}
	return f.List
}

func (f *Findings) podConditions(conditions []corev1.PodCondition, at *field.Path) {
	for i, condition := range conditions {
		here := at.Index(i)
		if condition.ObservedGeneration < 0 {
			f.invalid(here.Child("observedGeneration"), condition.ObservedGeneration, "must be a non-negative integer")
		}
		if condition.Type != corev1.PodScheduled && condition.Type != corev1.PodReady && condition.Type != corev1.PodInitialized {
			f.qualified(here.Child("Type"), string(condition.Type))
		}
	}
}

// ended checks that containers that have ended and may not start again have not.
func (f *Findings) ended(list statusList, spec *corev1.PodSpec) {
	restartsAll := false
	EachContainer(spec, nil, func(container *corev1.Container, _ *field.Path) {
		restartsAll = restartsAll || slices.ContainsFunc(container.RestartPolicyRules, func(rule corev1.ContainerRestartRule) bool {
			return rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		})
	})
	if restartsAll && list.containers != nil {
		return
	}
	for i, before := range list.was {
		if before.State.Terminated == nil || mayRestart(list.containers, spec.RestartPolicy, before) {
			continue
		}
		for _, status := range list.now {
			if status.Name == before.Name && status.State.Terminated == nil {
				f.forbidden(list.at.Index(i).Child("state"), "may not be transitioned to non-terminated state")
			}
		}
	}
}

// mayRestart reports whether a container that has ended may start again: by its rules, its policy, or that of the pod.
func mayRestart(containers []corev1.Container, policy corev1.RestartPolicy, status corev1.ContainerStatus) bool {
	at := slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == status.Name })
	if at < 0 {
		return false
	}
	code := status.State.Terminated.ExitCode
	if container := containers[at]; container.RestartPolicy != nil {
		for _, rule := range container.RestartPolicyRules {
			codes := rule.ExitCodes
			if codes == nil || codes.Operator != corev1.ContainerRestartRuleOnExitCodesOpIn && codes.Operator != corev1.ContainerRestartRuleOnExitCodesOpNotIn {
				continue
			}
			if slices.Contains(codes.Values, code) == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
				if rule.Action == corev1.ContainerRestartRuleActionRestart {
					return true
				}
				break
			}
		}
		policy = corev1.RestartPolicy(*container.RestartPolicy)
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

func (f *Findings) claimStatuses(statuses []corev1.PodResourceClaimStatus, claims []corev1.PodResourceClaim, at *field.Path) {
	known := sets.New[string]()
	for i, status := range statuses {
		here := at.Index(i)
		if !slices.ContainsFunc(claims, func(claim corev1.PodResourceClaim) bool { return claim.Name == status.Name }) {
			f.invalid(here.Child("name"), status.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
		if known.Has(status.Name) {
			f.Add(field.Duplicate(here.Child("name"), status.Name))
		}
		known.Insert(status.Name)
		if name := status.ResourceClaimName; name != nil {
			f.subdomain(here.Child("resourceClaimName"), *name)
		}
	}
}

// extendedClaims checks what claim a pod has got for resources that drivers name.
func (f *Findings) extendedClaims(status *corev1.PodExtendedResourceClaimStatus, spec *corev1.PodSpec, at *field.Path) {
	if status == nil {
		return
	}
	if len(status.RequestMappings) == 0 {
		f.Required(at.Child("requestMappings"), "at least one request mapping is required")
	}
	known := sets.New[corev1.ContainerExtendedResourceRequest]()
	containers := slices.Concat(spec.Containers, spec.InitContainers)
	for i, mapping := range status.RequestMappings {
		here := at.Child("requestMappings").Index(i)
		of := slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == mapping.ContainerName })
		if of < 0 {
			f.invalid(here.Child("containerName"), mapping.ContainerName, "must match the name of an entry in spec.initContainers.name or spec.containers.name")
		} else if _, ok := containers[of].Resources.Requests[corev1.ResourceName(mapping.ResourceName)]; !ok {
			f.invalid(here.Child("resourceName"), mapping.ResourceName, "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests")
		}
		f.label(at.Child("requestName"), mapping.RequestName)
		if known.Has(mapping) {
			f.Add(field.Duplicate(here.Child("containerName"), mapping.ContainerName), field.Duplicate(here.Child("resourceName"), mapping.ResourceName), field.Duplicate(here.Child("requestName"), mapping.RequestName))
		}
		known.Insert(mapping)
	}
	if status.ResourceClaimName == "" {
		f.Required(at.Child("resourceClaimName"), "")
	} else {
		f.subdomain(at.Child("resourceClaimName"), status.ResourceClaimName)
	}
}

func (f *Findings) podAddresses(pod, old *corev1.Pod, at *field.Path) {
	known := addressesOf(old.Status.PodIPs)
	for i, ip := range pod.Status.PodIPs {
		f.ip(at.Child("podIPs").Index(i), ip.IP, known...)
	}
	f.oneOfEach(at.Child("podIPs"), addressesOf(pod.Status.PodIPs))
	if len(pod.Status.HostIPs) > 0 && pod.Status.HostIP != pod.Status.HostIPs[0].IP {
		f.invalid(at.Child("hostIPs").Index(0).Child("ip"), pod.Status.HostIPs[0].IP, "must be equal to `hostIP`")
	}
	known = addressesOf(old.Status.HostIPs)
	for i, ip := range pod.Status.HostIPs {
		f.ip(at.Child("hostIPs").Index(i), ip.IP, known...)
	}
	f.oneOfEach(at.Child("hostIPs"), addressesOf(pod.Status.HostIPs))
}

func addressesOf[T corev1.PodIP | corev1.HostIP](ips []T) (addresses []string) {
	for _, ip := range ips {
		addresses = append(addresses, corev1.PodIP(ip).IP)
	}
	return addresses
}

// oneOfEach checks that there is at most one address of each family.
func (f *Findings) oneOfEach(at *field.Path, ips []string) {
	if len(ips) < 2 {
		return
	}
	v4, v6 := false, false
	for i, ip := range ips {
		if len(utilvalidation.IsValidIPForLegacyField(at, ip, false, nil)) > 0 {
			f.Add(field.InternalError(at, fmt.Errorf("failed to check for dual stack with error:invalid IP[%d]: %v", i, ip)))
			v4, v6 = false, false
			break
		}
		v4, v6 = v4 || !isIPv6(ip), v6 || isIPv6(ip)
	}
	if !v4 || !v6 || len(ips) > 2 {
		type shown struct{ IP string }
		var value []shown
		for _, ip := range ips {
			value = append(value, shown{ip})
		}
		f.invalid(at, value, "may specify no more than one IP for each IP family")
	}
}

// users checks as whom containers run, which is told by their runtime.
func (f *Findings) users(list statusList, system *corev1.PodOS) {
	windows := system != nil && system.Name == corev1.Windows
	for i, status := range list.now {
		if status.User == nil || status.User.Linux == nil || system != nil && !windows && system.Name != corev1.Linux {
			continue
		}
		at, user := list.at.Index(i).Child("user", "linux"), status.User.Linux
		if windows {
			f.forbidden(at, "cannot be set for a windows pod")
			continue
		}
		if user.UID < 0 || user.UID > math.MaxUint32 {
			f.invalid(at.Child("uid"), user.UID, fmt.Sprintf("must be between 0 and %d, inclusive", int64(math.MaxUint32)))
		}
		f.invalid(at.Child("gid"), user.GID, utilvalidation.IsValidGroupID(user.GID)...)
		for j, group := range user.SupplementalGroups {
			f.invalid(at.Child("supplementalGroups").Index(j), group, utilvalidation.IsValidGroupID(group)...)
		}
	}
}

// claimed is what the name of a resource begins with that is one of a claim.
const claimed = "claim:"

// allocated checks the health of the resources that containers have got.
func (f *Findings) allocated(list statusList, extended *corev1.PodExtendedResourceClaimStatus) {
	const most = corev1.ResourceHealthMessageMaxLength
	for i, status := range list.now {
		at := list.at.Index(i).Child("allocatedResourcesStatus")
		if list.at.String() == "status.ephemeralContainerStatuses" {
			if len(status.AllocatedResourcesStatus) > 0 {
				f.forbidden(at, "must not be specified in container status")
			}
			continue
		}
		for j, resource := range status.AllocatedResourcesStatus {
			f.asked(resource.Name, status.Name, list.containers, extended, at.Index(j).Child("name"))
			known := sets.New[corev1.ResourceID]()
			for k, one := range resource.Resources {
				here := at.Index(j).Child("resources").Index(k)
				oneOf(f, here.Child("health"), one.Health, corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)
				if message := one.Message; message != nil && *message == "" {
					f.Required(here.Child("message"), "must be non-empty if specified")
				} else if message != nil && len(*message) > most {
					f.Add(field.TooLong(here.Child("message"), *message, most))
				}
				if known.Has(one.ResourceID) {
					f.Add(field.Duplicate(here.Child("resourceID"), one.ResourceID))
				}
				known.Insert(one.ResourceID)
			}
		}
	}
}

// asked checks that a container has asked for a resource, if it is there.
func (f *Findings) asked(name corev1.ResourceName, of string, containers []corev1.Container, extended *corev1.PodExtendedResourceClaimStatus, at *field.Path) {
	found := slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == of })
	if found < 0 {
		return
	}
	resources := containers[found].Resources
	claim, ok := strings.CutPrefix(string(name), claimed)
	if !ok {
		if _, ok := resources.Requests[name]; !ok {
			f.invalid(at, name, "must match one of the container's resource requests")
		}
		return
	}
	for _, one := range resources.Claims {
		if claim == strings.TrimSuffix(one.Name+"/"+one.Request, "/") {
			return
		}
	}
	claim, request, _ := strings.Cut(claim, "/")
	if extended == nil || request == "" || claim != extended.ResourceClaimName || !slices.ContainsFunc(extended.RequestMappings, func(mapping corev1.ContainerExtendedResourceRequest) bool {
		quantity := resources.Requests[corev1.ResourceName(mapping.ResourceName)]
		return mapping.ContainerName == of && mapping.RequestName == request && !quantity.IsZero()
	}) {
		f.invalid(at, name, "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty")
	}
}
