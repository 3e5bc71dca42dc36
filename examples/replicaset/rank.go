package replicaset

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// firstToGo orders pods for deletion: first pods that do not run, then pods that are not ready, then pods with a low
// deletion cost, and then pods that became ready or were created most recently. kube-controller-manager uses the same
// order, except that it also prefers pods that share a node with other pods of their ReplicaSet.
func firstToGo(a, b *corev1.Pod) int {
	readyA, isA := readySince(a)
	readyB, isB := readySince(b)
	order := cmp.Or(
		yesLast(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phases[a.Status.Phase], phases[b.Status.Phase]),
		yesLast(isA, isB),
		cmp.Compare(deletionCost(a), deletionCost(b)),
	)
	if isA && isB {
		order = cmp.Or(order, readyB.Compare(readyA))
	}
	return cmp.Or(order, cmp.Compare(restarts(b), restarts(a)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name))
}

var phases = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

func yesLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// deletionCost returns the deletion cost of a pod, or zero if the annotation is unset or not a number.
func deletionCost(pod *corev1.Pod) int32 {
	n, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func restarts(pod *corev1.Pod) (most int32) {
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}
