package fakecontrollers

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/rand"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// statefulSets maintains the pods of StatefulSets. The pods have stable names and claims, and are created, deleted and
// replaced in the order of their ordinals.
var statefulSets = Controller{"statefulset-controller", func(m *manager.Manager) error {
	pods, err := newOwned(m, &corev1.Pod{})
	if err != nil {
		return err
	}
	revisions, err := newOwned(m, &appsv1.ControllerRevision{})
	if err != nil {
		return err
	}
	p := &statefulSetController{m.Client(), pods, revisions}
	return controller.For[*appsv1.StatefulSet](m).Named("statefulset-controller").Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, adopters(m.Client(), func() object.List { return &appsv1.StatefulSetList{} })).
		Complete(byName[appsv1.StatefulSet](m.Client(), p.reconcile))
}}

type statefulSetController struct {
	client.Client
	pods      *owned[*corev1.Pod]
	revisions *owned[*appsv1.ControllerRevision]
}

func (p *statefulSetController) reconcile(ctx context.Context, set *appsv1.StatefulSet) (reconcile.Result, error) {
	all, err := p.pods.claim(ctx, set, set.Spec.Selector,
		func(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Name, set.Name+"-") })
	if err != nil {
		return reconcile.Result{}, err
	}
	revisions, err := p.revisions.by(ctx, set.Namespace, set.UID)
	if err != nil {
		return reconcile.Result{}, err
	}
	before := set.DeepCopy()
	if set.Status.CollisionCount == nil {
		set.Status.CollisionCount = new(int32)
	}
	present, err := p.syncHistory(ctx, set, revisions)
	if err != nil {
		return reconcile.Result{}, err
	}
	set.Status.CurrentRevision = cmp.Or(set.Status.CurrentRevision, set.Status.UpdateRevision)
	var failure error
	if set.DeletionTimestamp == nil {
		failure = unlessTerminating(p.step(ctx, set, all))
	}
	judgeStatefulSet(set, all)
	if err := writeStatus(ctx, p.Client, before, set); err != nil || failure != nil {
		return reconcile.Result{}, cmp.Or(failure, err)
	}
	err = present.forget(ctx, p.Client, set.Spec.RevisionHistoryLimit, func(r *appsv1.ControllerRevision) bool {
		return r.Name == set.Status.CurrentRevision || r.Name == set.Status.UpdateRevision ||
			slices.ContainsFunc(all, func(pod *corev1.Pod) bool { return revisionOf(pod) == r.Name })
	})
	return reconcile.Result{RequeueAfter: untilAvailable(set.Spec.MinReadySeconds, all)}, err
}

// syncHistory records the current template. Its revision is the update revision.
func (p *statefulSetController) syncHistory(ctx context.Context, set *appsv1.StatefulSet,
	known history) (history, error) {
	data, err := revisionData(&set.Spec.Template)
	if err != nil {
		return nil, err
	}
	sum := fnv.New32()
	sum.Write(data)
	sum.Write(strconv.AppendInt(nil, int64(*set.Status.CollisionCount), 10))
	hash := rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10))
	known, err = known.sync(ctx, p.Client, set, data, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name:   set.Name + "-" + hash,
		Labels: labels.Merge(set.Spec.Template.Labels, labels.Set{"controller.kubernetes.io/hash": hash}),
	}})
	if err != nil {
		return nil, unlessTerminating(err)
	}
	set.Status.UpdateRevision = known[len(known)-1].Name
	return known, nil
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

// ordinal returns the ordinal of a pod, or a negative number if the pod has none.
func ordinal(set *appsv1.StatefulSet, pod *corev1.Pod) int {
	n, err := strconv.Atoi(strings.TrimPrefix(pod.Name, set.Name+"-"))
	if err != nil {
		return -1
	}
	return n
}

func firstOrdinal(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals != nil {
		return int(set.Spec.Ordinals.Start)
	}
	return 0
}

// step creates missing pods, deletes excess pods, and replaces pods with an old template. Unless the policy is
// Parallel, a pod that is not ready delays all later pods.
func (p *statefulSetController) step(ctx context.Context, set *appsv1.StatefulSet, all []*corev1.Pod) error {
	byOrdinal := map[int]*corev1.Pod{}
	for _, pod := range all {
		byOrdinal[ordinal(set, pod)] = pod
	}
	first, parallel := firstOrdinal(set), set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	last := first + int(*set.Spec.Replicas)
	for n := first; n < last; n++ {
		held, err := p.keep(ctx, set, n, byOrdinal[n])
		if err != nil || held && !parallel {
			return err
		}
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(byOrdinal))) {
		if n >= first && n < last {
			continue
		}
		if err := p.remove(ctx, byOrdinal[n]); err != nil || !parallel {
			return err
		}
	}
	return p.update(ctx, set, byOrdinal)
}

