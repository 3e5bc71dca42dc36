package deployment

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// wasScaled reports whether the Deployment had another size at the last reconcile of a ReplicaSet with pods.
func (ro *rollout) wasScaled() bool {
	return slices.ContainsFunc(active(ro.sets()), func(set *appsv1.ReplicaSet) bool {
		desired, ok := sizeAnnotation(set, desiredAnnotation)
		return ok && desired != *ro.Spec.Replicas
	})
}

func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return slices.DeleteFunc(slices.Clone(sets), func(set *appsv1.ReplicaSet) bool { return *set.Spec.Replicas <= 0 })
}

// scale applies a new size of the Deployment. If only one ReplicaSet has pods, it gets the whole size. During a
// rollout, several ReplicaSets have pods, and each grows or shrinks in proportion to its size. This limits the number
// of pods of a new template that does not work.
func (ro *rollout) scale(ctx context.Context) error {
	with := active(ro.sets())
	switch {
	case len(ro.sets()) == 0:
		return nil
	case len(with) <= 1:
		return ro.setSize(ctx, ro.only(with), *ro.Spec.Replicas)
	case ro.saturated():
		for _, set := range active(ro.old) {
			if err := ro.setSize(ctx, set, 0); err != nil {
				return err
			}
		}
		return nil
	case ro.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType:
		return nil
	}
	for i, size := range ro.shares(with) {
		if err := ro.write(ctx, with[i], size); err != nil {
			return err
		}
	}
	return nil
}

// only returns the ReplicaSet that gets the whole size: the one with pods, else the current one, else the newest old
// one.
func (ro *rollout) only(with []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	switch {
	case len(with) > 0:
		return with[0]
	case ro.current != nil:
		return ro.current
	}
	return ro.old[len(ro.old)-1]
}

// saturated reports whether the current ReplicaSet has all pods of the Deployment, and all are available.
func (ro *rollout) saturated() bool {
	if ro.current == nil {
		return false
	}
	want := *ro.Spec.Replicas
	desired, err := strconv.Atoi(ro.current.Annotations[desiredAnnotation])
	return err == nil && int32(desired) == want && *ro.current.Spec.Replicas == want &&
		ro.current.Status.AvailableReplicas == want
}

// shares returns the new sizes of the ReplicaSets that have pods, and sorts the ReplicaSets by size, largest first.
// ReplicaSets of equal size are sorted newest first if they grow, and oldest first if they shrink. The first ReplicaSet
// takes the rounding error, as far as its size allows.
func (ro *rollout) shares(with []*appsv1.ReplicaSet) []int32 {
	allowed := int32(0)
	if *ro.Spec.Replicas > 0 {
		allowed = *ro.Spec.Replicas + maxSurge(ro.Deployment)
	}
	toAdd := allowed - size(with)
	slices.SortFunc(with, func(a, b *appsv1.ReplicaSet) int {
		byAge := byAge(a, b)
		if toAdd > 0 {
			byAge = -byAge
		}
		return cmp.Or(cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas), byAge)
	})
	sizes := make([]int32, len(with))
	left := toAdd
	for i, set := range with {
		// limit the share to the rest, because annotations can be wrong
		share := min(max(ro.share(set), min(left, 0)), max(left, 0))
		sizes[i] = *set.Spec.Replicas + share
		left -= share
	}
	for i := range sizes {
		rest := max(left, -sizes[i])
		sizes[i] += rest
		left -= rest
	}
	return sizes
}

// share returns the change of the size of a ReplicaSet, in proportion to its size.
func (ro *rollout) share(set *appsv1.ReplicaSet) int32 {
	has := *set.Spec.Replicas
	if *ro.Spec.Replicas == 0 {
		return -has
	}
	before, ok := sizeAnnotation(set, maxAnnotation)
	if !ok || before == 0 {
		if before = ro.Status.Replicas; before == 0 { // a user removed the annotation, and no pods exist
			return 0
		}
	}
	now := *ro.Spec.Replicas + maxSurge(ro.Deployment)
	return int32(math.Round(float64(has)*float64(now)/float64(before))) - has
}

// setSize scales a ReplicaSet.
func (ro *rollout) setSize(ctx context.Context, set *appsv1.ReplicaSet, to int32) error {
	if *set.Spec.Replicas == to {
		return nil
	}
	return ro.write(ctx, set, to)
}

// write writes the size of a ReplicaSet and the size of the Deployment, if either changed.
func (ro *rollout) write(ctx context.Context, set *appsv1.ReplicaSet, to int32) error {
	from := *set.Spec.Replicas
	if !annotateSizes(set, ro.Deployment) && from == to {
		return nil
	}
	*set.Spec.Replicas = to
	if err := ro.Update(ctx, set); err != nil {
		return err
	}
	switch {
	case from < to:
		ro.inform("ScalingReplicaSet", "Scaled up replica set %s from %d to %d", set.Name, from, to)
	case from > to:
		ro.inform("ScalingReplicaSet", "Scaled down replica set %s from %d to %d", set.Name, from, to)
	}
	return nil
}

func annotateSizes(set *appsv1.ReplicaSet, d *appsv1.Deployment) (changed bool) {
	for key, n := range map[string]int32{desiredAnnotation: *d.Spec.Replicas,
		maxAnnotation: *d.Spec.Replicas + maxSurge(d)} {
		if text := strconv.Itoa(int(n)); set.Annotations[key] != text {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, text)
			changed = true
		}
	}
	return changed
}

// sizeAnnotation returns the size in an annotation. The result is false if the annotation is not a valid size.
func sizeAnnotation(set *appsv1.ReplicaSet, key string) (int32, bool) {
	n, err := strconv.ParseUint(set.Annotations[key], 10, 31)
	return int32(n), err == nil
}

// size returns the sum of the sizes of the ReplicaSets.
func size(sets []*appsv1.ReplicaSet) (n int32) {
	for _, set := range sets {
		n += *set.Spec.Replicas
	}
	return n
}

// maxSurge returns the number of pods that may exist beyond the size of the Deployment.
func maxSurge(d *appsv1.Deployment) int32 {
	surge, _ := bounds(d)
	return surge
}

// maxUnavailable returns how many pods of the Deployment may be unavailable.
func maxUnavailable(d *appsv1.Deployment) int32 {
	_, unavailable := bounds(d)
	return min(unavailable, *d.Spec.Replicas)
}

// bounds resolves percentages: it rounds the surge up and the unavailable pods down. If both are zero, it allows one
// unavailable pod, because otherwise no pod could ever be replaced.
func bounds(d *appsv1.Deployment) (surge, unavailable int32) {
	rolling := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return 0, 0
	}
	surge, unavailable = part(rolling.MaxSurge, d, true), part(rolling.MaxUnavailable, d, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

// part resolves a number or a percentage of the size of d. The API server has validated the value.
func part(of *intstr.IntOrString, d *appsv1.Deployment, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(*d.Spec.Replicas),
		up)
	if err != nil {
		return 0
	}
	return int32(n)
}
