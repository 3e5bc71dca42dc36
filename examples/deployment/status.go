package deployment

import (
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These are the reasons of the condition Progressing. Programs such as kubectl rollout depend on them.
const (
	reasonCreated      = "NewReplicaSetCreated"
	reasonCreateFailed = "ReplicaSetCreateError"
	reasonFound        = "FoundNewReplicaSet"
	reasonUpdated      = "ReplicaSetUpdated"
	reasonAvailable    = "NewReplicaSetAvailable"
	reasonTimedOut     = "ProgressDeadlineExceeded"
	reasonPaused       = "DeploymentPaused"
	reasonResumed      = "DeploymentResumed"
)

// count returns a status with the sums of the ReplicaSets' counts and with the condition Available.
func (ro *rollout) count() appsv1.DeploymentStatus {
	status := *ro.Status.DeepCopy()
	status.ObservedGeneration = ro.Generation
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas = 0, 0, 0
	sets := ro.sets()
	for _, set := range sets {
		status.Replicas += set.Status.Replicas
		status.ReadyReplicas += set.Status.ReadyReplicas
	}
	if ro.current != nil {
		status.UpdatedReplicas = ro.current.Status.Replicas
	}
	status.AvailableReplicas = available(sets)
	status.UnavailableReplicas = max(0, size(sets)-status.AvailableReplicas)
	status.TerminatingReplicas = terminating(sets)
	if status.AvailableReplicas >= *ro.Spec.Replicas-maxUnavailable(ro.Deployment) {
		setCondition(&status, newCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
			"Deployment has minimum availability."))
	} else {
		setCondition(&status, newCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability."))
	}
	return status
}

func available(sets []*appsv1.ReplicaSet) (n int32) {
	for _, set := range sets {
		n += set.Status.AvailableReplicas
	}
	return n
}

// terminating returns the number of terminating pods, or nil if a ReplicaSet does not report it.
func terminating(sets []*appsv1.ReplicaSet) *int32 {
	n := int32(0)
	for _, set := range sets {
		switch {
		case set.Status.TerminatingReplicas != nil:
			n += *set.Status.TerminatingReplicas
		case set.Status.ObservedGeneration > 0:
			return nil
		}
	}
	return &n
}

// countAndJudge returns the status that count returns. During a rollout, it also sets the condition Progressing.
func (ro *rollout) countAndJudge() appsv1.DeploymentStatus {
	status := ro.count()
	if !hasDeadline(ro.Deployment) {
		removeCondition(&status, appsv1.DeploymentProgressing)
	} else if was := condition(&status, appsv1.DeploymentProgressing); was == nil || was.Reason != reasonAvailable ||
		status.Replicas != status.UpdatedReplicas {
		ro.judge(&status, was)
	}
	if failure := ro.failure(); failure != nil {
		setCondition(&status, *failure)
	} else {
		removeCondition(&status, appsv1.DeploymentReplicaFailure)
	}
	return status
}

// judge sets the condition Progressing of a rollout that was incomplete at the last reconcile. was is the old
// condition.
func (ro *rollout) judge(status *appsv1.DeploymentStatus, was *appsv1.DeploymentCondition) {
	what := fmt.Sprintf("Deployment %q", ro.Name)
	if ro.current != nil {
		what = fmt.Sprintf("ReplicaSet %q", ro.current.Name)
	}
	switch {
	case complete(ro.Deployment, status):
		setCondition(status, progressing(corev1.ConditionTrue, reasonAvailable, "%s has successfully progressed.", what))
	case progressed(&ro.Status, status):
		now := progressing(corev1.ConditionTrue, reasonUpdated, "%s is progressing.", what)
		if was != nil && was.Status == corev1.ConditionTrue {
			now.LastTransitionTime = was.LastTransitionTime
		}
		removeCondition(status, appsv1.DeploymentProgressing) // a later time with the same reason also reports progress
		setCondition(status, now)
	case timedOut(ro.Deployment, was):
		setCondition(status, progressing(corev1.ConditionFalse, reasonTimedOut, "%s has timed out progressing.", what))
	}
}

// complete reports whether d has exactly the desired number of pods, and all have the current template and are
// available.
func complete(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	want := *d.Spec.Replicas
	return status.UpdatedReplicas == want && status.Replicas == want && status.AvailableReplicas == want &&
		status.ObservedGeneration >= d.Generation
}

// progressed reports whether the status shows more new pods, fewer old pods, or more ready or available pods.
func progressed(was, now *appsv1.DeploymentStatus) bool {
	return now.UpdatedReplicas > was.UpdatedReplicas ||
		now.Replicas-now.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		now.ReadyReplicas > was.ReadyReplicas || now.AvailableReplicas > was.AvailableReplicas
}

func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// timedOut reports whether the progress deadline has passed since the last progress. A complete rollout has no
// deadline.
func timedOut(d *appsv1.Deployment, was *appsv1.DeploymentCondition) bool {
	if was == nil || was.Reason == reasonAvailable {
		return false
	}
	return was.Reason == reasonTimedOut || time.Since(was.LastUpdateTime.Time) > time.Duration(
		*d.Spec.ProgressDeadlineSeconds)*time.Second
}

// untilDeadline returns the delay until the next check for a timeout, or zero if none is needed.
func untilDeadline(d *appsv1.Deployment) time.Duration {
	was := condition(&d.Status, appsv1.DeploymentProgressing)
	if d.DeletionTimestamp != nil || d.Spec.Paused || !hasDeadline(d) || was == nil || was.Reason == reasonTimedOut ||
		complete(d, &d.Status) {
		return 0
	}
	left := time.Until(was.LastUpdateTime.Add(time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second))
	return max(left, 0) + time.Second // times in conditions are whole seconds
}

// notePause updates the condition Progressing so that the duration of a pause does not count toward the deadline.
func (ro *rollout) notePause() {
	was := condition(&ro.Status, appsv1.DeploymentProgressing)
	if !hasDeadline(ro.Deployment) || was != nil && was.Reason == reasonTimedOut {
		return
	}
	noted := was != nil && was.Reason == reasonPaused
	switch {
	case ro.Spec.Paused && !noted:
		setCondition(&ro.Status, progressing(corev1.ConditionUnknown, reasonPaused, "Deployment is paused"))
	case !ro.Spec.Paused && noted:
		setCondition(&ro.Status, progressing(corev1.ConditionUnknown, reasonResumed, "Deployment is resumed"))
	}
}

// failure returns a condition with the reason why a ReplicaSet cannot create pods. The current ReplicaSet takes
// precedence.
func (ro *rollout) failure() *appsv1.DeploymentCondition {
	sets := ro.sets()
	if ro.current != nil {
		sets = append([]*appsv1.ReplicaSet{ro.current}, sets...)
	}
	for _, set := range sets {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return &appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime,
				}
			}
		}
	}
	return nil
}

func progressing(status corev1.ConditionStatus, reason, format string, args ...any) appsv1.DeploymentCondition {
	return newCondition(appsv1.DeploymentProgressing, status, reason, fmt.Sprintf(format, args...))
}

func newCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason,
	message string) appsv1.DeploymentCondition {
	now := metav1.Now()
	return appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now,
		LastTransitionTime: now}
}

func condition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	c := status.Conditions[i]
	return &c
}

// setCondition sets a condition. It keeps an existing condition that has the same status and reason, and keeps the
// transition time if the status is the same.
func setCondition(status *appsv1.DeploymentStatus, c appsv1.DeploymentCondition) {
	if was := condition(status, c.Type); was != nil && was.Status == c.Status {
		if was.Reason == c.Reason {
			return
		}
		c.LastTransitionTime = was.LastTransitionTime
	}
	removeCondition(status, c.Type)
	status.Conditions = append(status.Conditions, c)
}

func removeCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) {
	status.Conditions = slices.DeleteFunc(status.Conditions,
		func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}
