package fakecontrollers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// jobs runs the pods of Jobs until enough pods have succeeded or too many have failed.
var jobs = Controller{"job-controller", func(m *manager.Manager) error {
	pods, err := newOwned(m, &corev1.Pod{})
	if err != nil {
		return err
	}
	p := &jobController{m.Client(), pods}
	return controller.For[*batchv1.Job](m).Named("job-controller").Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, adopters(m.Client(), func() object.List { return &batchv1.JobList{} })).
		Complete(reconcile.Func[reconcile.Request](p.reconcile))
}}

type jobController struct {
	client.Client
	pods *owned[*corev1.Pod]
}

func (p *jobController) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	job := &batchv1.Job{}
	if err := p.Get(ctx, r.NamespacedName, job); err != nil {
		if apierrors.IsNotFound(err) {
			err = p.removeFinalizers(ctx, r.NamespacedName, "")
		}
		return reconcile.Result{}, err
	}
	if job.DeletionTimestamp != nil {
		return reconcile.Result{}, p.removeFinalizers(ctx, r.NamespacedName, job.UID)
	}
	if valueOr(job.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName {
		return reconcile.Result{}, nil
	}
	pods, err := p.pods.claim(ctx, job, job.Spec.Selector,
		func(pod *corev1.Pod) bool { return !podutil.IsPodTerminal(pod) })
	if err != nil {
		return reconcile.Result{}, err
	}
	w := &work{jobController: p, Job: job, before: job.DeepCopy(), pods: pods}
	return w.step(ctx)
}

