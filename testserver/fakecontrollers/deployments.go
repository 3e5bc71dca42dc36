package fakecontrollers

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/dump"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// deployments rolls out the templates of Deployments. Each template has a ReplicaSet. During a rollout, the controller
// scales the old ReplicaSets down and the current one up.
var deployments = Controller{"deployment-controller", func(m *manager.Manager) error {
	sets, err := newOwned(m, &appsv1.ReplicaSet{})
	if err != nil {
		return err
	}
	pods, err := newOwned(m, &corev1.Pod{})
	if err != nil {
		return err
	}
	p := &deploymentController{m.Client(), sets, pods}
	return controller.For[*appsv1.Deployment](m).Named("deployment-controller").Owns(&appsv1.ReplicaSet{}).
		Watches(&appsv1.ReplicaSet{}, adopters(m.Client(), func() object.List { return &appsv1.DeploymentList{} })).
		Complete(byName[appsv1.Deployment](m.Client(), p.reconcile))
}}

// These are annotations of ReplicaSets. Deployments also have the first one.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// historyAnnotation lists the earlier revisions of a ReplicaSet that became the current one again.
	historyAnnotation = "deployment.kubernetes.io/revision-history"
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// notCopied are annotations that are not copied from a Deployment to its ReplicaSets.
var notCopied = []string{corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation,
	maxAnnotation, appsv1.DeprecatedRollbackTo}

type deploymentController struct {
	client.Client
	sets *owned[*appsv1.ReplicaSet]
	pods *owned[*corev1.Pod]
}

func (p *deploymentController) reconcile(ctx context.Context, d *appsv1.Deployment) (reconcile.Result, error) {
	sets, err := p.sets.claim(ctx, d, d.Spec.Selector, func(*appsv1.ReplicaSet) bool { return true })
	if err != nil {
		return reconcile.Result{}, err
	}
	ro := &rollout{deploymentController: p, Deployment: d, before: d.DeepCopy()}
	ro.split(sets)
	failure := ro.step(ctx)
	ro.judge()
	if apierrors.IsConflict(failure) {
		return reconcile.Result{}, failure
	}
	// A patch of the status can also change annotations, so this request also writes the revision.
	err = errors.Join(unlessTerminating(failure), writeStatus(ctx, ro.Client, ro.before, d))
	return reconcile.Result{RequeueAfter: ro.untilDeadline()}, err
}

// rollout is the state of one reconcile of a Deployment. All its objects are copies.
type rollout struct {
	*deploymentController
	*appsv1.Deployment
	before  *appsv1.Deployment
	current *appsv1.ReplicaSet   // ReplicaSet of the template, or nil
	old     []*appsv1.ReplicaSet // oldest first
	created bool                 // this reconcile created current
}

// split separates the ReplicaSet of the template from the old ones. If several have the template, it uses the oldest.
func (ro *rollout) split(sets []*appsv1.ReplicaSet) {
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(revision(a), revision(b)))
	})
	for _, set := range sets {
		if ro.current == nil && sameTemplate(&set.Spec.Template, &ro.Spec.Template) {
			ro.current = set
		} else {
			ro.old = append(ro.old, set)
		}
	}
}

// sameTemplate reports whether two templates are equal. It ignores the hash label, which templates of Deployments do
// not have.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// revision returns the revision of a ReplicaSet, or zero.
func revision(set *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(set.Annotations[revisionAnnotation], 10, 64)
	return n
}

// step takes one step of the rollout. Its write causes an event, which triggers the next step.
func (ro *rollout) step(ctx context.Context) error {
	if ro.DeletionTimestamp != nil {
		return nil
	}
	if ro.current != nil {
		if err := ro.annotate(ctx); err != nil {
			return err
		}
	}
	if ro.Spec.Paused {
		return ro.resizePaused(ctx)
	}
	if ro.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return ro.recreate(ctx)
	}
	return ro.roll(ctx)
}

// resizePaused applies the size of a paused Deployment if only one ReplicaSet has pods.
func (ro *rollout) resizePaused(ctx context.Context) error {
	with := slices.DeleteFunc(ro.all(), func(set *appsv1.ReplicaSet) bool { return *set.Spec.Replicas == 0 })
	switch {
	case len(with) == 1:
		return ro.resize(ctx, with[0], *ro.Spec.Replicas)
	case len(with) == 0 && len(ro.all()) > 0:
		return ro.resize(ctx, cmp.Or(ro.current, ro.all()[len(ro.all())-1]), *ro.Spec.Replicas)
	}
	return nil
}

