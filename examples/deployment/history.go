package deployment

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// These are the annotations of ReplicaSets. Deployments also have revisionAnnotation.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// historyAnnotation lists the earlier revisions of a ReplicaSet to which the Deployment was rolled back.
	historyAnnotation = "deployment.kubernetes.io/revision-history"
	// desiredAnnotation is the size of the Deployment at the last reconcile. If it differs from the current size, the
	// Deployment was scaled.
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	// maxAnnotation is desiredAnnotation plus the surge. After scaling, the sizes of ReplicaSets change in proportion to
	// it.
	maxAnnotation = "deployment.kubernetes.io/max-replicas"
)

// historyLength is the maximum length of historyAnnotation in bytes.
const historyLength = 2000

// ownAnnotations are not copied between a Deployment and its ReplicaSets.
var ownAnnotations = []string{
	corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation,
	appsv1.DeprecatedRollbackTo,
}

// split returns the oldest ReplicaSet that has the template, and the other ReplicaSets sorted by age.
func split(sets []*appsv1.ReplicaSet, template *corev1.PodTemplateSpec) (
	current *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) {
	old = slices.SortedFunc(slices.Values(sets), byAge)
	if i := slices.IndexFunc(old, func(set *appsv1.ReplicaSet) bool {
		return sameTemplate(&set.Spec.Template,
			template)
	}); i >= 0 {
		current = old[i]
		old = slices.Delete(old, i, i+1)
	}
	return current, old
}

func byAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// sameTemplate reports whether two templates are equal. It ignores the hash label, which the template of a Deployment
// does not have.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// revision returns the revision of a ReplicaSet, or zero if it has none. The result is false if the annotation is not a
// number.
func revision(set *appsv1.ReplicaSet) (int64, bool) {
	text, has := set.Annotations[revisionAnnotation]
	if !has {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// nextRevision returns the highest revision of the old ReplicaSets plus one.
func (ro *rollout) nextRevision() int64 {
	newest := int64(0)
	for _, set := range ro.old {
		if n, ok := revision(set); ok {
			newest = max(newest, n)
		}
	}
	return newest + 1
}

// syncRevision sets the latest revision on the Deployment and on the current ReplicaSet, if it exists. After a
// rollback, an old ReplicaSet becomes the latest revision again.
func (ro *rollout) syncRevision(ctx context.Context) error {
	if ro.current == nil {
		return nil
	}
	set := ro.current
	changed := annotate(set, ro.Deployment, ro.nextRevision())
	if changed || set.Spec.MinReadySeconds != ro.Spec.MinReadySeconds {
		set.Spec.MinReadySeconds = ro.Spec.MinReadySeconds
		if err := ro.Update(ctx, set); err != nil {
			return err
		}
	}
	metav1.SetMetaDataAnnotation(&ro.ObjectMeta, revisionAnnotation, set.Annotations[revisionAnnotation])
	if hasDeadline(ro.Deployment) && condition(&ro.Status, appsv1.DeploymentProgressing) == nil {
		setCondition(&ro.Status, progressing(corev1.ConditionTrue, reasonFound, "Found new replica set %q", set.Name))
	}
	return nil
}

// annotate copies the annotations of the Deployment to set, and sets its revision if the next one is later. It reports
// whether set was changed.
func annotate(set *appsv1.ReplicaSet, d *appsv1.Deployment, next int64) (changed bool) {
	before, ok := revision(set)
	if text := set.Annotations[revisionAnnotation]; !ok && text != "" {
		return false // do not overwrite a revision that a user edited
	}
	for key, value := range d.Annotations {
		if has, there := set.Annotations[key]; slices.Contains(ownAnnotations, key) || there && has == value {
			continue
		}
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, value)
		changed = true
	}
	if before >= next {
		return changed
	}
	if text, had := set.Annotations[revisionAnnotation]; had {
		if history, fits := appendHistory(set.Annotations[historyAnnotation], text); fits {
			set.Annotations[historyAnnotation] = history
		}
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, revisionAnnotation, strconv.FormatInt(next, 10))
	return true
}

// appendHistory adds a revision to the history. It drops the oldest revisions if the annotation becomes too long.
func appendHistory(history, revision string) (string, bool) {
	if history == "" {
		return revision, true
	}
	history += "," + revision
	for len(history) > historyLength {
		_, rest, more := strings.Cut(history, ",")
		if !more {
			return "", false
		}
		history = rest
	}
	return history, true
}

// ensureCurrent creates the ReplicaSet of the template, or updates the revision of an existing one.
func (ro *rollout) ensureCurrent(ctx context.Context) error {
	if ro.current != nil {
		return ro.syncRevision(ctx)
	}
	set := ro.newReplicaSet()
	*set.Spec.Replicas = ro.roomForCurrent(set)
	next := ro.nextRevision()
	annotate(set, ro.Deployment, next)
	annotateSizes(set, ro.Deployment)
	err := ro.Create(ctx, set)
	switch {
	case apierrors.IsAlreadyExists(err):
		if set, err = ro.resolveCollision(ctx, set.Name, err); err != nil {
			return err
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case err != nil:
		if hasDeadline(ro.Deployment) {
			setCondition(&ro.Status, progressing(corev1.ConditionFalse, reasonCreateFailed,
				"Failed to create new replica set %q: %v", set.Name, err))
		}
		ro.warn(reasonCreateFailed, "Failed to create new replica set %q: %v", set.Name, err)
		return err
	default:
		if *set.Spec.Replicas > 0 {
			ro.inform("ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", set.Name, *set.Spec.Replicas)
		}
		if hasDeadline(ro.Deployment) {
			setCondition(&ro.Status, progressing(corev1.ConditionTrue, reasonCreated, "Created new replica set %q", set.Name))
		}
	}
	ro.current = set
	metav1.SetMetaDataAnnotation(&ro.ObjectMeta, revisionAnnotation, strconv.FormatInt(next, 10))
	return nil
}

// newReplicaSet returns the ReplicaSet of the template. Its name contains the hash, so that two processes
// cannot create two ReplicaSets for it.
func (ro *rollout) newReplicaSet() *appsv1.ReplicaSet {
	hash := templateHash(&ro.Spec.Template, ro.Status.CollisionCount)
	template := *ro.Spec.Template.DeepCopy()
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	selector := metav1.AddLabelToSelector(ro.Spec.Selector.DeepCopy(), appsv1.DefaultDeploymentUniqueLabelKey, hash)
	name := ro.Name
	if room := validation.DNS1123SubdomainMaxLength - len("-"+hash); len(name) > room {
		name = name[:room]
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ro.Namespace, Name: name + "-" + hash, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ro.Deployment,
				appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: ro.Spec.MinReadySeconds, Selector: selector,
			Template: template},
	}
}

// templateHash returns the same hash as kube-controller-manager, so ReplicaSets keep their names if either controller
// takes over from the other.
func templateHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	fmt.Fprint(hash, dump.ForHash(*template))
	if collisions != nil {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(uint32(*collisions))))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// resolveCollision returns the existing ReplicaSet with the name if it has the correct owner and template. Otherwise it
