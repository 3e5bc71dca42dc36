package fakecontrollers

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// Outcome is the outcome of a pod. With the zero value, a pod whose containers always restart runs and is ready, and
// any other pod succeeds.
type Outcome struct {
	// Phase is the final phase: Running, Succeeded, Failed, or Pending for containers that never start. If the pod's
	// restartPolicy restarts containers after they exit, Failed means that they crash repeatedly.
	Phase corev1.PodPhase
	// NotReady prevents a Running pod from becoming ready.
	NotReady bool
	// After is the time from scheduling to the outcome. Meanwhile the pod runs and is not ready.
	After time.Duration
	// ExitCode is the exit code of failed containers; zero means 1.
	ExitCode int32
	// Reason and Message are the reason why containers wait or have failed, such as ImagePullBackOff or OOMKilled.
	// Empty means ContainerCreating, or Error.
	Reason, Message string
}

// These are the names of the node that is created if there is none, and of the fake controller of pods, which acts as
// the scheduler and as all kubelets.
const (
	nodeName = "node"
	podsName = "kubelet"
)

// Pods returns the fake controller that schedules and runs pods. It binds each pod to the node with the fewest pods
// among those that its selectors, affinity and tolerations permit, sets its status, and removes deleted pods. If there
// is no Node when it starts, it creates one. outcome determines the outcome of a pod. It is called again after each
// change of the pod. It must depend only on the pod and must not modify it. A nil function means the zero [Outcome] for
// all pods.
func Pods(outcome func(pod *corev1.Pod) Outcome) Controller {
	if outcome == nil {
		outcome = func(*corev1.Pod) Outcome { return Outcome{} }
	}
	return Controller{podsName, func(m *manager.Manager) error {
		k := &kubelet{Client: m.Client(), live: m.Live(), outcome: outcome}
		var err error
		if k.addresses, err = newAddresses(m, podNetwork, &corev1.Pod{},
			func(pod *corev1.Pod) []string { return []string{pod.Status.PodIP} }); err != nil {
			return err
		}
		if k.byNode, err = cache.NewIndex(m.Cache(), &corev1.Pod{},
			func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} }); err != nil {
			return err
		}
		if err := m.Add(manager.RunnableFunc(k.register)); err != nil {
			return err
		}
		if err := controller.For[*corev1.Node](m).Named(podsName + "-nodes").Complete(byName[corev1.Node](k,
			k.tend)); err != nil {
			return err
		}
		return controller.For[*corev1.Pod](m).Named(podsName).
			WithOptions(controller.Options{MaxConcurrentReconciles: 1}). // so that each address is allocated only once
			Watches(handler.For(k.waiting)).
			Complete(byName[corev1.Pod](k, k.reconcile))
	}}
}

// kubelet is the fake controller of pods.
type kubelet struct {
	client.Client
	live      client.Client
	outcome   func(*corev1.Pod) Outcome
	addresses *addresses[*corev1.Pod]
	byNode    *cache.Index[*corev1.Pod, string]
}

// register creates a node if there is none.
func (k *kubelet) register(ctx context.Context) error {
	var nodes corev1.NodeList
	err := k.live.List(ctx, &nodes, client.Limit(1))
	if err == nil && len(nodes.Items) == 0 {
		err = client.IgnoreAlreadyExists(k.live.Create(ctx,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{
				corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			}}}))
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// tend sets a node without conditions ready, and removes the not-ready taint from a ready node.
func (k *kubelet) tend(ctx context.Context, node *corev1.Node) (reconcile.Result, error) {
	before := node.DeepCopy()
	ready := slices.IndexFunc(node.Status.Conditions,
		func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if ready < 0 {
		beReady(node)
		return reconcile.Result{}, writeStatus(ctx, k.Client, before, node)
	}
	if node.Status.Conditions[ready].Status != corev1.ConditionTrue {
		return reconcile.Result{}, nil
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeNotReady })
	if len(node.Spec.Taints) == len(before.Spec.Taints) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(k.Patch(ctx, node, client.MergeFromWithOptimisticLock(before)))
}

