package cronjob

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

const (
	ownerField    = ".metadata.controller"
	scheduledTime = "batch.porting.kctrl.test/scheduled-at"
	tooManyMissed = 100
)

// Reconciler creates the Jobs of CronJobs.
// +kubebuilder:object:generate=false
type Reconciler struct {
	client.Client
	Now func() time.Time
}

// SetupWithManager adds the controller to m.
func (r *Reconciler) SetupWithManager(ctx context.Context, m controller.Manager) error {
	err := m.Cache().IndexField(ctx, &batchv1.Job{}, ownerField, func(o object.Object) []string {
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.APIVersion != GroupVersion.String() || owner.Kind != "CronJob" {
			return nil
		}
		return []string{owner.Name}
	})
	if err != nil {
		return err
	}
	r.Client = m.Client()
	return controller.For[*CronJob](m).Owns(&batchv1.Job{}).Complete(r)
}

// jobs are the Jobs of a CronJob by outcome.
// +kubebuilder:object:generate=false
type jobs struct{ active, successful, failed []*batchv1.Job }

// Reconcile updates status and history, and creates the Job that is due.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var cronJob CronJob
	if err := r.Get(ctx, request.NamespacedName, &cronJob); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var children batchv1.JobList
	if err := r.List(ctx, &children, client.InNamespace(request.Namespace),
		client.MatchingFields{ownerField: request.Name}); err != nil {
		return reconcile.Result{}, err
	}
	all, last := sorted(&children)
	if err := r.updateStatus(ctx, &cronJob, all, last); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.prune(ctx, all.failed, cronJob.Spec.FailedJobsHistoryLimit); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.prune(ctx, all.successful, cronJob.Spec.SuccessfulJobsHistoryLimit); err != nil {
		return reconcile.Result{}, err
	}
	if cronJob.Spec.Suspend {
		return reconcile.Result{}, nil
	}
	return r.schedule(ctx, &cronJob, all.active)
}

// sorted returns the children by outcome, and the last scheduled time.
func sorted(children *batchv1.JobList) (all jobs, last *metav1.Time) {
	for i := range children.Items {
		job := &children.Items[i]
		switch ended(job) {
		case batchv1.JobComplete:
			all.successful = append(all.successful, job)
		case batchv1.JobFailed:
			all.failed = append(all.failed, job)
		default:
			all.active = append(all.active, job)
		}
		if at, err := time.Parse(time.RFC3339, job.Annotations[scheduledTime]); err == nil &&
			(last == nil || at.After(last.Time)) {
			last = &metav1.Time{Time: at}
		}
	}
	return all, last
}

func ended(job *batchv1.Job) batchv1.JobConditionType {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

func (r *Reconciler) updateStatus(ctx context.Context, cronJob *CronJob, all jobs, last *metav1.Time) error {
	base := cronJob.DeepCopy()
	cronJob.Status.Active = nil
	slices.SortFunc(all.active, byStart)
	for _, job := range all.active {
		cronJob.Status.Active = append(cronJob.Status.Active, corev1.ObjectReference{
			APIVersion: "batch/v1", Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		})
	}
	if last != nil {
		cronJob.Status.LastScheduleTime = last
	}
	return r.Status().Patch(ctx, cronJob, client.MergeFrom(base))
}

func byStart(a, b *batchv1.Job) int {
	return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
}

// prune deletes the oldest of the ended Jobs and keeps limit of them.
func (r *Reconciler) prune(ctx context.Context, ended []*batchv1.Job, limit *int32) error {
	if limit == nil {
		return nil
	}
	slices.SortFunc(ended, func(a, b *batchv1.Job) int {
		if a.Annotations[scheduledTime] < b.Annotations[scheduledTime] {
			return -1
		}
		return 1
	})
	for _, job := range ended[:max(0, len(ended)-int(*limit))] {
		if err := client.IgnoreNotFound(r.Delete(ctx, job,
			client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return err
		}
	}
	return nil
}

// schedule creates the Job that is due, and requeues for the next one.
func (r *Reconciler) schedule(ctx context.Context, cronJob *CronJob, active []*batchv1.Job) (reconcile.Result, error) {
	logger := log.FromContext(ctx)
	missed, next, err := r.times(cronJob)
	if err != nil {
		logger.Error("no schedule", "err", err)
		return reconcile.Result{}, nil // a change of the schedule triggers a reconcile
	}
	result := reconcile.Result{RequeueAfter: max(time.Millisecond, next.Sub(r.Now()))}
	deadline := cronJob.Spec.StartingDeadlineSeconds
	switch {
	case missed.IsZero():
		return result, nil
	case deadline != nil && missed.Add(time.Duration(*deadline)*time.Second).Before(r.Now()):
		logger.Debug("missed the deadline of the last run", "run", missed)
		return result, nil
	case cronJob.Spec.ConcurrencyPolicy == Forbid && len(active) > 0:
		return result, nil
	case cronJob.Spec.ConcurrencyPolicy == Replace:
		for _, job := range active {
			if err := client.IgnoreNotFound(r.Delete(ctx, job,
				client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	job := &batchv1.Job{ObjectMeta: *cronJob.Spec.JobTemplate.ObjectMeta.DeepCopy(),
		Spec: *cronJob.Spec.JobTemplate.Spec.DeepCopy()}
	job.Name, job.Namespace = fmt.Sprintf("%s-%d", cronJob.Name, missed.Unix()), cronJob.Namespace
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, scheduledTime, missed.UTC().Format(time.RFC3339))
	if err := controllerutil.SetControllerReference(cronJob, job, r.Scheme()); err != nil {
		return reconcile.Result{}, err
	}
	return result, client.IgnoreAlreadyExists(r.Create(ctx, job))
}

// times returns the latest missed run, or zero, and the next run.
func (r *Reconciler) times(cronJob *CronJob) (missed, next time.Time, err error) {
	schedule, err := cron.ParseStandard(cronJob.Spec.Schedule)
	if err != nil {
		return missed, next, fmt.Errorf("schedule %q: %w", cronJob.Spec.Schedule, err)
	}
	now, earliest := r.Now(), cronJob.CreationTimestamp.Time
	if cronJob.Status.LastScheduleTime != nil {
		earliest = cronJob.Status.LastScheduleTime.Time
	}
	if deadline := cronJob.Spec.StartingDeadlineSeconds; deadline != nil {
		if from := now.Add(-time.Duration(*deadline) * time.Second); from.After(earliest) {
			earliest = from
		}
	}
	for at, n := schedule.Next(earliest), 0; !at.After(now); at, n = schedule.Next(at), n+1 {
		if missed = at; n >= tooManyMissed {
			return time.Time{}, time.Time{}, fmt.Errorf("more than %d runs were missed; set or decrease startingDeadlineSeconds",
				tooManyMissed)
		}
	}
	return missed, schedule.Next(now), nil
}