// increments the collision count, which changes the next hash.
func (ro *rollout) resolveCollision(ctx context.Context, name string, exists error) (*appsv1.ReplicaSet, error) {
	set := &appsv1.ReplicaSet{}
	if err := ro.Get(ctx, object.Key{Namespace: ro.Namespace, Name: name}, set, client.Live); err != nil {
		return nil, err
	}
	if metav1.IsControlledBy(set, ro.Deployment) && sameTemplate(&set.Spec.Template, &ro.Spec.Template) {
		return set, nil
	}
	if ro.Status.CollisionCount == nil {
		ro.Status.CollisionCount = new(int32)
	}
	*ro.Status.CollisionCount++
	return nil, exists
}

// rollbackTo returns the revision to which a user requests a rollback. Zero means the revision before the latest one.
func rollbackTo(d *appsv1.Deployment) (revision int64, asked bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// rollBack copies the template of a revision to the Deployment and always removes the rollback annotation. The next
// reconcile rolls out the copied template.
func (ro *rollout) rollBack(ctx context.Context, wanted int64) error {
	if err := ro.ensureCurrent(ctx); err != nil {
		return err
	}
	if err := ro.store(ctx); err != nil {
		return err // the update replaces the status in memory by the status on the server
	}
	if wanted == 0 {
		wanted = ro.lastRevision()
	}
	done := false
	i := slices.IndexFunc(ro.sets(), func(set *appsv1.ReplicaSet) bool {
		n, ok := revision(set)
		return ok && n == wanted
	})
	switch {
	case wanted == 0:
		ro.warn("DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
	case i < 0:
		ro.warn("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
	case sameTemplate(&ro.sets()[i].Spec.Template, &ro.Spec.Template):
		ro.warn("DeploymentRollbackTemplateUnchanged", "The rollback revision contains the same template as current "+
			"deployment %q", ro.Name)
	default:
		ro.takeFrom(ro.sets()[i])
		done = true
	}
	delete(ro.Annotations, appsv1.DeprecatedRollbackTo)
	if err := ro.Update(ctx, ro.Deployment); err != nil {
		return err
	}
	ro.stored = ro.Deployment.DeepCopy()
	if done {
		ro.inform("DeploymentRollback", "Rolled back deployment %q to revision %d", ro.Name, wanted)
	}
	return nil
}

// lastRevision returns the second highest revision.
func (ro *rollout) lastRevision() int64 {
	var first, second int64
	for _, set := range ro.sets() {
		n, ok := revision(set)
		switch {
		case !ok:
		case n >= first:
			first, second = n, first
		case n > second:
			second = n
		}
	}
	return second
}

// takeFrom replaces the template and the annotations of the Deployment with set's, including the change cause.
func (ro *rollout) takeFrom(set *appsv1.ReplicaSet) {
	set.Spec.Template.DeepCopyInto(&ro.Spec.Template)
	delete(ro.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	annotations := map[string]string{}
	for key, value := range ro.Annotations {
		if slices.Contains(ownAnnotations, key) {
			annotations[key] = value
		}
	}
	for key, value := range set.Annotations {
		if !slices.Contains(ownAnnotations, key) {
			annotations[key] = value
		}
	}
	ro.Annotations = annotations
}

// forget deletes the oldest ReplicaSets without pods beyond the history limit.
func (ro *rollout) forget(ctx context.Context) error {
	limit := ro.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 {
		return nil
	}
	alive := slices.DeleteFunc(slices.Clone(ro.old),
		func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	slices.SortStableFunc(alive, byRevision)
	for _, set := range alive[:max(0, len(alive)-int(*limit))] {
		if set.Status.Replicas != 0 || *set.Spec.Replicas != 0 || set.Generation > set.Status.ObservedGeneration {
			continue
		}
		if err := controllerutil.DeleteWithUID(ctx, ro.Client, set); err != nil {
			return err
		}
	}
	return nil
}

// byRevision orders by revision. ReplicaSets without a revision are ordered by age.
func byRevision(a, b *appsv1.ReplicaSet) int {
	m, hasA := revision(a)
	n, hasB := revision(b)
	if !hasA || !hasB {
		return byAge(a, b)
	}
	return cmp.Or(cmp.Compare(m, n), byAge(a, b))
}