// beReady sets the conditions that a kubelet sets for a healthy node.
func beReady(node *corev1.Node) {
	set := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) {
		now := metav1.Now()
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		})
	}
	set(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory",
		"kubelet has sufficient memory available")
	set(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure")
	set(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available")
	set(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	if node.Status.Capacity == nil {
		node.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("10000"),
		}
		node.Status.Allocatable = node.Status.Capacity
	}
	if node.Status.Addresses == nil {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostAddress},
			{Type: corev1.NodeHostName, Address: node.Name}}
	}
}

// waiting returns requests for the unscheduled pods, because a changed node may accept them.
func (k *kubelet) waiting(ctx context.Context, _ *corev1.Node) (requests []reconcile.Request) {
	for pod, err := range k.byNode.Get(ctx, "") {
		if err != nil {
			return nil
		}
		requests = append(requests, requestFor(pod))
	}
	return requests
}

func (k *kubelet) reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	switch {
	case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
		return reconcile.Result{}, k.schedule(ctx, pod)
	case pod.DeletionTimestamp != nil:
		return reconcile.Result{}, k.end(ctx, pod)
	case podutil.IsPodTerminal(pod):
		return reconcile.Result{}, nil
	}
	before := pod.DeepCopy()
	again, err := k.play(ctx, pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, writeStatus(ctx, k.Client, before, pod)
}

// schedule binds the pod to a node. If no node accepts the pod, it sets the condition that reports this.
func (k *kubelet) schedule(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Spec.SchedulingGates) > 0 {
		return nil
	}
	var nodes corev1.NodeList
	if err := k.List(ctx, &nodes); err != nil {
		return err
	}
	best, fewest := "", 0
	slices.SortFunc(nodes.Items, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range nodes.Items {
		if node := &nodes.Items[i]; fits(&pod.Spec, node) && tolerates(&pod.Spec, node, corev1.TaintEffectNoSchedule) {
			has, err := k.countOn(ctx, node.Name)
			if err != nil {
				return err
			}
			if best == "" || has < fewest {
				best, fewest = node.Name, has
			}
		}
	}
	if best == "" {
		before := pod.DeepCopy()
		setPodCondition(pod, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable,
			fmt.Sprintf("0/%d nodes are available.", len(nodes.Items)))
		return writeStatus(ctx, k.Client, before, pod)
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: best},
	}
	return client.IgnoreNotFound(k.SubResource("binding").Create(ctx, pod, binding))
}

func (k *kubelet) countOn(ctx context.Context, node string) (n int, err error) {
	for pod, err := range k.byNode.Get(ctx, node) {
		if err != nil {
			return 0, err
		}
		if !podutil.IsPodTerminal(pod) {
			n++
		}
	}
	return n, nil
}

// end removes a pod that is being deleted. If the pod has finalizers, end first marks its containers as stopped.
func (k *kubelet) end(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Finalizers) > 0 && pod.Spec.NodeName != "" && !podutil.IsPodTerminal(pod) {
		before := pod.DeepCopy()
		terminated(pod, corev1.PodFailed, Outcome{ExitCode: 137, Reason: "Error"})
		if err := writeStatus(ctx, k.Client, before, pod); err != nil {
			return err
		}
	}
	if valueOr(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return nil
	}
	return controllerutil.DeleteWithUID(ctx, k.Client, pod, client.GracePeriodSeconds(0))
}