// keep ensures that the pod with an ordinal exists, and reports whether later pods must wait for it.
func (p *statefulSetController) keep(ctx context.Context, set *appsv1.StatefulSet, n int,
	pod *corev1.Pod) (held bool, err error) {
	switch {
	case pod == nil:
		return true, p.create(ctx, set, n)
	case pod.DeletionTimestamp != nil:
		return true, nil
	case podutil.IsPodTerminal(pod):
		return true, p.remove(ctx, pod)
	}
	return !isAvailable(pod, set.Spec.MinReadySeconds), nil
}

func (p *statefulSetController) remove(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	return controllerutil.DeleteWithUID(ctx, p.Client, pod)
}

// create creates the pod with an ordinal and its claims. A pod below the partition gets the previous revision, if that
// is known.
func (p *statefulSetController) create(ctx context.Context, set *appsv1.StatefulSet, n int) error {
	revision, template := set.Status.UpdateRevision, &set.Spec.Template
	if n < firstOrdinal(set)+partition(set) && set.Status.CurrentRevision != revision {
		old, err := p.templateOf(ctx, set, set.Status.CurrentRevision)
		if err != nil {
			return err
		}
		if old != nil {
			revision, template = set.Status.CurrentRevision, old
		}
	}
	pod := podOf(template)
	pod.Namespace, pod.Name, pod.GenerateName = set.Namespace, fmt.Sprintf("%s-%d", set.Name, n), set.Name+"-"
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, strconv.Itoa(n))
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetRevisionLabel, revision)
	for i := range set.Spec.VolumeClaimTemplates {
		claim := set.Spec.VolumeClaimTemplates[i].DeepCopy()
		volume := corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + pod.Name},
		}}
		pod.Spec.Volumes = append(slices.DeleteFunc(pod.Spec.Volumes,
			func(v corev1.Volume) bool { return v.Name == volume.Name }), volume)
		claim.Namespace, claim.Name, claim.Status = set.Namespace, claim.Name+"-"+pod.Name,
			corev1.PersistentVolumeClaimStatus{}
		for key, value := range set.Spec.Selector.MatchLabels {
			metav1.SetMetaDataLabel(&claim.ObjectMeta, key, value)
		}
		if err := client.IgnoreAlreadyExists(p.Create(ctx, claim)); err != nil {
			return err
		}
	}
	err := createOwned(ctx, p.Client, set, pod)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("pod %s belongs to another owner: %w", pod.Name, err)
	}
	return err
}

func (p *statefulSetController) templateOf(ctx context.Context, set *appsv1.StatefulSet,
	name string) (*corev1.PodTemplateSpec, error) {
	revision := &appsv1.ControllerRevision{}
	if err := p.Get(ctx, object.Key{Namespace: set.Namespace, Name: name}, revision); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return templateIn(revision)
}

// partition returns how many pods, counted from the first ordinal, keep their template during an update.
func partition(set *appsv1.StatefulSet) int {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return int(valueOr(rolling.Partition, 0))
	}
	return 0
}

// update deletes the last pod with an old template, unless a pod that it has already replaced is not ready yet.
func (p *statefulSetController) update(ctx context.Context, set *appsv1.StatefulSet,
	byOrdinal map[int]*corev1.Pod) error {
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	for n := firstOrdinal(set) + int(*set.Spec.Replicas) - 1; n >= firstOrdinal(set)+partition(set); n-- {
		pod := byOrdinal[n]
		if pod == nil {
			return nil
		}
		if revisionOf(pod) != set.Status.UpdateRevision {
			return p.remove(ctx, pod)
		}
		if !isActive(pod) || !isAvailable(pod, set.Spec.MinReadySeconds) {
			return nil
		}
	}
	return nil
}

// judgeStatefulSet sets the status. When all pods have the update revision and are ready, the update revision becomes
// the current revision.
func judgeStatefulSet(set *appsv1.StatefulSet, all []*corev1.Pod) {
	status := &set.Status
	status.ObservedGeneration = set.Generation
	status.Replicas, status.ReadyReplicas, status.AvailableReplicas, status.CurrentReplicas, status.UpdatedReplicas = 0, 0,
		0, 0, 0
	for _, pod := range all {
		if podutil.IsPodTerminal(pod) {
			continue
		}
		status.Replicas++
		status.ReadyReplicas += one(podutil.IsPodReady(pod))
		status.AvailableReplicas += one(isAvailable(pod, set.Spec.MinReadySeconds))
		if pod.DeletionTimestamp == nil {
			status.CurrentReplicas += one(revisionOf(pod) == status.CurrentRevision)
			status.UpdatedReplicas += one(revisionOf(pod) == status.UpdateRevision)
		}
	}
	onDelete := set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	if want := *set.Spec.Replicas; !onDelete && status.UpdatedReplicas == want && status.Replicas == want &&
		status.ReadyReplicas == want {
		status.CurrentReplicas, status.CurrentRevision = status.UpdatedReplicas, status.UpdateRevision
	}
}