// recreate waits until the last old pod is gone before it creates new ones.
func (ro *rollout) recreate(ctx context.Context) error {
	waits := false
	for _, set := range ro.old {
		if err := ro.resize(ctx, set, 0); err != nil {
			return err
		}
		pods, err := ro.pods.by(ctx, set.Namespace, set.UID)
		if err != nil {
			return err
		}
		waits = waits || slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !podutil.IsPodTerminal(pod) })
	}
	if waits {
		return nil
	}
	if err := ro.ensureCurrent(ctx, *ro.Spec.Replicas); err != nil {
		return err
	}
	return errors.Join(ro.resize(ctx, ro.current, *ro.Spec.Replicas), ro.forget(ctx))
}

// roll scales up the current ReplicaSet if the surge allows it. Otherwise it scales down the old ReplicaSets, as far as
// the allowed number of unavailable pods permits.
func (ro *rollout) roll(ctx context.Context) error {
	want, others := *ro.Spec.Replicas, size(ro.old)
	surge, unavailable := ro.bounds()
	has := int32(0)
	if ro.current != nil {
		has = *ro.current.Spec.Replicas
	}
	room := min(max(want+surge-others, has), want) // do not scale down, unless the Deployment was scaled down
	if err := ro.ensureCurrent(ctx, room); err != nil {
		return err
	}
	if err := ro.resize(ctx, ro.current, room); err != nil || room != has {
		return err
	}
	if ro.current.Status.ObservedGeneration < ro.current.Generation {
		return nil // its status is outdated
	}
	available := ro.current.Status.AvailableReplicas
	for _, set := range ro.old {
		available += min(set.Status.AvailableReplicas, *set.Spec.Replicas)
	}
	spare := available - (want - unavailable)
	for _, set := range ro.old {
		broken := *set.Spec.Replicas - min(set.Status.AvailableReplicas, *set.Spec.Replicas)
		take := min(max(spare, 0), *set.Spec.Replicas-broken)
		if err := ro.resize(ctx, set, *set.Spec.Replicas-broken-take); err != nil {
			return err
		}
		spare -= take
	}
	return ro.forget(ctx)
}

func (ro *rollout) all() []*appsv1.ReplicaSet {
	if ro.current == nil {
		return slices.Clone(ro.old)
	}
	return append(slices.Clone(ro.old), ro.current)
}

// size returns the total number of desired pods of ReplicaSets.
func size(sets []*appsv1.ReplicaSet) (n int32) {
	for _, set := range sets {
		n += *set.Spec.Replicas
	}
	return n
}

// bounds returns how many pods may exist beyond the desired number, and how many pods may be unavailable.
func (ro *rollout) bounds() (surge, unavailable int32) {
	rolling := ro.Spec.Strategy.RollingUpdate
	if ro.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return 0, 0
	}
	surge, unavailable = scaled(rolling.MaxSurge, *ro.Spec.Replicas, true),
		scaled(rolling.MaxUnavailable, *ro.Spec.Replicas, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, *ro.Spec.Replicas)
}

// scaled resolves a number, or a percentage of a size. The API server rejects other values.
func scaled(of *intstr.IntOrString, size int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(size), up)
	if err != nil {
		return 0
	}
	return int32(n)
}

// resize writes the size of a ReplicaSet and the annotations that record the size of the Deployment.
func (ro *rollout) resize(ctx context.Context, set *appsv1.ReplicaSet, to int32) error {
	noted := ro.noteSizes(set)
	if *set.Spec.Replicas == to && (!noted || to == 0) {
		return nil
	}
	*set.Spec.Replicas = to
	return ro.Update(ctx, set)
}

func (ro *rollout) noteSizes(set *appsv1.ReplicaSet) (changed bool) {
	surge, _ := ro.bounds()
	for key, n := range map[string]int32{desiredAnnotation: *ro.Spec.Replicas, maxAnnotation: *ro.Spec.Replicas + surge} {
		if text := strconv.Itoa(int(n)); set.Annotations[key] != text {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, text)
			changed = true
		}
	}
	return changed
}

// annotate sets the annotations of the Deployment and the next revision on the current ReplicaSet.
func (ro *rollout) annotate(ctx context.Context) error {
	set, base := ro.current, ro.current.DeepCopy()
	ro.copyAnnotations(set)
	set.Spec.MinReadySeconds = ro.Spec.MinReadySeconds
	if !equality.Semantic.DeepEqual(set, base) {
		if err := ro.Update(ctx, set); err != nil {
			return err
		}
	}
	metav1.SetMetaDataAnnotation(&ro.ObjectMeta, revisionAnnotation, set.Annotations[revisionAnnotation])
	if ro.hasDeadline() && ro.condition(appsv1.DeploymentProgressing) == nil {
		ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet",
			fmt.Sprintf("Found new replica set %q", set.Name))
	}
	return nil
}

