package builtin

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// Pods returns the kind Pod.
func Pods() Kind {
	status, spec := corev1.PodStatus{}.SwaggerDoc(), corev1.PodSpec{}.SwaggerDoc()
	return Kind{
		GVK: CoreV1.WithKind("Pod"), Resource: "pods", Short: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
		Returned: true,
		Columns: []Column{
			Col("Ready", "string", "The aggregate readiness state of this pod for accepting traffic.",
				func(p *corev1.Pod) any { return summaryOf(p).ready }),
			Col("Status", "string", "The aggregate status of the containers in this pod.",
				func(p *corev1.Pod) any { return summaryOf(p).reason }),
			Col("Restarts", "string", "The number of times the containers in this pod have been restarted and when the last "+
				"container in this pod has restarted.", func(p *corev1.Pod) any { return summaryOf(p).restarts }),
			SinceColumn,
			Col("IP", "string wide", status["podIP"], func(p *corev1.Pod) any {
				if len(p.Status.PodIPs) == 0 {
					return "<none>"
				}
				return orNone(p.Status.PodIPs[0].IP)
			}),
			Col("Node", "string wide", spec["nodeName"], func(p *corev1.Pod) any { return orNone(p.Spec.NodeName) }),
			Col("Nominated Node", "string wide", status["nominatedNodeName"],
				func(p *corev1.Pod) any { return orNone(p.Status.NominatedNodeName) }),
			Col("Readiness Gates", "string wide", spec["readinessGates"], func(p *corev1.Pod) any { return gatesOf(p) }),
		},
		conditions: func(object runtime.Object) []metav1.TableRowCondition {
			switch object.(*corev1.Pod).Status.Phase {
			case corev1.PodSucceeded:
				return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue,
					Reason: string(corev1.PodSucceeded), Message: "The pod has completed successfully."}}
			case corev1.PodFailed:
				return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue,
					Reason: string(corev1.PodFailed), Message: "The pod failed."}}
			}
			return nil
		},
		Fields: func(object runtime.Object, set fields.Set) {
			pod := object.(*corev1.Pod)
			set["spec.nodeName"], set["spec.restartPolicy"], set["spec.schedulerName"] = pod.Spec.NodeName,
				string(pod.Spec.RestartPolicy), pod.Spec.SchedulerName
			set["spec.serviceAccountName"], set["spec.hostNetwork"] = pod.Spec.ServiceAccountName,
				strconv.FormatBool(pod.Spec.HostNetwork)
			set["status.phase"], set["status.nominatedNodeName"], set["status.podIP"] = string(pod.Status.Phase),
				pod.Status.NominatedNodeName, ""
			if len(pod.Status.PodIPs) > 0 {
				set["status.podIP"] = pod.Status.PodIPs[0].IP
			}
		},
		Rules:  podRules(),
		Status: new(podStatusRules()),

		Admit:  admitPod,
		Review: reviewPod,
	}
}

// podSummary contains the table columns that depend on a pod's containers.
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
	} else if pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodFailed &&
		pod.Status.Phase != corev1.PodSucceeded {
		reason = "Terminating"
	}
	text := strconv.Itoa(restarts)
	if restarts != 0 && !last.IsZero() {
		text = fmt.Sprintf("%d (%s ago)", restarts, since(last))
	}
	return podSummary{fmt.Sprintf("%d/%d", ready, total), reason, text}
}

// PodConditionTrue reports whether a condition of a pod is true.
func PodConditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
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

// labelByTopology copies the topology labels of the node to the pod or its binding.
func (cluster Cluster) labelByTopology(a admission.Attributes) {
	var object metav1.Object
	node := ""
	switch o := a.GetObject().(type) {
	case *corev1.Pod:
		if a.GetSubresource() == "" {
			object, node = o, o.Spec.NodeName
		}
	case *corev1.Binding:
		if o.Target.Kind == "Node" {
			object, node = o, o.Target.Name
		}
	}
	if node == "" {
		return
	}
	found, err := cluster.Read("", "v1", "nodes", "", node)
	if err != nil { // upstream also ignores a missing node
		return
	}
	for _, name := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		if value, ok := found.(*corev1.Node).Labels[name]; ok {
			labels := orMake(object.GetLabels())
			labels[name] = value
			object.SetLabels(labels)
		}
	}
}

// admitPod implements the pod admission plugins of every server: topology labels, limits, priorities, tolerations of
// unreachable nodes, and runtime classes.
func admitPod(cluster Cluster, a admission.Attributes) error {
	cluster.labelByTopology(a)
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
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	if a.GetOperation() == admission.Create {
		return rejected(a, cluster.runAsClass(pod))
	}
	return nil
}

// reviewPod rejects a pod that violates a LimitRange or whose overhead differs from the overhead of its runtime class.
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

// prioritize sets the priority of a pod from its priority class or from the default class.
func (cluster Cluster) prioritize(pod *corev1.Pod) error {
	var class *schedulingv1.PriorityClass
	if name := pod.Spec.PriorityClassName; name != "" {
		object, err := cluster.Read("scheduling.k8s.io", "v1", "priorityclasses", "", name)
		if err != nil { // the class is missing, or its name is invalid
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
		return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission "+
			"controller computed %d from the given PriorityClass name", *pod.Spec.Priority, priority)
	}
	pod.Spec.Priority = &priority
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission "+
			"controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy)
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}