// play updates the status of a scheduled pod, and returns the delay until the next update.
func (k *kubelet) play(ctx context.Context, pod *corev1.Pod) (again time.Duration, err error) {
	if err := k.start(ctx, pod); err != nil {
		return 0, err
	}
	o := k.outcome(pod)
	if o.Phase == "" {
		o.Phase = corev1.PodSucceeded
		if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			o.Phase = corev1.PodRunning
		}
	}
	if left := time.Until(pod.Status.StartTime.Add(o.After)); left > 0 && o.Phase != corev1.PodPending {
		running(pod, false)
		return left, nil
	}
	restarts := pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || o.Phase == corev1.PodFailed &&
		pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	switch {
	case o.Phase == corev1.PodPending:
		wait(pod, cmp.Or(o.Reason, "ContainerCreating"), o.Message)
	case o.Phase == corev1.PodRunning:
		running(pod, !o.NotReady)
	case restarts:
		if o.Phase == corev1.PodSucceeded {
			o.ExitCode, o.Reason = 0, cmp.Or(o.Reason, "Completed")
		} else {
			o.ExitCode, o.Reason = cmp.Or(o.ExitCode, 1), cmp.Or(o.Reason, "Error")
		}
		return crash(pod, o), nil
	case o.Phase == corev1.PodSucceeded:
		terminated(pod, o.Phase, Outcome{Reason: cmp.Or(o.Reason, "Completed"), Message: o.Message})
	default:
		terminated(pod, o.Phase, Outcome{ExitCode: cmp.Or(o.ExitCode, 1), Reason: cmp.Or(o.Reason, "Error"),
			Message: o.Message})
	}
	return 0, nil
}

// hostAddress is the address of each node that this package creates.
const hostAddress = "192.168.0.1"

// start sets the addresses and the start time of a scheduled pod.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) error {
	status := &pod.Status
	setPodCondition(pod, corev1.PodScheduled, corev1.ConditionTrue, "", "")
	if status.StartTime != nil {
		return nil
	}
	now := metav1.Now()
	status.StartTime = &now
	status.HostIP, status.HostIPs = hostAddress, []corev1.HostIP{{IP: hostAddress}}
	status.PodIP = hostAddress
	if !pod.Spec.HostNetwork {
		address, err := k.addresses.next(ctx)
		if err != nil {
			return err
		}
		status.PodIP = address
	}
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	return nil
}

var podNetwork = netip.MustParsePrefix("10.244.0.0/16")

// setContainers sets the states of all containers. Init containers have completed once the pod is initialized.
func setContainers(pod *corev1.Pod, initialized, started, ready bool, change func(*corev1.ContainerStatus)) {
	pod.Status.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers, pod.Status.InitContainerStatuses,
		func(c *corev1.Container, s *corev1.ContainerStatus) {
			switch {
			case podutil.IsRestartableInitContainer(c):
				s.Ready, s.Started = ready, &started
				change(s)
			case initialized:
				s.Ready, s.Started = true, new(bool)
				if s.State.Terminated == nil {
					s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed",
						StartedAt: *pod.Status.StartTime, FinishedAt: metav1.Now()}}
				}
			default:
				s.Started = new(bool)
				s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
			}
		})
	pod.Status.ContainerStatuses = containerStatuses(pod.Spec.Containers, pod.Status.ContainerStatuses,
		func(_ *corev1.Container, s *corev1.ContainerStatus) {
			s.Ready, s.Started = ready, &started
			change(s)
		})
}

func containerStatuses(containers []corev1.Container, was []corev1.ContainerStatus,
	change func(*corev1.Container, *corev1.ContainerStatus)) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for i := range containers {
		old := podutil.GetExistingContainerStatus(was, containers[i].Name)
		s := *old.DeepCopy()
		s.Name, s.Image = containers[i].Name, containers[i].Image
		change(&containers[i], &s)
		statuses = append(statuses, s)
	}
	return statuses
}

func running(pod *corev1.Pod, ready bool) {
	pod.Status.Phase = corev1.PodRunning
	setContainers(pod, true, true, ready, func(s *corev1.ContainerStatus) {
		if s.State.Running == nil {
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
		}
	})
	setReadiness(pod, true, ready, "")
}

func wait(pod *corev1.Pod, reason, message string) {
	pod.Status.Phase = corev1.PodPending
	initialized := len(pod.Spec.InitContainers) == 0
	setContainers(pod, initialized, false, false, func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
	setReadiness(pod, initialized, false, "")
}

func terminated(pod *corev1.Pod, phase corev1.PodPhase, o Outcome) {
	pod.Status.Phase = phase
	setContainers(pod, true, false, false, func(s *corev1.ContainerStatus) { s.State = stopped(pod, s, o) })
	reason := "PodFailed"
	if phase == corev1.PodSucceeded {
		reason = "PodCompleted"
	}
	setReadiness(pod, true, false, reason)
}

// stopped returns the state of a container that is exiting now.
func stopped(pod *corev1.Pod, s *corev1.ContainerStatus, o Outcome) corev1.ContainerState {
	now := metav1.Now()
	started := now
	switch {
	case s.State.Running != nil:
		started = s.State.Running.StartedAt
	case pod.Status.StartTime != nil:
		started = *pod.Status.StartTime
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: o.ExitCode, Reason: o.Reason,
		Message: o.Message, StartedAt: started, FinishedAt: now}}
}

