package builtin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/helper/qos"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

func podSpec(p *core.Pod) any { return p.Spec }

// podOptions returns how strictly to validate a pod. Invalid values that the old pod already has are allowed.
func podOptions(p, old *core.Pod) corevalidation.PodValidationOptions {
	var spec *core.PodSpec
	var metadata *metav1.ObjectMeta
	if old != nil {
		spec, metadata = &old.Spec, &old.ObjectMeta
	}
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&p.Spec, spec, &p.ObjectMeta, metadata)
	options.ResourceIsPod = true
	return options
}

// checkedPod adapts a validation of pod updates.
func checkedPod(check func(p, old *core.Pod, options corevalidation.PodValidationOptions) field.ErrorList) func(
	_ context.Context, p, old *core.Pod,
) field.ErrorList {
	return func(_ context.Context, p, old *core.Pod) field.ErrorList { return check(p, old, podOptions(p, old)) }
}

func podRules() Rules {
	return Own[*core.Pod]{
		Reset: []string{"status"}, Spec: podSpec, Create: createPod, Grace: podGrace,
		Update: func(_ context.Context, p, old *core.Pod) {
			p.Status = old.Status
			keepPodResources(p, old)
			podutil.DropDisabledPodFields(p, old)
		},
		Validate: func(_ context.Context, p *core.Pod) field.ErrorList {
			return corevalidation.ValidatePodCreate(p, podOptions(p, nil))
		},
		ValidateUpdate: checkedPod(corevalidation.ValidatePodUpdate),
		Warnings: func(ctx context.Context, p, old *core.Pod) []string {
			if old != nil { // updates are frequent, and no user reads their warnings
				return nil
			}
			return append(dnsLabelWarning(p.Name, "the Pod's hostname"), podutil.GetWarningsForPod(ctx, p, nil)...)
		},
	}.Rules()
}

