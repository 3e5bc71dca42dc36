package fakecontrollers

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// cronJobs creates the Jobs of CronJobs at the scheduled times.
var cronJobs = Controller{"cronjob-controller", func(m *manager.Manager) error {
	jobs, err := newOwned(m, &batchv1.Job{})
	if err != nil {
		return err
	}
	p := &cronJobController{m.Client(), jobs}
	return controller.For[*batchv1.CronJob](m).Named("cronjob-controller").Owns(&batchv1.Job{}).
		Complete(byName[batchv1.CronJob](m.Client(), p.reconcile))
}}

type cronJobController struct {
	client.Client
	jobs *owned[*batchv1.Job]
}

func (p *cronJobController) reconcile(ctx context.Context, cron *batchv1.CronJob) (reconcile.Result, error) {
	jobs, err := p.jobs.by(ctx, cron.Namespace, cron.UID)
	if err != nil || cron.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	before := cron.DeepCopy()
	active := noteJobs(cron, jobs)
	if err := p.forget(ctx, cron, jobs); err != nil {
		return reconcile.Result{}, err
	}
	again, err := p.schedule(ctx, cron, active)
	if err := writeStatus(ctx, p.Client, before, cron); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: again}, unlessTerminating(err)
}

// noteJobs sets the running Jobs in the status, and returns them.
func noteJobs(cron *batchv1.CronJob, jobs []*batchv1.Job) (active []*batchv1.Job) {
	cron.Status.Active = nil
	for _, job := range jobs {
		w := &work{Job: job}
		switch {
		case !w.finished():
			active = append(active, job)
			noteActive(cron, job)
		case job.Status.CompletionTime != nil && (cron.Status.LastSuccessfulTime == nil ||
			cron.Status.LastSuccessfulTime.Before(job.Status.CompletionTime)):
			cron.Status.LastSuccessfulTime = job.Status.CompletionTime
		}
	}
	return active
}

func noteActive(cron *batchv1.CronJob, job *batchv1.Job) {
	cron.Status.Active = append(cron.Status.Active, corev1.ObjectReference{
		APIVersion: "batch/v1", Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		ResourceVersion: job.ResourceVersion,
	})
}

// forget deletes the oldest finished Jobs beyond the limits of the history.
func (p *cronJobController) forget(ctx context.Context, cron *batchv1.CronJob, jobs []*batchv1.Job) error {
	for kind, limit := range map[batchv1.JobConditionType]*int32{
		batchv1.JobComplete: cron.Spec.SuccessfulJobsHistoryLimit, batchv1.JobFailed: cron.Spec.FailedJobsHistoryLimit,
	} {
		if limit == nil {
			continue
		}
		ended := slices.DeleteFunc(slices.Clone(jobs), func(job *batchv1.Job) bool {
			return !(&work{Job: job}).is(kind) || job.DeletionTimestamp != nil
		})
		slices.SortFunc(ended, func(a, b *batchv1.Job) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		err := each(ended[:max(0, len(ended)-int(*limit))], func(job *batchv1.Job) error { return p.delete(ctx, job) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *cronJobController) delete(ctx context.Context, job *batchv1.Job) error {
	return controllerutil.DeleteWithUID(ctx, p.Client, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// schedule creates the Job of the latest due time, and returns the delay until the next scheduled time. It skips
// earlier due times.
func (p *cronJobController) schedule(ctx context.Context, cron *batchv1.CronJob,
	active []*batchv1.Job) (again time.Duration, err error) {
	if valueOr(cron.Spec.Suspend, false) {
		return 0, nil
	}
	times, err := parseSchedule(cron.Spec.Schedule, cron.Spec.TimeZone)
	if err != nil {
		return 0, nil // the API server rejects invalid schedules, except in objects that were written to its storage
	}
	now, since := time.Now(), cron.CreationTimestamp.Time
	if last := cron.Status.LastScheduleTime; last != nil {
		since = last.Time
	}
	if limit := cron.Spec.StartingDeadlineSeconds; limit != nil {
		if earliest := now.Add(-time.Duration(*limit) * time.Second); earliest.After(since) {
			since = earliest
		}
	}
	var due time.Time
	next := times.Next(since)
	for ; !next.IsZero() && !next.After(now); next = times.Next(next) {
		due = next
	}
	if !next.IsZero() {
		again = max(time.Until(next), time.Millisecond)
	}
	if due.IsZero() {
		return again, nil
	}
	return again, p.begin(ctx, cron, active, due)
}

// begin creates the Job of a scheduled time if the concurrency policy allows it.
func (p *cronJobController) begin(ctx context.Context, cron *batchv1.CronJob, active []*batchv1.Job,
	due time.Time) error {
	switch {
	case cron.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(active) > 0:
		return nil
	case cron.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
		if err := each(active, func(job *batchv1.Job) error { return p.delete(ctx, job) }); err != nil {
			return err
		}
		cron.Status.Active = nil
	}
	template := cron.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cron.Namespace, Name: cron.Name + "-" + strconv.FormatInt(due.Unix()/60, 10), Labels: template.Labels,
			Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
	zone, err := time.LoadLocation(valueOr(cron.Spec.TimeZone, "UTC"))
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, batchv1.CronJobScheduledTimestampAnnotation,
		due.In(zone).Format(time.RFC3339))
	switch err := createOwned(ctx, p.Client, cron, job); {
	case apierrors.IsAlreadyExists(err): // an earlier attempt created the Job, but did not write the status
	case err != nil:
		return err
	default:
		noteActive(cron, job)
	}
	cron.Status.LastScheduleTime = &metav1.Time{Time: due}
	return nil
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// parseSchedule parses a schedule that the API server accepted. Without a time zone, the times are in UTC, which is the
// default of kube-controller-manager.
func parseSchedule(text string, zone *string) (cron.Schedule, error) {
	if !strings.Contains(text, "TZ=") {
		text = "TZ=" + valueOr(zone, "UTC") + " " + text
	}
	return cron.ParseStandard(text)
}
