package fakecontrollers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// replicaSets maintains the number of pods that each ReplicaSet requests.
var replicaSets = Controller{"replicaset-controller", func(m *manager.Manager) error {
	pods, err := newOwned(m, &corev1.Pod{})
	if err != nil {
		return err
	}
	r := &replicator{m.Client(), pods}
	return controller.For[*appsv1.ReplicaSet](m).Named("replicaset-controller").Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, adopters(m.Client(), func() object.List { return &appsv1.ReplicaSetList{} })).
		Complete(byName[appsv1.ReplicaSet](m.Client(),
			func(ctx context.Context, set *appsv1.ReplicaSet) (reconcile.Result, error) {
				return r.sync(ctx, set, set, func(status appsv1.ReplicaSetStatus) { set.Status = status })
			}))
}}

// replicator maintains the pods of ReplicaSets and ReplicationControllers.
type replicator struct {
	client.Client
	pods *owned[*corev1.Pod]
}

// sync maintains the number of pods that set requests, and writes the status that setStatus sets. owner is set itself,
// or the ReplicationController that set was converted from.
func (r *replicator) sync(ctx context.Context, owner object.Object, set *appsv1.ReplicaSet,
	setStatus func(appsv1.ReplicaSetStatus)) (reconcile.Result, error) {
	pods, err := r.pods.claim(ctx, owner, set.Spec.Selector, isActive)
	if err != nil {
		return reconcile.Result{}, err
	}
	active := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !isActive(pod) })
	var failure error
	if set.DeletionTimestamp == nil {
		failure = resize(ctx, r.Client, owner, set, active)
	}
	before := owner.DeepCopyObject().(object.Object)
	setStatus(replicaSetStatus(set, pods, active, failure))
	if err := writeStatus(ctx, r.Client, before, owner); err != nil {
		return reconcile.Result{}, errors.Join(failure, err)
	}
	return reconcile.Result{RequeueAfter: untilAvailable(set.Spec.MinReadySeconds, active)}, unlessTerminating(failure)
}

// resize creates the missing pods of an owner, or deletes excess ones.
func resize(ctx context.Context, c client.Client, owner object.Object, set *appsv1.ReplicaSet,
	active []*corev1.Pod) error {
	replicas := int(*set.Spec.Replicas)
	for range replicas - len(active) {
		pod := podOf(&set.Spec.Template)
		pod.Namespace, pod.GenerateName = owner.GetNamespace(), owner.GetName()+"-"
		if err := createOwned(ctx, c, owner, pod); err != nil {
			return err
		}
	}
	slices.SortFunc(active, firstToGo)
	for i := range max(0, len(active)-replicas) {
		if err := controllerutil.DeleteWithUID(ctx, c, active[i]); err != nil {
			return err
		}
	}
	return nil
}

func replicaSetStatus(set *appsv1.ReplicaSet, pods, active []*corev1.Pod, failure error) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(active)), ObservedGeneration: set.Generation,
		TerminatingReplicas: new(int32)}
	template := labels.SelectorFromSet(set.Spec.Template.Labels)
	for _, pod := range pods {
		switch {
		case podutil.IsPodTerminal(pod):
		case pod.DeletionTimestamp != nil:
			*status.TerminatingReplicas++
		default:
			status.FullyLabeledReplicas += one(template.Matches(labels.Set(pod.Labels)))
			status.ReadyReplicas += one(podutil.IsPodReady(pod))
			status.AvailableReplicas += one(isAvailable(pod, set.Spec.MinReadySeconds))
		}
	}
	status.Conditions = slices.DeleteFunc(slices.Clone(set.Status.Conditions), func(c appsv1.ReplicaSetCondition) bool {
		return failure == nil && c.Type == appsv1.ReplicaSetReplicaFailure
	})
	if failure != nil && len(status.Conditions) == 0 {
		reason := "FailedCreate"
		if len(active) > int(*set.Spec.Replicas) {
			reason = "FailedDelete"
		}
		status.Conditions = []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: failure.Error(),
			LastTransitionTime: metav1.Now(),
		}}
	}
	return status
}

// The following functions are for the pods of all workloads.

// podOf returns a pod from a template, without a name.
func podOf(template *corev1.PodTemplateSpec) *corev1.Pod {
	template = template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations,
			Finalizers: template.Finalizers},
		Spec: template.Spec,
	}
}

// createOwned creates o with owner as its controller.
func createOwned(ctx context.Context, c client.Client, owner, o object.Object) error {
	if err := controllerutil.SetControllerReference(owner, o, c.Scheme()); err != nil {
		return err
	}
	return c.Create(ctx, o)
}

// unlessTerminating returns err, or nil if err means that the namespace of a new object is being deleted.
func unlessTerminating(err error) error {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// isActive reports whether a pod runs or will run.
func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !podutil.IsPodTerminal(pod)
}

// isAvailable reports whether a pod has been ready for minReadySeconds.
func isAvailable(pod *corev1.Pod, minReadySeconds int32) bool {
	return podutil.IsPodAvailable(pod, minReadySeconds, metav1.Now())
}

// untilAvailable returns the delay until the next ready pod becomes available, or zero.
func untilAvailable(minReadySeconds int32, pods []*corev1.Pod) (next time.Duration) {
	for _, pod := range pods {
		if isActive(pod) && podutil.IsPodReady(pod) && !isAvailable(pod, minReadySeconds) {
			since := podutil.GetPodReadyCondition(pod.Status).LastTransitionTime
			left := max(time.Until(since.Add(time.Duration(minReadySeconds)*time.Second)), time.Millisecond)
			if next == 0 || left < next {
				next = left
			}
		}
	}
	return next
}

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// firstToGo orders pods for deletion, the least important ones first.
func firstToGo(a, b *corev1.Pod) int {
	rank := func(pod *corev1.Pod) int32 {
		return 4*one(pod.Spec.NodeName != "") + 2*one(pod.Status.Phase == corev1.PodRunning) + one(podutil.IsPodReady(pod))
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name))
}