func createPod(ctx context.Context, p *core.Pod) {
	p.Status = core.PodStatus{Phase: core.PodPending}
	podutil.DropDisabledPodFields(p, nil)
	if len(p.Spec.SchedulingGates) > 0 {
		podutil.UpdatePodCondition(&p.Status, &core.PodCondition{
			Type: core.PodScheduled, Status: core.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	selectByLabels(p)
	armorFields(ctx, p)
	podutil.DefaultPodLevelResources(p)
	p.Status.QOSClass = qos.GetPodQOS(p)
}

// selectByLabels adds the pod's own values of the named labels to the selectors that name them.
func selectByLabels(p *core.Pod) {
	add := func(selector *metav1.LabelSelector, operator metav1.LabelSelectorOperator, names []string) {
		for _, name := range names {
			if value, ok := p.Labels[name]; ok && selector != nil {
				one := metav1.LabelSelectorRequirement{Key: name, Operator: operator, Values: []string{value}}
				selector.MatchExpressions = append(selector.MatchExpressions, one)
			}
		}
	}
	terms := func(preferred []core.WeightedPodAffinityTerm, required []core.PodAffinityTerm) {
		for _, term := range preferred {
			add(term.PodAffinityTerm.LabelSelector, metav1.LabelSelectorOpIn, term.PodAffinityTerm.MatchLabelKeys)
			add(term.PodAffinityTerm.LabelSelector, metav1.LabelSelectorOpNotIn, term.PodAffinityTerm.MismatchLabelKeys)
		}
		for _, term := range required {
			add(term.LabelSelector, metav1.LabelSelectorOpIn, term.MatchLabelKeys)
			add(term.LabelSelector, metav1.LabelSelectorOpNotIn, term.MismatchLabelKeys)
		}
	}
	affinity := Deref(p.Spec.Affinity)
	if of := affinity.PodAffinity; of != nil {
		terms(of.PreferredDuringSchedulingIgnoredDuringExecution, of.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if of := affinity.PodAntiAffinity; of != nil {
		terms(of.PreferredDuringSchedulingIgnoredDuringExecution, of.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	for _, constraint := range p.Spec.TopologySpreadConstraints {
		add(constraint.LabelSelector, metav1.LabelSelectorOpIn, constraint.MatchLabelKeys)
	}
}

// armorFields sets the AppArmor profiles of containers from annotations, and adds a warning.
func armorFields(ctx context.Context, p *core.Pod) {
	if p.Spec.OS != nil && p.Spec.OS.Name == core.Windows {
		return
	}
	var whole *core.AppArmorProfile
	if p.Spec.SecurityContext != nil {
		whole = p.Spec.SecurityContext.AppArmorProfile
	}
	podutil.VisitContainers(&p.Spec, podutil.AllFeatureEnabledContainers(),
		func(container *core.Container, _ podutil.ContainerType) bool {
			name := core.DeprecatedAppArmorAnnotationKeyPrefix + container.Name
			annotation, there := p.Annotations[name]
			if !there || container.SecurityContext != nil && container.SecurityContext.AppArmorProfile != nil {
				return true
			}
			profile := podutil.ApparmorFieldForAnnotation(annotation)
			if len(corevalidation.ValidateAppArmorProfileField(profile, &field.Path{})) > 0 {
				profile = nil
			}
			if profile != nil && equality.Semantic.DeepEqual(profile, whole) {
				return true
			}
			if profile != nil {
				if container.SecurityContext == nil {
					container.SecurityContext = &core.SecurityContext{}
				}
				container.SecurityContext.AppArmorProfile = profile
			}
			at := field.NewPath("metadata", "annotations").Key(name)
			warning.AddWarning(ctx, "", fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`, at))
			return true
		})
}

// keepPodResources keeps the pod-level resources if a client that does not have the field omits them.
func keepPodResources(p, old *core.Pod) {
	if p.Spec.Resources == nil && old.Spec.Resources != nil {
		p.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
}

// podGrace sets the grace period of a pod in options. A pod without a node is deleted at once.
func podGrace(p *core.Pod, options *metav1.DeleteOptions) bool {
	if options == nil {
		return false
	}
	period := Deref(p.Spec.TerminationGracePeriodSeconds)
	if options.GracePeriodSeconds != nil {
		period = *options.GracePeriodSeconds
	}
	if p.Spec.NodeName == "" || p.Status.Phase == core.PodFailed || p.Status.Phase == core.PodSucceeded {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

func podStatusRules() Rules {
	at := field.NewPath("status")
	return Own[*core.Pod]{
		Reset: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
		Update: func(_ context.Context, p, old *core.Pod) {
			p.Spec, p.DeletionTimestamp, p.OwnerReferences = old.Spec, nil, old.OwnerReferences
			now, was := &p.Status, &old.Status
			Set(&now.QOSClass, was.QOSClass)
			if now.ResourceClaimStatuses == nil { // old kubelets do not send the field
				now.ResourceClaimStatuses = was.ResourceClaimStatuses
			}
			if now.ExtendedResourceClaimStatus == nil {
				now.ExtendedResourceClaimStatus = was.ExtendedResourceClaimStatus
			}
			if now.NodeAllocatableResourceClaimStatuses == nil {
				now.NodeAllocatableResourceClaimStatuses = was.NodeAllocatableResourceClaimStatuses
			}
			keepObserved(now, was)
			podutil.DropDisabledPodFields(p, old)
		},
		ValidateUpdate: checkedPod(corevalidation.ValidatePodStatusUpdate),
		Warnings: func(_ context.Context, p, _ *core.Pod) []string {
			warnings := ipWarnings(p.Status.PodIPs, at.Child("podIPs"), "ip", func(ip core.PodIP) string { return ip.IP })
			return append(warnings, ipWarnings(p.Status.HostIPs, at.Child("hostIPs"), "ip",
				func(ip core.HostIP) string { return ip.IP })...)
		},
	}.Rules()
}

// keepObserved restores observed generations that a client has cleared, in the status and in its conditions. Several
// conditions may have the same type.
func keepObserved(now, was *core.PodStatus) {
	Set(&now.ObservedGeneration, was.ObservedGeneration)
	known := map[core.PodConditionType][]int64{}
	for _, c := range was.Conditions {
		known[c.Type] = append(known[c.Type], c.ObservedGeneration)
	}
	for i := range now.Conditions {
		c := &now.Conditions[i]
		if generations := known[c.Type]; len(generations) > 0 {
			Set(&c.ObservedGeneration, generations[0])
			known[c.Type] = generations[1:]
		}
	}
}

// EphemeralRules returns the rules of the subresource that adds containers to a running pod.
func EphemeralRules() Rules {
	return Own[*core.Pod]{
		Spec: podSpec,
		Update: func(_ context.Context, p, old *core.Pod) {
			containers := p.Spec.EphemeralContainers
			keepBesides(p, old)
			p.Spec.EphemeralContainers = containers
			podutil.DropDisabledPodFields(p, old)
		},
		ValidateUpdate: checkedPod(corevalidation.ValidatePodEphemeralContainersUpdate),
	}.Rules()
}

// keepBesides restores the old pod except for some of its metadata.
func keepBesides(p, old *core.Pod) {
	p.Spec, p.Status = old.Spec, old.Status
	metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
}

// ResizeRules returns the rules of the subresource that changes the resources of a running pod.
func ResizeRules() Rules {
	return Own[*core.Pod]{
		Spec: podSpec,
		Update: func(_ context.Context, p, old *core.Pod) {
			resize(p, old)
			keepPodResources(p, old)
			if p.Spec.Resources != nil {
				podutil.DefaultPodLevelResources(p)
			}
			podutil.DropDisabledPodFields(p, old)
		},
		ValidateUpdate: checkedPod(corevalidation.ValidatePodResize),
	}.Rules()
}

// resize restores the old pod except for the resources of the pod and its containers. It does not change a pod whose
// containers differ from the old ones, because validation rejects that pod.
func resize(p, old *core.Pod) {
	if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return
	}
	containers, initial := resized(p.Spec.Containers, old.Spec.Containers),
		resized(p.Spec.InitContainers, old.Spec.InitContainers)
	resources := p.Spec.Resources
	keepBesides(p, old)
	p.Spec.Containers, p.Spec.InitContainers, p.Spec.Resources = containers, initial, resources
}

func resized(containers, old []core.Container) []core.Container {
	result := append([]core.Container(nil), old...)
	for i, container := range containers {
		if result[i].Name != container.Name {
			return containers
		}
		result[i].Resources, result[i].ResizePolicy = container.Resources, container.ResizePolicy
	}
	return result
}
