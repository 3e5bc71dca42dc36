package apiserver

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

var podKind = coreV1.WithKind("Pod")

func pods() kind {
	status, spec := corev1.PodStatus{}.SwaggerDoc(), corev1.PodSpec{}.SwaggerDoc()
	orNone := func(text string) string {
		if text == "" {
			return "<none>"
		}
		return text
	}
	return kind{
		gvk: podKind, resource: "pods", short: []string{"po"}, categories: []string{"all"}, namespaced: true, returned: true,
		columns: []column{
			col("Ready", "string", "The aggregate readiness state of this pod for accepting traffic.", func(p *corev1.Pod) any { return summaryOf(p).ready }),
			col("Status", "string", "The aggregate status of the containers in this pod.", func(p *corev1.Pod) any { return summaryOf(p).reason }),
			col("Restarts", "string", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.", func(p *corev1.Pod) any { return summaryOf(p).restarts }),
			sinceColumn,
			col("IP", "string wide", status["podIP"], func(p *corev1.Pod) any {
				if len(p.Status.PodIPs) == 0 {
					return "<none>"
				}
				return orNone(p.Status.PodIPs[0].IP)
			}),
			col("Node", "string wide", spec["nodeName"], func(p *corev1.Pod) any { return orNone(p.Spec.NodeName) }),
			col("Nominated Node", "string wide", status["nominatedNodeName"], func(p *corev1.Pod) any { return orNone(p.Status.NominatedNodeName) }),
			col("Readiness Gates", "string wide", spec["readinessGates"], func(p *corev1.Pod) any { return gatesOf(p) }),
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
		selectable: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"},
		fields: func(object runtime.Object, set fields.Set) {
			pod := object.(*corev1.Pod)
			set["spec.nodeName"], set["spec.restartPolicy"], set["spec.schedulerName"] = pod.Spec.NodeName, string(pod.Spec.RestartPolicy), pod.Spec.SchedulerName
			set["spec.serviceAccountName"], set["spec.hostNetwork"] = pod.Spec.ServiceAccountName, strconv.FormatBool(pod.Spec.HostNetwork)
			set["status.phase"], set["status.nominatedNodeName"], set["status.podIP"] = string(pod.Status.Phase), pod.Status.NominatedNodeName, ""
			if len(pod.Status.PodIPs) > 0 {
				set["status.podIP"] = pod.Status.PodIPs[0].IP
			}
		},
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(p *corev1.Pod) any { return p.Spec }),
			given: typed1(armorWarnings),
			create: change1(func(p *corev1.Pod) {
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
			update: change2(func(p, old *corev1.Pod) {
				keepPodResources(&p.Spec, &old.Spec)
				p.Status = old.Status
			}),
			validate:       typed1(validatePod),
			validateUpdate: typed2(validatePodUpdate),
			warnings: typed1(func(p *corev1.Pod) []string {
				return append(dnsLabelWarning(p.Name, "the Pod's hostname"), podWarnings(&p.ObjectMeta, &p.Spec, nil)...)
			}),
			updateWarnings: func(runtime.Object, runtime.Object) []string { return nil },
			grace:          podGrace,
		},
		status: &rules{
			unconditional: true, reset: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
			update: change2(func(p, old *corev1.Pod) {
				p.Spec, p.DeletionTimestamp, p.OwnerReferences = old.Spec, nil, old.OwnerReferences
				set(&p.Status.QOSClass, old.Status.QOSClass)
				set(&p.Status.ObservedGeneration, old.Status.ObservedGeneration)
			}),
			validateUpdate: typed2(validatePodStatus),
			warnings:       typed1(podStatusWarnings),
		},
		parts: []extraPart{
			{name: "attach", kind: coreV1.WithKind("PodAttachOptions"), verbs: []string{"create", "get"}, part: streamPart},
			{name: "binding", kind: coreV1.WithKind("Binding"), verbs: []string{"create"}, part: bindingPart},
			{name: "ephemeralcontainers", kind: podKind, verbs: partVerbs, part: podPart("ephemeralcontainers", ephemeralRules())},
			{name: "eviction", kind: evictionKind, verbs: []string{"create"}, part: evictionPart},
			{name: "exec", kind: coreV1.WithKind("PodExecOptions"), verbs: []string{"create", "get"}, part: streamPart},
			{name: "log", kind: podKind, verbs: []string{"get"}, part: logPart},
			{name: "portforward", kind: coreV1.WithKind("PodPortForwardOptions"), verbs: []string{"create", "get"}, part: streamPart},
			{name: "proxy", kind: coreV1.WithKind("PodProxyOptions"), verbs: proxyVerbs, part: streamPart},
			{name: "resize", kind: podKind, verbs: partVerbs, part: podPart("resize", resizeRules())},
		},
		admit:  admitPod,
		review: reviewPod,
	}
}

var proxyVerbs = []string{"create", "delete", "get", "patch", "update"}

// podGrace is how long a pod may take to end: one that runs nowhere ends at once.
func podGrace(object runtime.Object, options *metav1.DeleteOptions) bool {
	pod := object.(*corev1.Pod)
	period := deref(pod.Spec.TerminationGracePeriodSeconds)
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
		if deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways {
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
		case sidecars[status.Name] && deref(status.Started):
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
	initialized := podConditionTrue(pod, corev1.PodInitialized)
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
			case running && podConditionTrue(pod, corev1.PodReady):
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

func podConditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func gatesOf(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if podConditionTrue(pod, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// admitPod does what the admission plugins do with pods that each server has: limits, priorities, and tolerations of nodes that are away.
func admitPod(s *Server, a admission.Attributes) error {
	s.defaultByLimits(a)
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
	} else if err := s.prioritize(pod); err != nil {
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
		return rejected(a, s.runAsClass(pod))
	}
	return nil
}

// reviewPod refuses what limits do not let a pod have, and an overhead that its class has not.
func reviewPod(s *Server, a admission.Attributes) error {
	if err := s.reviewPodLimits(a); err != nil {
		return err
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || a.GetSubresource() != "" || a.GetOperation() != admission.Create {
		return nil
	}
	return rejected(a, s.reviewOverhead(pod))
}

// prioritize gives a pod the priority of its class, or of the one that is for all others.
func (s *Server) prioritize(pod *corev1.Pod) error {
	var class *schedulingv1.PriorityClass
	if name := pod.Spec.PriorityClassName; name != "" {
		object, err := s.readObject("scheduling.k8s.io", "v1", "priorityclasses", "", name)
		if err != nil { // or is no name
			return fmt.Errorf("no PriorityClass with name %v was found", name)
		}
		class = object.(*schedulingv1.PriorityClass)
	} else {
		for _, object := range s.readAll("scheduling.k8s.io", "v1", "priorityclasses", "") {
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
	c.add(validateMetadata(&pod.ObjectMeta, true, validation.NameIsDNSSubdomain)...)
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
	for name, containers := range map[string][]corev1.Container{"containers": pod.Spec.Containers, "initContainers": pod.Spec.InitContainers} {
		for i, container := range containers {
			if strings.TrimSpace(container.Image) != container.Image {
				c.invalid(at.Child(name).Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
			}
		}
	}
	return c.list
}

func validatePod(pod *corev1.Pod) field.ErrorList {
	f, at := findings{validatePodSpecOf(pod)}, field.NewPath("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		f.forbidden(at.Child("ephemeralContainers"), "cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		f.forbidden(at.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
	f.sameProfiles(pod.Annotations, &pod.Spec, at)
	return f.list
}

// mutableFields is what an update of a pod may change.
const mutableFields = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func validatePodUpdate(pod, old *corev1.Pod) field.ErrorList {
	at := field.NewPath("spec")
	f := findings{append(validateMetadataUpdate(pod, old), validatePodSpecOf(pod)...)}
	for _, lists := range []struct {
		name     string
		now, was []corev1.Container
	}{{"containers", pod.Spec.Containers, old.Spec.Containers}, {"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers}} {
		here := at.Child(lists.name)
		if len(lists.now) != len(lists.was) {
			f.forbidden(here, "pod updates may not add or remove containers")
			return f.list
		}
		for i, container := range lists.now {
			if container.Image == "" {
				f.required(here.Index(i).Child("image"), "")
			}
			if strings.TrimSpace(container.Image) != container.Image {
				f.invalid(here.Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
			}
		}
	}
	f.annotationsChanged(pod, old)
	here, now, was := at.Child("activeDeadlineSeconds"), pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds
	switch {
	case now != nil && (*now < 0 || *now > math.MaxInt32):
		f.invalid(here, *now, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
		return f.list
	case now != nil && was != nil && *was < *now:
		f.invalid(here, *now, "must be less than or equal to previous value")
		return f.list
	case now == nil && was != nil:
		f.invalid(here, now, "must not update from a positive integer to nil value")
	}
	f.add(validateAddedTolerations(pod.Spec.Tolerations, old.Spec.Tolerations, at.Child("tolerations"))...)
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
	return f.list
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
func (f *findings) narrowed(spec, old *corev1.PodSpec, at *field.Path) {
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
func (f *findings) annotationsChanged(pod, old *corev1.Pod) {
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

func validatePodStatus(pod, old *corev1.Pod) field.ErrorList {
	at := field.NewPath("status")
	f := findings{validateMetadataUpdate(pod, old)}
	for i, condition := range pod.Status.Conditions {
		here := at.Child("conditions").Index(i)
		if condition.ObservedGeneration < 0 {
			f.invalid(here.Child("observedGeneration"), condition.ObservedGeneration, "must be a non-negative integer")
		}
		if condition.Type != corev1.PodScheduled && condition.Type != corev1.PodReady && condition.Type != corev1.PodInitialized {
			f.qualified(here.Child("Type"), string(condition.Type))
		}
	}
	if name := pod.Status.NominatedNodeName; name != old.Status.NominatedNodeName && name != "" {
		f.subdomain(at.Child("nominatedNodeName"), name)
	}
	if pod.Status.ObservedGeneration < 0 {
		f.invalid(at.Child("observedGeneration"), pod.Status.ObservedGeneration, "must be a non-negative integer")
	}
	f.immutable(at.Child("qosClass"), pod.Status.QOSClass, old.Status.QOSClass)
	for _, lists := range []struct {
		name     string
		now, was []corev1.ContainerStatus
	}{{"containerStatuses", pod.Status.ContainerStatuses, old.Status.ContainerStatuses}, {"initContainerStatuses", pod.Status.InitContainerStatuses, old.Status.InitContainerStatuses}} {
		for i, before := range lists.was {
			if before.State.Terminated == nil || mayRestart(&old.Spec, before) {
				continue
			}
			for _, status := range lists.now {
				if status.Name == before.Name && status.State.Terminated == nil {
					f.forbidden(at.Child(lists.name).Index(i).Child("state"), "may not be transitioned to non-terminated state")
				}
			}
		}
	}
	var ips []string
	for _, ip := range old.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	for i, ip := range pod.Status.PodIPs {
		f.ip(at.Child("podIPs").Index(i), ip.IP, ips...)
	}
	if len(pod.Status.HostIPs) > 0 && pod.Status.HostIP != pod.Status.HostIPs[0].IP {
		f.invalid(at.Child("hostIPs").Index(0).Child("ip"), pod.Status.HostIPs[0].IP, "must be equal to `hostIP`")
	}
	return f.list
}

func mayRestart(spec *corev1.PodSpec, status corev1.ContainerStatus) bool {
	restart := false
	eachContainer(spec, nil, func(container *corev1.Container, _ *field.Path) {
		if container.Name != status.Name {
			return
		}
		policy := spec.RestartPolicy
		if container.RestartPolicy != nil {
			policy = corev1.RestartPolicy(*container.RestartPolicy)
		}
		restart = policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && status.State.Terminated.ExitCode != 0
	})
	return restart
}

// Defaults of pods, and of the templates of pods that other kinds have.

func podDefaults() []defaulter {
	return []defaulter{
		defaultsOf(func(list *corev1.ResourceList) {
			for name, quantity := range *list {
				quantity.RoundUp(resource.Milli)
				(*list)[name] = quantity
			}
		}),
		defaultsOf(func(pod *corev1.Pod) {
			if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
				pod.Spec.TerminationGracePeriodSeconds = new(int64)
				*pod.Spec.TerminationGracePeriodSeconds = 1
			}
			setPointer(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
			for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for i := range containers {
					defaultRequests(&containers[i].Resources)
					for j := range containers[i].Ports {
						if pod.Spec.HostNetwork {
							set(&containers[i].Ports[j].HostPort, containers[i].Ports[j].ContainerPort)
						}
					}
				}
			}
		}),
		defaultsOf(func(status *corev1.PodStatus) {
			switch {
			case status.PodIP == "" && len(status.PodIPs) > 0:
				status.PodIP = status.PodIPs[0].IP
			case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
				status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
			}
		}),
		defaultsOf(func(spec *corev1.PodSpec) {
			set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
			spec.DeprecatedServiceAccount = spec.ServiceAccountName
			set(&spec.DNSPolicy, corev1.DNSClusterFirst)
			set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
			setPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
			setPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
			set(&spec.SchedulerName, corev1.DefaultSchedulerName)
		}),
		defaultsOf(defaultContainer),
		defaultsOf(func(container *corev1.EphemeralContainer) {
			defaultContainer((*corev1.Container)(&container.EphemeralContainerCommon))
		}),
		defaultsOf(func(probe *corev1.Probe) {
			set(&probe.TimeoutSeconds, 1)
			set(&probe.PeriodSeconds, 10)
			set(&probe.SuccessThreshold, 1)
			set(&probe.FailureThreshold, 3)
		}),
		defaultsOf(func(action *corev1.HTTPGetAction) {
			set(&action.Path, "/")
			set(&action.Scheme, corev1.URISchemeHTTP)
		}),
		defaultsOf(func(volume *corev1.Volume) {
			if volume.VolumeSource == (corev1.VolumeSource{}) {
				volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
			}
			if volume.Image != nil {
				set(&volume.Image.PullPolicy, pullPolicyOf(volume.Image.Reference))
			}
		}),
		defaultsOf(func(source *corev1.SecretVolumeSource) {
			setPointer(&source.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.ConfigMapVolumeSource) {
			setPointer(&source.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.DownwardAPIVolumeSource) {
			setPointer(&source.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.ProjectedVolumeSource) {
			setPointer(&source.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.ServiceAccountTokenProjection) { setPointer(&source.ExpirationSeconds, 3600) }),
		defaultsOf(func(source *corev1.HostPathVolumeSource) { setPointer(&source.Type, corev1.HostPathUnset) }),
		defaultsOf(func(source *corev1.AzureDiskVolumeSource) {
			setPointer(&source.CachingMode, corev1.AzureDataDiskCachingReadWrite)
			setPointer(&source.Kind, corev1.AzureSharedBlobDisk)
		}),
		defaultsOf(func(selector *corev1.ObjectFieldSelector) { set(&selector.APIVersion, "v1") }),
	}
}

func defaultContainer(container *corev1.Container) {
	set(&container.ImagePullPolicy, pullPolicyOf(container.Image))
	set(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
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
