package builtin

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
)

// Pods are the kind Pod.
func Pods() Kind {
	status, spec := corev1.PodStatus{}.SwaggerDoc(), corev1.PodSpec{}.SwaggerDoc()
	orNone := func(text string) string {
		if text == "" {
			return "<none>"
		}
		return text
	}
	return Kind{
		GVK: CoreV1.WithKind("Pod"), Resource: "pods", Short: []string{"po"}, Categories: []string{"all"}, Namespaced: true, Returned: true,
		Columns: []Column{
			Col("Ready", "string", "The aggregate readiness state of this pod for accepting traffic.", func(p *corev1.Pod) any { return summaryOf(p).ready }),
			Col("Status", "string", "The aggregate status of the containers in this pod.", func(p *corev1.Pod) any { return summaryOf(p).reason }),
			Col("Restarts", "string", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.", func(p *corev1.Pod) any { return summaryOf(p).restarts }),
			SinceColumn,
			Col("IP", "string wide", status["podIP"], func(p *corev1.Pod) any {
				if len(p.Status.PodIPs) == 0 {
					return "<none>"
				}
				return orNone(p.Status.PodIPs[0].IP)
			}),
			Col("Node", "string wide", spec["nodeName"], func(p *corev1.Pod) any { return orNone(p.Spec.NodeName) }),
			Col("Nominated Node", "string wide", status["nominatedNodeName"], func(p *corev1.Pod) any { return orNone(p.Status.NominatedNodeName) }),
			Col("Readiness Gates", "string wide", spec["readinessGates"], func(p *corev1.Pod) any { return gatesOf(p) }),
		},
		conditions: func(object runtime.Object) []metav1.TableRowCondition {
			switch object.(*corev1.Pod).Status.Phase {
			case corev1.PodSucceeded:
				return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(corev1.PodSucceeded), Message: "The pod has completed successfully."}}
			case corev1.PodFailed:
				return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(corev1.PodFailed), Message: "The pod failed."}}
			}
			return nil
		},
		Selectable: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"},
		Fields: func(object runtime.Object, set fields.Set) {
			pod := object.(*corev1.Pod)
			set["spec.nodeName"], set["spec.restartPolicy"], set["spec.schedulerName"] = pod.Spec.NodeName, string(pod.Spec.RestartPolicy), pod.Spec.SchedulerName
			set["spec.serviceAccountName"], set["spec.hostNetwork"] = pod.Spec.ServiceAccountName, strconv.FormatBool(pod.Spec.HostNetwork)
			set["status.phase"], set["status.nominatedNodeName"], set["status.podIP"] = string(pod.Status.Phase), pod.Status.NominatedNodeName, ""
			if len(pod.Status.PodIPs) > 0 {
				set["status.podIP"] = pod.Status.PodIPs[0].IP
			}
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(p *corev1.Pod) any { return p.Spec }),
			Given: Typed1(armorWarnings),
			Create: Change1(func(p *corev1.Pod) {
				selectLabels(p)
				armorFields(p)
				defaultPodResources(&p.Spec)
				p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosOf(&p.Spec)}
				if len(p.Spec.SchedulingGates) > 0 {
					p.Status.Conditions = []corev1.PodCondition{{
						Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
						Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: metav1.Now(),
					}}
				}
			}),
			Update: Change2(func(p, old *corev1.Pod) {
				keepPodResources(&p.Spec, &old.Spec)
				p.Status = old.Status
			}),
			Validate:       Typed1(validatePod),
			ValidateUpdate: Typed2(validatePodUpdate),
			Warnings: Typed1(func(p *corev1.Pod) []string {
				return append(dnsLabelWarning(p.Name, "the Pod's hostname"), podWarnings(&p.ObjectMeta, &p.Spec, nil)...)
			}),
			UpdateWarnings: func(runtime.Object, runtime.Object) []string { return nil },
			Grace:          podGrace,
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
			Update: Change2(func(p, old *corev1.Pod) {
				p.Spec, p.DeletionTimestamp, p.OwnerReferences = old.Spec, nil, old.OwnerReferences
				Set(&p.Status.QOSClass, old.Status.QOSClass)
				Set(&p.Status.ObservedGeneration, old.Status.ObservedGeneration)
				if p.Status.ResourceClaimStatuses == nil { // which old kubelets do not know
					p.Status.ResourceClaimStatuses = old.Status.ResourceClaimStatuses
				}
				if p.Status.ExtendedResourceClaimStatus == nil {
					p.Status.ExtendedResourceClaimStatus = old.Status.ExtendedResourceClaimStatus
				}
			}),
			ValidateUpdate: Typed2(validatePodStatus),
			Warnings:       Typed1(podStatusWarnings),
		},

		Admit:  admitPod,
		Review: reviewPod,
	}
}