func (ro *rollout) copyAnnotations(set *appsv1.ReplicaSet) {
	for key, value := range ro.Annotations {
		if !slices.Contains(notCopied, key) {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, value)
		}
	}
	newest := int64(0)
	for _, set := range ro.old {
		newest = max(newest, revision(set))
	}
	was := revision(set)
	if was > newest {
		return
	}
	if was > 0 {
		history := set.Annotations[historyAnnotation]
		if history != "" {
			history += ","
		}
		set.Annotations[historyAnnotation] = history + strconv.FormatInt(was, 10)
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, revisionAnnotation, strconv.FormatInt(newest+1, 10))
}

// ensureCurrent creates the ReplicaSet of the template if it does not exist. The name is the one that
// kube-controller-manager would choose.
func (ro *rollout) ensureCurrent(ctx context.Context, size int32) error {
	if ro.current != nil {
		return nil
	}
	hash := templateHash(&ro.Spec.Template, ro.Status.CollisionCount)
	template := ro.Spec.Template.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: ro.Namespace, Name: ro.Name + "-" + hash, Labels: template.Labels},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &size, MinReadySeconds: ro.Spec.MinReadySeconds, Template: *template,
			Selector: metav1.AddLabelToSelector(ro.Spec.Selector.DeepCopy(), appsv1.DefaultDeploymentUniqueLabelKey, hash),
		},
	}
	ro.copyAnnotations(set)
	ro.noteSizes(set)
	switch err := createOwned(ctx, ro.Client, ro.Deployment, set); {
	case apierrors.IsAlreadyExists(err):
		if ro.Status.CollisionCount == nil {
			ro.Status.CollisionCount = new(int32)
		}
		*ro.Status.CollisionCount++ // the next attempt has another name
		return err
	case err != nil:
		if ro.hasDeadline() && unlessTerminating(err) != nil {
			ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError",
				fmt.Sprintf("Failed to create new replica set %q: %v", set.Name, err))
		}
		return err
	}
	ro.current, ro.created = set, true
	metav1.SetMetaDataAnnotation(&ro.ObjectMeta, revisionAnnotation, set.Annotations[revisionAnnotation])
	if ro.hasDeadline() {
		ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated",
			fmt.Sprintf("Created new replica set %q", set.Name))
	}
	return nil
}

// templateHash returns the hash of a template that kube-controller-manager computes.
func templateHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	//lint:ignore SA1019 go mod tidy would add the latest version of its successor, which projects do not require
	fmt.Fprint(hash, dump.ForHash(*template))
	if collisions != nil {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(uint32(*collisions))))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// forget deletes the oldest ReplicaSets without pods beyond the history limit, once the rollout is complete.
func (ro *rollout) forget(ctx context.Context) error {
	limit := ro.Spec.RevisionHistoryLimit
	if limit == nil || !ro.complete() {
		return nil
	}
	empty := slices.DeleteFunc(slices.Clone(ro.old),
		func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	slices.SortStableFunc(empty, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revision(a), revision(b)) })
	return each(empty[:max(0, len(empty)-int(*limit))], func(set *appsv1.ReplicaSet) error {
		if *set.Spec.Replicas > 0 || set.Status.Replicas > 0 || set.Status.ObservedGeneration < set.Generation {
			return nil
		}
		return controllerutil.DeleteWithUID(ctx, ro.Client, set)
	})
}

// judge computes the status of the Deployment from the statuses of its ReplicaSets.
func (ro *rollout) judge() {
	status, was := &ro.Status, ro.before.Status
	status.ObservedGeneration = ro.Generation
	status.Replicas, status.ReadyReplicas, status.AvailableReplicas, status.UpdatedReplicas,
		status.TerminatingReplicas = 0, 0, 0, 0, new(int32)
	for _, set := range ro.all() {
		status.Replicas += set.Status.Replicas
		status.ReadyReplicas += set.Status.ReadyReplicas
		status.AvailableReplicas += set.Status.AvailableReplicas
		*status.TerminatingReplicas += valueOr(set.Status.TerminatingReplicas, 0)
	}
	if ro.current != nil {
		status.UpdatedReplicas = ro.current.Status.Replicas
	}
	status.UnavailableReplicas = max(0, size(ro.all())-status.AvailableReplicas)
	if _, unavailable := ro.bounds(); status.AvailableReplicas >= *ro.Spec.Replicas-unavailable {
		ro.setCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
			"Deployment has minimum availability.")
	} else {
		ro.setCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability.")
	}
	if ro.DeletionTimestamp == nil {
		ro.judgeProgress(&was)
		ro.judgeFailure()
	}
}