// removeFinalizers removes the finalizer from the pods of a deleted Job, because the Job no longer counts them. An
// empty uid means any Job.
func (p *jobController) removeFinalizers(ctx context.Context, job types.NamespacedName, uid types.UID) error {
	var pods corev1.PodList
	if err := p.List(ctx, &pods, client.InNamespace(job.Namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		owner := metav1.GetControllerOfNoCopy(&pods.Items[i])
		if owner == nil || owner.Kind != "Job" || owner.Name != job.Name || uid != "" && owner.UID != uid {
			continue
		}
		if err := p.untrack(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// untrack removes the finalizer that keeps a pod until the Job has counted it.
func (p *jobController) untrack(ctx context.Context, pod *corev1.Pod) error {
	if !controllerutil.ContainsFinalizer(pod, batchv1.JobTrackingFinalizer) {
		return nil
	}
	return p.pods.change(ctx, pod, func(pod *corev1.Pod) error {
		controllerutil.RemoveFinalizer(pod, batchv1.JobTrackingFinalizer)
		return nil
	})
}

// work is the state of one reconcile of a Job.
type work struct {
	*jobController
	*batchv1.Job
	before *batchv1.Job
	pods   []*corev1.Pod

	active             []*corev1.Pod
	succeeded, failed  int32 // including pods that the status does not count yet
	again              time.Duration
	terminating, ready int32
}

func (w *work) step(ctx context.Context) (reconcile.Result, error) {
	if w.finished() {
		return reconcile.Result{}, each(w.pods, func(pod *corev1.Pod) error { return w.untrack(ctx, pod) })
	}
	if w.Status.StartTime == nil && !w.suspended() {
		now := metav1.Now()
		w.Status.StartTime = &now
		w.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	w.count()
	failure := w.decide(ctx)
	w.Status.Active, w.Status.Ready, w.Status.Terminating = int32(len(w.active)), &w.ready, &w.terminating
	w.finish()
	if err := writeStatus(ctx, w.Client, w.before, w.Job); err != nil || failure != nil {
		return reconcile.Result{}, errors.Join(unlessTerminating(failure), err)
	}
	// The status counts these pods, so they may be deleted.
	err := each(w.pods, func(pod *corev1.Pod) error {
		if !podutil.IsPodTerminal(pod) {
			return nil
		}
		return w.untrack(ctx, pod)
	})
	return reconcile.Result{RequeueAfter: w.again}, err
}

func (w *work) condition(kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range w.Status.Conditions {
		if w.Status.Conditions[i].Type == kind {
			return &w.Status.Conditions[i]
		}
	}
	return nil
}

func (w *work) is(kind batchv1.JobConditionType) bool {
	c := w.condition(kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

func (w *work) set(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) {
	now := metav1.Now()
	fresh := batchv1.JobCondition{Type: kind, Status: status, Reason: reason, Message: message, LastProbeTime: now,
		LastTransitionTime: now}
	switch c := w.condition(kind); {
	case c == nil:
		w.Status.Conditions = append(w.Status.Conditions, fresh)
	case c.Status != status || c.Reason != reason:
		*c = fresh
	}
}

func (w *work) finished() bool { return w.is(batchv1.JobComplete) || w.is(batchv1.JobFailed) }

// ending reports whether the outcome of the Job is decided.
func (w *work) ending() bool {
	return w.is(batchv1.JobSuccessCriteriaMet) || w.is(batchv1.JobFailureTarget)
}

func (w *work) suspended() bool { return valueOr(w.Spec.Suspend, false) }

func (w *work) indexed() bool { return valueOr(w.Spec.CompletionMode, "") == batchv1.IndexedCompletion }

// count separates ended pods from running ones. It first records the UIDs of ended pods in the status, then removes
// their finalizers, and then counts them. So each pod is counted exactly once, even after an error between these steps.
func (w *work) count() {
	if w.Status.UncountedTerminatedPods == nil {
		w.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	noted := w.Status.UncountedTerminatedPods
	tracked := map[types.UID]bool{}
	for _, pod := range w.pods {
		tracked[pod.UID] = controllerutil.ContainsFinalizer(pod, batchv1.JobTrackingFinalizer)
	}
	gone := func(total *int32) func(types.UID) bool {
		return func(uid types.UID) bool {
			*total += one(!tracked[uid])
			return !tracked[uid]
		}
	}
	noted.Succeeded = slices.DeleteFunc(noted.Succeeded, gone(&w.Status.Succeeded))
	noted.Failed = slices.DeleteFunc(noted.Failed, gone(&w.Status.Failed))
	for _, pod := range w.pods {
		switch {
		case !podutil.IsPodTerminal(pod) && pod.DeletionTimestamp != nil:
			w.terminating++
		case !podutil.IsPodTerminal(pod):
			w.active = append(w.active, pod)
			w.ready += one(podutil.IsPodReady(pod))
		case !tracked[pod.UID]:
		case pod.Status.Phase == corev1.PodSucceeded && !slices.Contains(noted.Succeeded, pod.UID):
			if !w.indexed() || !slices.Contains(w.completed(), completionIndex(pod)) {
				noted.Succeeded = append(noted.Succeeded, pod.UID)
			}
			if w.indexed() {
				w.Status.CompletedIndexes = spell(append(w.completed(), completionIndex(pod)))
			}
		case pod.Status.Phase == corev1.PodFailed && !slices.Contains(noted.Failed, pod.UID):
			noted.Failed = append(noted.Failed, pod.UID)
		}
	}
	if w.indexed() { // count only the first success of each index
		w.succeeded = int32(len(w.completed()))
		w.Status.Succeeded, noted.Succeeded = w.succeeded, nil
	} else {
		w.succeeded = w.Status.Succeeded + int32(len(noted.Succeeded))
	}
	w.failed = w.Status.Failed + int32(len(noted.Failed))
}

// decide starts and stops pods, or decides the outcome of the Job.
func (w *work) decide(ctx context.Context) error {
	if !w.ending() {
		w.judge()
	}
	switch {
	case w.ending():
		return w.stop(ctx, w.active)
	case w.suspended():
		if !w.is(batchv1.JobSuspended) {
			w.set(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		}
		w.Status.StartTime = nil
		return w.stop(ctx, w.active)
	case w.is(batchv1.JobSuspended):
		w.set(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		now := metav1.Now()
		w.Status.StartTime = &now
	}
	if w.Spec.ActiveDeadlineSeconds != nil {
		w.soon(time.Until(w.Status.StartTime.Add(time.Duration(*w.Spec.ActiveDeadlineSeconds) * time.Second)))
	}
	return w.resize(ctx)
}

// soon schedules another reconcile after d, unless an earlier one is scheduled.
func (w *work) soon(d time.Duration) {
	if d = max(d, time.Millisecond); w.again == 0 || d < w.again {
		w.again = d
	}
}

// judge decides whether the Job has succeeded or failed.
func (w *work) judge() {
	restarts := int32(0)
	if w.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		for _, pod := range w.active {
			for i := range pod.Status.ContainerStatuses {
				restarts += pod.Status.ContainerStatuses[i].RestartCount
			}
		}
	}
	switch limit := w.Spec.ActiveDeadlineSeconds; {
	case w.failed > *w.Spec.BackoffLimit || restarts > 0 && restarts >= *w.Spec.BackoffLimit:
		w.set(batchv1.JobFailureTarget, corev1.ConditionTrue, batchv1.JobReasonBackoffLimitExceeded,
			"Job has reached the specified backoff limit")
	case limit != nil && !w.suspended() && w.Status.StartTime != nil &&
		time.Since(w.Status.StartTime.Time) >= time.Duration(*limit)*time.Second:
		w.set(batchv1.JobFailureTarget, corev1.ConditionTrue, batchv1.JobReasonDeadlineExceeded,
			"Job was active longer than specified deadline")
	case w.Spec.Completions != nil && w.succeeded >= *w.Spec.Completions, w.Spec.Completions == nil && w.succeeded > 0 &&
		len(w.active) == 0:
		w.set(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached,
			"Reached expected number of succeeded pods")
	}
}

// finish sets the final condition once all pods have ended and are counted.
func (w *work) finish() {
	noted := w.Status.UncountedTerminatedPods
	if !w.ending() || len(w.active) > 0 || w.terminating > 0 || len(noted.Succeeded)+len(noted.Failed) > 0 {
		return
	}
	kind, why := batchv1.JobFailed, w.condition(batchv1.JobFailureTarget)
	if why == nil {
		kind, why = batchv1.JobComplete, w.condition(batchv1.JobSuccessCriteriaMet)
	}
	w.set(kind, corev1.ConditionTrue, why.Reason, why.Message)
	if kind == batchv1.JobComplete {
		now := metav1.Now()
		w.Status.CompletionTime = &now
	}
	w.again = 0
}

// stop deletes pods. They are counted when they end.
func (w *work) stop(ctx context.Context, pods []*corev1.Pod) error {
	w.active = slices.DeleteFunc(slices.Clone(w.active), func(pod *corev1.Pod) bool { return slices.Contains(pods, pod) })
	w.terminating += int32(len(pods))
	w.ready = 0
	for _, pod := range w.active {
		w.ready += one(podutil.IsPodReady(pod))
	}
	return each(pods, func(pod *corev1.Pod) error {
		return controllerutil.DeleteWithUID(ctx, w.Client, pod)
	})
}

// resize adjusts the number of running pods to the remaining work. After a failure, it delays the next pod.
func (w *work) resize(ctx context.Context) error {
	want := *w.Spec.Parallelism
	switch {
	case w.Spec.Completions != nil:
		want = min(want, *w.Spec.Completions-w.succeeded)
	case w.succeeded > 0:
		want = int32(len(w.active)) // after the first success, a work queue only waits until its running pods end
	}
	if surplus := len(w.active) - int(max(want, 0)); surplus > 0 {
		slices.SortFunc(w.active, firstToGo)
		return w.stop(ctx, slices.Clone(w.active[:surplus]))
	}
	missing := int(want) - len(w.active) - int(w.terminating)
	if missing <= 0 {
		return nil
	}
	if left := w.backoff(); left > 0 {
		w.soon(left)
		return nil
	}
	for _, index := range w.missingIndexes(missing) {
		if err := w.create(ctx, index); err != nil {
			return err
		}
	}
	return nil
}

// The delay before the pod after a failed pod starts at the first value and doubles up to the second.
const (
	firstRetry = 10 * time.Second
	lastRetry  = 10 * time.Minute
)

// backoff returns the remaining delay before the next pod.
func (w *work) backoff() time.Duration {
	var last time.Time
	failures := 0
	for _, pod := range w.pods {
		if !podutil.IsPodTerminal(pod) {
			continue
		}
		at := endOf(pod)
		switch {
		case pod.Status.Phase == corev1.PodFailed:
			failures++
			if at.After(last) {
				last = at
			}
		case at.After(last):
			failures = 0 // count only failures since the last success
		}
	}
	if failures == 0 {
		return 0
	}
	return time.Until(last.Add(min(firstRetry<<min(failures-1, 10), lastRetry)))
}

// endOf returns when the last container of a pod ended.
func endOf(pod *corev1.Pod) (at time.Time) {
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil && end.FinishedAt.After(at) {
			at = end.FinishedAt.Time
		}
	}
	return at
}

// missingIndexes returns n indexes that have no successful or running pod. For a Job without indexes, each is -1.
func (w *work) missingIndexes(n int) (missing []int) {
	if !w.indexed() {
		return slices.Repeat([]int{-1}, n)
	}
	taken := w.completed()
	for _, pod := range w.pods {
		if !podutil.IsPodTerminal(pod) {
			taken = append(taken, completionIndex(pod))
		}
	}
	for index := 0; index < int(*w.Spec.Completions) && len(missing) < n; index++ {
		if !slices.Contains(taken, index) {
			missing = append(missing, index)
		}
	}
	return missing
}

func (w *work) create(ctx context.Context, index int) error {
	pod := podOf(&w.Spec.Template)
	pod.Namespace, pod.GenerateName = w.Namespace, w.Name+"-"
	controllerutil.AddFinalizer(pod, batchv1.JobTrackingFinalizer)
	if index >= 0 {
		text := strconv.Itoa(index)
		pod.GenerateName += text + "-"
		pod.Spec.Hostname = w.Name + "-" + text
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, text)
		metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, text)
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				giveIndex(&containers[i])
			}
		}
	}
	if err := createOwned(ctx, w.Client, w.Job, pod); err != nil {
		return err
	}
	w.active = append(w.active, pod)
	return nil
}

// giveIndex adds the index of the pod to the environment of a container.
func giveIndex(c *corev1.Container) {
	const name = "JOB_COMPLETION_INDEX"
	if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name }) {
		return
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation),
	}}})
}