// podGrace is how long a pod may take to end: one that runs nowhere ends at once.
func podGrace(object runtime.Object, options *metav1.DeleteOptions) bool {
	pod := object.(*corev1.Pod)
	period := Deref(pod.Spec.TerminationGracePeriodSeconds)
	if options.GracePeriodSeconds != nil {
		period = *options.GracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

// podSummary is what a table says of the containers of a pod.
type podSummary struct{ ready, reason, restarts string }

func summaryOf(pod *corev1.Pod) podSummary {
	reason, total, ready, restarts := string(pod.Status.Phase), len(pod.Spec.Containers), 0, 0
	var last metav1.Time
	if pod.Status.Reason != "" {
		reason = pod.Status.Reason
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			reason = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := map[string]bool{}
	for _, container := range pod.Spec.InitContainers {
		if Deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways {
			sidecars[container.Name] = true
			total++
		}
	}
	count := func(status corev1.ContainerStatus) {
		restarts += int(status.RestartCount)
		if ended := status.LastTerminationState.Terminated; ended != nil && last.Before(&ended.FinishedAt) {
			last = ended.FinishedAt
		}
	}
	terminated := func(prefix string, state *corev1.ContainerStateTerminated) string {
		switch {
		case state.Reason != "":
			return prefix + state.Reason
		case state.Signal != 0:
			return fmt.Sprintf("%sSignal:%d", prefix, state.Signal)
		}
		return fmt.Sprintf("%sExitCode:%d", prefix, state.ExitCode)
	}
	initializing := false
	for i, status := range pod.Status.InitContainerStatuses {
		count(status)
		state := status.State
		switch {
		case state.Terminated != nil && state.Terminated.ExitCode == 0:
			continue
		case sidecars[status.Name] && Deref(status.Started):
			if status.Ready {
				ready++
			}
			continue
		case state.Terminated != nil:
			reason = terminated("Init:", state.Terminated)
		case state.Waiting != nil && state.Waiting.Reason != "" && state.Waiting.Reason != "PodInitializing":
			reason = "Init:" + state.Waiting.Reason
		default:
			reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		initializing = true
		break
	}
	initialized := PodConditionTrue(pod, corev1.PodInitialized)
	if !initializing || initialized {
		restarts, last = 0, metav1.Time{}
		for _, status := range pod.Status.InitContainerStatuses {
			if sidecars[status.Name] {
				count(status)
			}
		}
		running, failure := false, ""
		for _, status := range slices.Backward(pod.Status.ContainerStatuses) {
			count(status)
			switch state := status.State; {
			case state.Waiting != nil && state.Waiting.Reason != "":
				reason = state.Waiting.Reason
			case state.Terminated != nil:
				reason = terminated("", state.Terminated)
				if state.Terminated.ExitCode != 0 {
					failure = reason
				}
			case status.Ready && state.Running != nil:
				running = true
				ready++
			}
		}
		if reason == "Completed" {
			switch {
			case running && PodConditionTrue(pod, corev1.PodReady):
				reason = "Running"
			case failure != "":
				reason = failure
			case running:
				reason = "NotReady"
			}
		}
	}
	if pod.DeletionTimestamp != nil && pod.Status.Reason == "NodeLost" {
		reason = "Unknown"
	} else if pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		reason = "Terminating"
	}
	text := strconv.Itoa(restarts)
	if restarts != 0 && !last.IsZero() {
		text = fmt.Sprintf("%d (%s ago)", restarts, since(last))
	}
	return podSummary{fmt.Sprintf("%d/%d", ready, total), reason, text}
}

// PodConditionTrue reports whether a pod has a condition that is true.
func PodConditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func gatesOf(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if PodConditionTrue(pod, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// admitPod does what the admission plugins do with pods that each server has: limits, priorities, and tolerations of nodes that are away.
func admitPod(cluster Cluster, a admission.Attributes) error {
	cluster.defaultByLimits(a)
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || a.GetSubresource() != "" {
		return nil
	}
	if old, ok := a.GetOldObject().(*corev1.Pod); ok && a.GetOperation() == admission.Update {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
	} else if err := cluster.prioritize(pod); err != nil {
		return admission.NewForbidden(a, err)
	}
	tolerated := func(key string) bool {
		return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		})
	}
	seconds := int64(300)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !tolerated(key) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	if a.GetOperation() == admission.Create {
		return rejected(a, cluster.runAsClass(pod))
	}
	return nil
}

// reviewPod refuses what limits do not let a pod have, and an overhead that its class has not.
func reviewPod(cluster Cluster, a admission.Attributes) error {
	if err := cluster.reviewPodLimits(a); err != nil {
		return err
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || a.GetSubresource() != "" || a.GetOperation() != admission.Create {
		return nil
	}
	return rejected(a, cluster.reviewOverhead(pod))
}

// prioritize gives a pod the priority of its class, or of the one that is for all others.
func (cluster Cluster) prioritize(pod *corev1.Pod) error {
	var class *schedulingv1.PriorityClass
	if name := pod.Spec.PriorityClassName; name != "" {
		object, err := cluster.Read("scheduling.k8s.io", "v1", "priorityclasses", "", name)
		if err != nil { // or is no name
			return fmt.Errorf("no PriorityClass with name %v was found", name)
		}
		class = object.(*schedulingv1.PriorityClass)
	} else {
		for _, object := range cluster.ReadAll("scheduling.k8s.io", "v1", "priorityclasses", "") {
			if one := object.(*schedulingv1.PriorityClass); one.GlobalDefault && (class == nil || one.Value < class.Value) {
				class = one
			}
		}
	}
	priority, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		pod.Spec.PriorityClassName, priority = class.Name, class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != priority {
		return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, priority)
	}
	pod.Spec.Priority = &priority
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy)
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

func validatePodSpecOf(pod *corev1.Pod) field.ErrorList {
	at := field.NewPath("spec")
	c := podChecks{spec: &pod.Spec, isPod: true}
	c.Add(ValidateMetadata(&pod.ObjectMeta, true, validation.NameIsDNSSubdomain)...)
	c.annotations(pod.Annotations, field.NewPath("metadata", "annotations"))
	c.check(&pod.ObjectMeta, at)
	if pod.Spec.ServiceAccountName == "" {
		for i, volume := range pod.Spec.Volumes {
			if volume.Projected == nil {
				continue
			}
			for j, source := range volume.Projected.Sources {
				if source.ServiceAccountToken != nil {
					c.forbidden(at.Child("volumes").Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"), "must not be specified when serviceAccountName is not set")
				}
			}
		}
	}
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		c.notNegative(at.Child("terminationGracePeriodSeconds"), *seconds)
	}
	images := func(containers []corev1.Container, at *field.Path) {
		for i, container := range containers {
			if strings.TrimSpace(container.Image) != container.Image {
				c.invalid(at.Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
			}
		}
	}
	images(pod.Spec.Containers, at.Child("containers"))
	images(pod.Spec.InitContainers, at.Child("initContainers"))
	return c.List
}

func validatePod(pod *corev1.Pod) field.ErrorList {
	f, at := Findings{validatePodSpecOf(pod)}, field.NewPath("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		f.forbidden(at.Child("ephemeralContainers"), "cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		f.forbidden(at.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
	f.sameProfiles(pod.Annotations, &pod.Spec, at)
	return f.List
}

// mutableFields is what an update of a pod may change.
const mutableFields = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func validatePodUpdate(pod, old *corev1.Pod) field.ErrorList {
	at := field.NewPath("spec")
	f := Findings{append(ValidateMetadataUpdate(pod, old), validatePodSpecOf(pod)...)}
	f.annotationsChanged(pod, old)
	for _, lists := range []struct {
		name     string
		now, was []corev1.Container
	}{{"containers", pod.Spec.Containers, old.Spec.Containers}, {"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers}} {
		here := at.Child(lists.name)
		if len(lists.now) != len(lists.was) {
			f.forbidden(here, "pod updates may not add or remove containers")
			return f.List
		}
		for i, container := range lists.now {
			if container.Image == "" {
				f.Required(here.Index(i).Child("image"), "")
			}
			if strings.TrimSpace(container.Image) != container.Image {
				f.invalid(here.Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
			}
		}
	}
	here, now, was := at.Child("activeDeadlineSeconds"), pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds
	switch {
	case now != nil && (*now < 0 || *now > math.MaxInt32):
		f.invalid(here, *now, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
		return f.List
	case now != nil && was != nil && *was < *now:
		f.invalid(here, *now, "must be less than or equal to previous value")
		return f.List
	case now == nil && was != nil:
		f.invalid(here, now, "must not update from a positive integer to nil value")
	}
	f.Add(validateAddedTolerations(pod.Spec.Tolerations, old.Spec.Tolerations, at.Child("tolerations"))...)
	known := sets.New[string]()
	for _, gate := range old.Spec.SchedulingGates {
		known.Insert(gate.Name)
	}
	for i, gate := range pod.Spec.SchedulingGates {
		if !known.Has(gate.Name) {
			f.forbidden(at.Child("schedulingGates").Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))
		}
	}
	if len(old.Spec.SchedulingGates) > 0 {
		f.narrowed(&pod.Spec, &old.Spec, at)
	}
	if rest := withoutMutable(pod, old); !equality.Semantic.DeepEqual(rest, old.Spec) {
		f.forbidden(at, mutableFields+diff.Diff(goValue{old.Spec}, goValue{rest}))
	}
	return f.List
}

// withoutMutable is the spec of a pod with what may change as it was.
func withoutMutable(pod, old *corev1.Pod) corev1.PodSpec {
	spec := *pod.Spec.DeepCopy()
	for i := range spec.Containers {
		spec.Containers[i].Image = old.Spec.Containers[i].Image
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].Image = old.Spec.InitContainers[i].Image
	}
	spec.ActiveDeadlineSeconds, spec.SchedulingGates, spec.Tolerations = old.Spec.ActiveDeadlineSeconds, old.Spec.SchedulingGates, old.Spec.Tolerations
	if len(old.Spec.SchedulingGates) > 0 { // until it is scheduled, where it may run can be narrowed
		spec.NodeSelector = old.Spec.NodeSelector
		setNodeAffinity(&spec, nodeAffinity(&old.Spec), old.Spec.Affinity == nil)
	}
	return spec
}

func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity
}

// setNodeAffinity makes the node affinity what it was. There was no affinity at all perhaps.
func setNodeAffinity(spec *corev1.PodSpec, was *corev1.NodeAffinity, none bool) {
	switch affinity := spec.Affinity; {
	case equality.Semantic.DeepEqual(nodeAffinity(spec), was):
	case affinity == nil:
		spec.Affinity = &corev1.Affinity{NodeAffinity: was}
	case none && affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil:
		spec.Affinity = nil
	default:
		affinity.NodeAffinity = was
	}
}

// narrowed checks changes of the nodes on which a pod may run that is not scheduled yet: they become fewer.
func (f *Findings) narrowed(spec, old *corev1.PodSpec, at *field.Path) {
	for name, value := range old.NodeSelector {
		if now, ok := spec.NodeSelector[name]; !ok || now != value {
			f.invalid(at.Child("nodeSelector"), spec.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
			break
		}
	}
	terms := func(spec *corev1.PodSpec) []corev1.NodeSelectorTerm {
		if affinity := nodeAffinity(spec); affinity != nil && affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			return affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		}
		return nil
	}
	now, was := terms(spec), terms(old)
	here := at.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if len(was) > 0 && len(now) != len(was) {
		f.invalid(here, now, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	begins := func(now, was []corev1.NodeSelectorRequirement) bool {
		return len(now) >= len(was) && (len(was) == 0 || equality.Semantic.DeepEqual(now[:len(was)], was))
	}
	for i, term := range was {
		empty := len(term.MatchExpressions)+len(term.MatchFields) == 0 && len(now[i].MatchExpressions)+len(now[i].MatchFields) > 0
		if empty || !begins(now[i].MatchExpressions, term.MatchExpressions) || !begins(now[i].MatchFields, term.MatchFields) {
			f.invalid(here.Index(i), now[i], "only additions are allowed (no mutations or deletions)")
		}
	}
}

// annotationsChanged checks those that say what a pod is.
func (f *Findings) annotationsChanged(pod, old *corev1.Pod) {
	at := field.NewPath("metadata", "annotations")
	forbid := func(key, change string) {
		if strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) {
			f.forbidden(at.Key(key), "may not "+change+" AppArmor annotations")
		}
		if key == corev1.MirrorPodAnnotationKey {
			f.forbidden(at.Key(key), "may not "+change+" mirror pod annotation")
		}
	}
	for _, key := range sortedMap(old.Annotations) {
		if value, ok := pod.Annotations[key]; !ok || value != old.Annotations[key] {
			forbid(key, "remove or update")
		}
	}
	for _, key := range sortedMap(pod.Annotations) {
		if _, ok := old.Annotations[key]; !ok {
			forbid(key, "add")
		}
	}
	c := podChecks{spec: &pod.Spec, isPod: true}
	c.annotations(pod.Annotations, at)
	f.Add(c.List...)
}

func validateAddedTolerations(now, was []corev1.Toleration, at *field.Path) field.ErrorList {
	for _, old := range was {
		kept := slices.ContainsFunc(now, func(toleration corev1.Toleration) bool {
			old.TolerationSeconds = toleration.TolerationSeconds
			return reflect.DeepEqual(old, toleration)
		})
		if !kept {
			return field.ErrorList{field.Forbidden(at, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return validateTolerations(now, at)
}

// Defaults of pods, and of the templates of pods that other kinds have.

func podDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(list *corev1.ResourceList) {
			for name, quantity := range *list {
				quantity.RoundUp(resource.Milli)
				(*list)[name] = quantity
			}
		}),
		DefaultsOf(func(pod *corev1.Pod) {
			if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
				pod.Spec.TerminationGracePeriodSeconds = new(int64)
				*pod.Spec.TerminationGracePeriodSeconds = 1
			}
			SetPointer(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
			for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for i := range containers {
					defaultRequests(&containers[i].Resources)
					for j := range containers[i].Ports {
						if pod.Spec.HostNetwork {
							Set(&containers[i].Ports[j].HostPort, containers[i].Ports[j].ContainerPort)
						}
					}
				}
			}
		}),
		DefaultsOf(func(status *corev1.PodStatus) {
			switch {
			case status.PodIP == "" && len(status.PodIPs) > 0:
				status.PodIP = status.PodIPs[0].IP
			case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
				status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
			}
		}),
		DefaultsOf(func(spec *corev1.PodSpec) {
			Set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
			spec.DeprecatedServiceAccount = spec.ServiceAccountName
			Set(&spec.DNSPolicy, corev1.DNSClusterFirst)
			Set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
			SetPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
			SetPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
			Set(&spec.SchedulerName, corev1.DefaultSchedulerName)
		}),
		DefaultsOf(defaultContainer),
		DefaultsOf(func(container *corev1.EphemeralContainer) {
			defaultContainer((*corev1.Container)(&container.EphemeralContainerCommon))
		}),
		DefaultsOf(func(probe *corev1.Probe) {
			Set(&probe.TimeoutSeconds, 1)
			Set(&probe.PeriodSeconds, 10)
			Set(&probe.SuccessThreshold, 1)
			Set(&probe.FailureThreshold, 3)
		}),
		DefaultsOf(func(action *corev1.HTTPGetAction) {
			Set(&action.Path, "/")
			Set(&action.Scheme, corev1.URISchemeHTTP)
		}),
		DefaultsOf(func(volume *corev1.Volume) {
			if volume.VolumeSource == (corev1.VolumeSource{}) {
				volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
			}
			if volume.Image != nil {
				Set(&volume.Image.PullPolicy, pullPolicyOf(volume.Image.Reference))
			}
		}),
		DefaultsOf(func(source *corev1.SecretVolumeSource) {
			SetPointer(&source.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
		}),
		DefaultsOf(func(source *corev1.ConfigMapVolumeSource) {
			SetPointer(&source.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
		}),
		DefaultsOf(func(source *corev1.DownwardAPIVolumeSource) {
			SetPointer(&source.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		}),
		DefaultsOf(func(source *corev1.ProjectedVolumeSource) {
			SetPointer(&source.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		}),
		DefaultsOf(func(source *corev1.ServiceAccountTokenProjection) { SetPointer(&source.ExpirationSeconds, 3600) }),
		DefaultsOf(func(source *corev1.HostPathVolumeSource) { SetPointer(&source.Type, corev1.HostPathUnset) }),
		DefaultsOf(func(source *corev1.AzureDiskVolumeSource) {
			SetPointer(&source.CachingMode, corev1.AzureDataDiskCachingReadWrite)
			SetPointer(&source.Kind, corev1.AzureSharedBlobDisk)
		}),
		DefaultsOf(func(selector *corev1.ObjectFieldSelector) { Set(&selector.APIVersion, "v1") }),
	}
}

func defaultContainer(container *corev1.Container) {
	Set(&container.ImagePullPolicy, pullPolicyOf(container.Image))
	Set(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	Set(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
}

// Names of images, of which the tag decides when they are pulled.
var (
	imageDomain = `(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	imagePart   = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageName   = regexp.MustCompile(`^(?:` + imageDomain + `/)?` + imagePart + `(?:/` + imagePart + `)*(?::([\w][\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)
	imageHash   = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

func pullPolicyOf(image string) corev1.PullPolicy {
	parts := imageName.FindStringSubmatch(image)
	if parts != nil && !imageHash.MatchString(image) && (parts[1] == "latest" || parts[1] == "" && parts[2] == "") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// EphemeralRules are those of the subresource by which containers join a pod that runs.
func EphemeralRules() Rules {
	return Rules{
		Unconditional: true, Spec: Typed1(func(p *corev1.Pod) any { return p.Spec }),
		Update: Change2(func(p, old *corev1.Pod) {
			containers := p.Spec.EphemeralContainers
			p.Spec, p.Status = *old.Spec.DeepCopy(), old.Status
			metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
			p.Spec.EphemeralContainers = containers
		}),
		ValidateUpdate: Typed2(func(p, old *corev1.Pod) field.ErrorList {
			if _, static := old.Annotations[corev1.MirrorPodAnnotationKey]; static {
				return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
			}
			f := Findings{append(ValidateMetadataUpdate(p, old), validatePodSpecOf(p)...)}
			f.annotationsChanged(p, old)
			for _, container := range old.Spec.EphemeralContainers {
				at := slices.IndexFunc(p.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == container.Name })
				if here := field.NewPath("spec", "ephemeralContainers"); at < 0 {
					f.forbidden(here, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", container.Name))
				} else if !equality.Semantic.DeepEqual(container, p.Spec.EphemeralContainers[at]) {
					f.forbidden(here, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", container.Name, diff.Diff(container, p.Spec.EphemeralContainers[at])))
				}
			}
			return f.List
		}),
	}
}