const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
)

// judgeProgress sets the condition Progressing of a rollout that was incomplete at the last check.
func (ro *rollout) judgeProgress(was *appsv1.DeploymentStatus) {
	c := ro.condition(appsv1.DeploymentProgressing)
	switch {
	case !ro.hasDeadline():
		ro.removeCondition(appsv1.DeploymentProgressing)
		return
	case ro.Spec.Paused:
		if c == nil || c.Reason != reasonPaused && c.Reason != reasonTimedOut {
			ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
		}
		return
	case c != nil && c.Reason == reasonPaused:
		ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
		c = ro.condition(appsv1.DeploymentProgressing)
	}
	if ro.created || ro.current == nil || c != nil && c.Reason == reasonAvailable &&
		ro.Status.Replicas == ro.Status.UpdatedReplicas {
		return
	}
	now, what := &ro.Status, fmt.Sprintf("ReplicaSet %q", ro.current.Name)
	switch {
	case ro.complete():
		ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonAvailable,
			what+" has successfully progressed.")
	case now.UpdatedReplicas > was.UpdatedReplicas ||
		now.Replicas-now.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		now.ReadyReplicas > was.ReadyReplicas || now.AvailableReplicas > was.AvailableReplicas:
		ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", what+" is progressing.")
		ro.condition(appsv1.DeploymentProgressing).LastUpdateTime = metav1.Now()
	case ro.timedOut(c):
		ro.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonTimedOut,
			what+" has timed out progressing.")
	}
}

// judgeFailure copies the reason why a ReplicaSet cannot create pods. The reason of the current ReplicaSet takes
// precedence.
func (ro *rollout) judgeFailure() {
	sets := ro.all()
	slices.Reverse(sets)
	for _, set := range sets {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				ro.setCondition(appsv1.DeploymentReplicaFailure, c.Status, c.Reason, c.Message)
				return
			}
		}
	}
	ro.removeCondition(appsv1.DeploymentReplicaFailure)
}

// complete reports whether exactly the desired number of pods exists, all with the current template and available.
func (ro *rollout) complete() bool {
	want, status := *ro.Spec.Replicas, &ro.Status
	return status.UpdatedReplicas == want && status.Replicas == want && status.AvailableReplicas == want &&
		status.ObservedGeneration >= ro.Generation
}

func (ro *rollout) hasDeadline() bool {
	return valueOr(ro.Spec.ProgressDeadlineSeconds, math.MaxInt32) != math.MaxInt32
}

func (ro *rollout) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*ro.Spec.ProgressDeadlineSeconds) * time.Second)
}

func (ro *rollout) timedOut(c *appsv1.DeploymentCondition) bool {
	return c != nil && c.Reason != reasonAvailable && (c.Reason == reasonTimedOut || time.Now().After(ro.deadline(c)))
}

// untilDeadline returns the delay until the next check of the timeout, or zero.
func (ro *rollout) untilDeadline() time.Duration {
	c := ro.condition(appsv1.DeploymentProgressing)
	if ro.DeletionTimestamp != nil || ro.Spec.Paused || !ro.hasDeadline() || c == nil || c.Reason == reasonTimedOut ||
		ro.complete() {
		return 0
	}
	return max(time.Until(ro.deadline(c)), 0) + time.Second // times in conditions are whole seconds
}

func (ro *rollout) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range ro.Status.Conditions {
		if ro.Status.Conditions[i].Type == kind {
			return &ro.Status.Conditions[i]
		}
	}
	return nil
}

// setCondition sets a condition. It keeps an existing condition with the same status and reason, and moves a changed
// condition to the end.
func (ro *rollout) setCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason,
	message string) {
	now := metav1.Now()
	c := appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now,
		LastTransitionTime: now}
	if was := ro.condition(kind); was != nil && was.Status == status {
		if was.Reason == reason {
			return
		}
		c.LastTransitionTime = was.LastTransitionTime
	}
	ro.removeCondition(kind)
	ro.Status.Conditions = append(ro.Status.Conditions, c)
}

func (ro *rollout) removeCondition(kind appsv1.DeploymentConditionType) {
	ro.Status.Conditions = slices.DeleteFunc(ro.Status.Conditions,
		func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}
