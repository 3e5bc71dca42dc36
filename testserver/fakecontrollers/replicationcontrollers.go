package fakecontrollers

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// replicationControllers maintains the number of pods that each ReplicationController requests.
var replicationControllers = Controller{"replicationcontroller-controller", func(m *manager.Manager) error {
	pods, err := newOwned(m, &corev1.Pod{})
	if err != nil {
		return err
	}
	r := &replicator{m.Client(), pods}
	return controller.For[*corev1.ReplicationController](m).Named("replicationcontroller-controller").Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, adopters(m.Client(), func() object.List { return &corev1.ReplicationControllerList{} })).
		Complete(byName[corev1.ReplicationController](m.Client(),
			func(ctx context.Context, rc *corev1.ReplicationController) (reconcile.Result, error) {
				return r.sync(ctx, rc, replicaSetOf(rc), func(status appsv1.ReplicaSetStatus) { setReplicationStatus(rc, status) })
			}))
}}

// replicaSetOf converts a ReplicationController to a ReplicaSet. The two differ only in their Go types.
func replicaSetOf(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta, Spec: appsv1.ReplicaSetSpec{
		Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds,
		Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}, Template: *rc.Spec.Template,
	}}
	for _, c := range rc.Status.Conditions {
		set.Status.Conditions = append(set.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
			Reason: c.Reason, Message: c.Message,
		})
	}
	return set
}

func setReplicationStatus(rc *corev1.ReplicationController, of appsv1.ReplicaSetStatus) {
	rc.Status = corev1.ReplicationControllerStatus{
		Replicas: of.Replicas, FullyLabeledReplicas: of.FullyLabeledReplicas, ReadyReplicas: of.ReadyReplicas,
		AvailableReplicas: of.AvailableReplicas, ObservedGeneration: of.ObservedGeneration,
	}
	for _, c := range of.Conditions {
		rc.Status.Conditions = append(rc.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
			Reason: c.Reason, Message: c.Message,
		})
	}
}
