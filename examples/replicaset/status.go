package replicaset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// status returns the status with the counts of the pods, of which active is a subset. If resize failed, the status
// contains the reason.
func (r *Reconciler) status(set *appsv1.ReplicaSet, pods, active []*corev1.Pod, failure error) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(active)), ObservedGeneration: set.Generation}
	template := labels.Set(set.Spec.Template.Labels).AsSelectorPreValidated()
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if _, ready := readySince(pod); ready {
			status.ReadyReplicas++
		}
		if isAvailable(set, pod) {
			status.AvailableReplicas++
		}
	}
	if r.CountTerminating {
		status.TerminatingReplicas = new(int32)
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
				*status.TerminatingReplicas++
			}
		}
	}
	status.Conditions = slices.DeleteFunc(slices.Clone(set.Status.Conditions), func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure
	})
	if failure != nil {
		status.Conditions = append(status.Conditions, failureCondition(set, len(active), failure))
	}
	return status
}

// failureCondition returns the condition that reports a failure. It returns an existing condition unchanged, because
// that has the time of the transition.
func failureCondition(set *appsv1.ReplicaSet, active int, failure error) appsv1.ReplicaSetCondition {
	i := slices.IndexFunc(set.Status.Conditions,
		func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure })
	if i >= 0 {
		return set.Status.Conditions[i]
	}
	reason := "FailedCreate"
	if active > int(*set.Spec.Replicas) {
		reason = "FailedDelete"
	}
	return appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: failure.Error(),
		LastTransitionTime: metav1.Now(),
	}
}
