package deployment

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// roll takes one step of a rolling update. It scales up if the surge allows it. Otherwise it scales down if enough pods
// are available. It never does both, because scaling up changes how far it can scale down.
func (ro *rollout) roll(ctx context.Context) error {
	if err := ro.ensureCurrent(ctx); err != nil {
		return err
	}
	if scaled, err := ro.growCurrent(ctx); scaled || err != nil {
		return err
	}
	if scaled, err := ro.shrinkOld(ctx); scaled || err != nil {
		return err
	}
	return ro.forgetWhenComplete(ctx)
}

// growCurrent scales the current ReplicaSet up as far as the surge allows, or down to the size of the Deployment.
func (ro *rollout) growCurrent(ctx context.Context) (scaled bool, err error) {
	has, want := *ro.current.Spec.Replicas, *ro.Spec.Replicas
	if has < want {
		want = ro.roomForCurrent(ro.current)
	}
	return has != want, ro.setSize(ctx, ro.current, want)
}

// roomForCurrent returns the largest size of the current ReplicaSet within the size of the Deployment and the surge.
func (ro *rollout) roomForCurrent(current *appsv1.ReplicaSet) int32 {
	has, want := *current.Spec.Replicas, *ro.Spec.Replicas
	if ro.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return want
	}
	most := want + part(ro.Spec.Strategy.RollingUpdate.MaxSurge, ro.Deployment, true)
	room := most - size(ro.old) - has
	if room <= 0 {
		return has
	}
	return has + min(room, want-has)
}

// shrinkOld scales down old ReplicaSets. It first removes unhealthy pods, because they block new pods. It keeps so many
// pods that at most maxUnavailable are missing. It does not count pods of the current ReplicaSet that are not available
// yet, so that unavailable pods cannot accumulate.
func (ro *rollout) shrinkOld(ctx context.Context) (scaled bool, err error) {
	old := active(ro.old)
	if len(old) == 0 || ro.current.Status.ObservedGeneration < ro.current.Generation {
		return false, nil // no old pods, or the status of current is out of date; the next event brings its status
	}
	least := *ro.Spec.Replicas - maxUnavailable(ro.Deployment)
	most := size(ro.sets()) - least - (*ro.current.Spec.Replicas - ro.current.Status.AvailableReplicas)
	if most <= 0 {
		return false, nil
	}
	unhealthy, err := ro.take(ctx, old, most, func(set *appsv1.ReplicaSet) int32 {
		return *set.Spec.Replicas - set.Status.AvailableReplicas
	})
	if err != nil {
		return false, err
	}
	healthy, err := ro.take(ctx, old, staying(append(old, ro.current))-least, func(set *appsv1.ReplicaSet) int32 {
		return *set.Spec.Replicas
	})
	return unhealthy+healthy > 0, err
}

// staying returns the number of available pods. For each ReplicaSet it counts at most as many pods as its size, because
// the status lags after the ReplicaSet is scaled down.
func staying(sets []*appsv1.ReplicaSet) (n int32) {
	for _, set := range sets {
		n += min(set.Status.AvailableReplicas, *set.Spec.Replicas)
	}
	return n
}

// take scales ReplicaSets down by at most most pods in total, oldest first. It scales each of them down by at most the
// result of spare.
func (ro *rollout) take(ctx context.Context, from []*appsv1.ReplicaSet, most int32,
	spare func(*appsv1.ReplicaSet) int32) (taken int32, err error) {
	for _, set := range from {
		n := min(most-taken, spare(set))
		if n <= 0 {
			continue
		}
		if err := ro.setSize(ctx, set, *set.Spec.Replicas-n); err != nil {
			return taken, err
		}
		taken += n
	}
	return taken, nil
}

// recreate waits until the last old pod is gone before it creates new ones.
func (ro *rollout) recreate(ctx context.Context) error {
	if old := active(ro.old); len(old) > 0 {
		for _, set := range old {
			if err := ro.setSize(ctx, set, 0); err != nil {
				return err
			}
		}
		return nil
	}
	running, err := ro.oldPodsRun(ctx)
	if running || err != nil {
		return err
	}
	if err := ro.ensureCurrent(ctx); err != nil {
		return err
	}
	if err := ro.setSize(ctx, ro.current, *ro.Spec.Replicas); err != nil {
		return err
	}
	return ro.forgetWhenComplete(ctx)
}

// oldPodsRun reports whether old pods are still running. It checks the ReplicaSets and also the pods, because no status
// counts a pod that is being deleted.
func (ro *rollout) oldPodsRun(ctx context.Context) (bool, error) {
	if slices.ContainsFunc(ro.old, func(set *appsv1.ReplicaSet) bool { return set.Status.Replicas > 0 }) {
		return true, nil
	}
	for _, set := range ro.old {
		for pod, err := range ro.podsOf.Get(ctx, set.UID) {
			if err != nil {
				return false, err
			}
			if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
				return true, nil
			}
		}
	}
	return false, nil
}

func (ro *rollout) forgetWhenComplete(ctx context.Context) error {
	if !complete(ro.Deployment, &ro.Status) {
		return nil
	}
	return ro.forget(ctx)
}