func completionIndex(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return n
}

// completed returns the successful indexes. The status lists them in the form 1,3-5.
func (w *work) completed() (all []int) {
	for part := range strings.SplitSeq(w.Status.CompletedIndexes, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		to := from
		if isRange {
			to, _ = strconv.Atoi(last)
		}
		for ; from <= to; from++ {
			all = append(all, from)
		}
	}
	return all
}

func spell(indexes []int) string {
	slices.Sort(indexes)
	indexes = slices.Compact(indexes)
	var parts []string
	for i := 0; i < len(indexes); {
		end := i
		for end+1 < len(indexes) && indexes[end+1] == indexes[end]+1 {
			end++
		}
		switch end - i {
		case 0:
			parts = append(parts, strconv.Itoa(indexes[i]))
		case 1:
			parts = append(parts, strconv.Itoa(indexes[i]), strconv.Itoa(indexes[end]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", indexes[i], indexes[end]))
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}

// expiredJobs deletes finished Jobs whose TTL has expired.
var expiredJobs = Controller{"ttl-after-finished-controller", func(m *manager.Manager) error {
	c := m.Client()
	return controller.For[*batchv1.Job](m).Named("ttl-after-finished-controller").
		Complete(byName[batchv1.Job](c, func(ctx context.Context, job *batchv1.Job) (reconcile.Result, error) {
			w := &work{Job: job}
			end := cmp.Or(w.condition(batchv1.JobComplete), w.condition(batchv1.JobFailed))
			if job.Spec.TTLSecondsAfterFinished == nil || !w.finished() || job.DeletionTimestamp != nil {
				return reconcile.Result{}, nil
			}
			if left := time.Until(end.LastTransitionTime.Add(time.Duration(
				*job.Spec.TTLSecondsAfterFinished) * time.Second)); left > 0 {
				return reconcile.Result{RequeueAfter: left}, nil
			}
			seen := client.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}
			return reconcile.Result{}, client.IgnoreNotFound(c.Delete(ctx, job, seen,
				client.PropagationPolicy(metav1.DeletePropagationForeground)))
		}))
}}