// The delay before a crashed container restarts starts at the first value and doubles up to the second.
const (
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
)

// crash makes containers exit as soon as they start, and returns the delay until they restart.
func crash(pod *corev1.Pod, o Outcome) (again time.Duration) {
	pod.Status.Phase = corev1.PodRunning
	setContainers(pod, true, false, false, func(s *corev1.ContainerStatus) {
		wait := min(firstRestart<<min(max(s.RestartCount-1, 0), 10), lastRestart)
		if last := s.LastTerminationState.Terminated; last == nil || s.RestartCount == 0 ||
			time.Since(last.FinishedAt.Time) >= wait {
			s.LastTerminationState = stopped(pod, s, o)
			s.RestartCount++
			wait = min(firstRestart<<min(s.RestartCount-1, 10), lastRestart)
		} else {
			wait -= time.Since(last.FinishedAt.Time)
		}
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off restarting failed container=%s pod=%s_%s(%s)", s.Name,
				pod.Name, pod.Namespace, pod.UID),
		}}
		again = wait
	})
	setReadiness(pod, true, false, "")
	return max(again, time.Millisecond)
}

// setReadiness sets the conditions that kubelets set. reason is the reason in the conditions of a pod that has ended.
func setReadiness(pod *corev1.Pod, initialized, ready bool, reason string) {
	names := make([]string, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[i].Name)
	}
	message := ""
	if !ready && reason == "" {
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", names)
	}
	isReady := conditionStatus(ready)
	ended := podutil.IsPodTerminal(pod)
	setPodCondition(pod, "PodReadyToStartContainers", conditionStatus(!ended), "", "")
	if initialized {
		completed := ""
		if ended {
			completed = reason
		}
		setPodCondition(pod, corev1.PodInitialized, corev1.ConditionTrue, completed, "")
	} else {
		setPodCondition(pod, corev1.PodInitialized, corev1.ConditionFalse, "ContainersNotInitialized",
			"containers with incomplete status")
	}
	setPodCondition(pod, corev1.ContainersReady, isReady, reason, message)
	for _, gate := range pod.Spec.ReadinessGates {
		_, c := podutil.GetPodCondition(&pod.Status, gate.ConditionType)
		if ready && (c == nil || c.Status != corev1.ConditionTrue) {
			isReady, reason, message = corev1.ConditionFalse, "ReadinessGatesNotReady",
				fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType,
					corev1.ConditionFalse)
		}
	}
	setPodCondition(pod, corev1.PodReady, isReady, reason, message)
}

func conditionStatus(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// setPodCondition sets a condition. It changes the transition time only if the status changes.
func setPodCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason,
	message string) {
	podutil.UpdatePodCondition(&pod.Status, &corev1.PodCondition{Type: kind, Status: status, Reason: reason,
		Message: message, ObservedGeneration: pod.Generation})
}

// fits reports whether the selectors of a pod accept a node.
func fits(spec *corev1.PodSpec, node *corev1.Node) bool {
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return false
	}
	matches, err := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity).Match(node)
	return err == nil && matches
}

// tolerates reports whether a pod tolerates the taints of a node that have one of the effects or NoExecute.
func tolerates(spec *corev1.PodSpec, node *corev1.Node, effects ...corev1.TaintEffect) bool {
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable,
			Effect: corev1.TaintEffectNoSchedule})
	}
	return !slices.ContainsFunc(taints, func(taint corev1.Taint) bool {
		if taint.Effect != corev1.TaintEffectNoExecute && !slices.Contains(effects, taint.Effect) {
			return false
		}
		return !slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
				(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
		})
	})
}
