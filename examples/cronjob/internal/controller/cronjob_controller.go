/*
Copyright 2026 The kctrl Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	batchv2 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v2"
	"github.com/kctrl-dev/kctrl/examples/cronjob/internal/schedule"
)

// CronJobReconciler starts the Jobs of each CronJob when they are due, and deletes old finished Jobs.
type CronJobReconciler struct {
	client.Client
	// Now is the clock. Nil means time.Now.
	Now func() time.Time

	scheme *runtime.Scheme
	jobs   *cache.Index[*batchv1.Job, types.UID] // by the UID of the CronJob that controls them
	events *events.Recorder
}

// +kubebuilder:rbac:groups=batch.example.com,resources=cronjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.example.com,resources=cronjobs/status,verbs=patch
// +kubebuilder:rbac:groups=batch.example.com,resources=cronjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile runs after every change of a CronJob or its Jobs, and when the next run is due.
func (r *CronJobReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	cronJob := &batchv2.CronJob{}
	if err := r.Get(ctx, req.NamespacedName, cronJob); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("CronJob is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get CronJob: %w", err)
	}
	if !cronJob.DeletionTimestamp.IsZero() {
		logger.Info("CronJob is being deleted")
		return reconcile.Result{}, nil
	}
	h, err := r.history(ctx, cronJob)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := r.now()
	d := decide(cronJob, h, now.Truncate(time.Second)) // times in the API are whole seconds
	started := r.start(ctx, cronJob, &h, &d)
	// The status records the time of the last run before its Job may be deleted.
	if err := errors.Join(started, r.writeStatus(ctx, cronJob, h, d)); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.deleteOld(ctx, cronJob, h); err != nil || d.next.IsZero() {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: d.next.Sub(now)}, nil
}

func (r *CronJobReconciler) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// history contains the Jobs of a CronJob, earliest run first. Do not change the Jobs, because they belong to the cache.
type history struct {
	active, succeeded, failed []*batchv1.Job
	last                      time.Time // time of the last run
}

func (r *CronJobReconciler) history(ctx context.Context, cronJob *batchv2.CronJob) (history, error) {
	h := history{last: cronJob.CreationTimestamp.Time}
	if last := cronJob.Status.LastScheduleTime; last != nil {
		h.last = last.Time
	}
	for job, err := range r.jobs.Get(ctx, cronJob.UID, client.InNamespace(cronJob.Namespace)) {
		if err != nil {
			return history{}, fmt.Errorf("list Jobs: %w", err)
		}
		switch {
		case has(job, batchv1.JobComplete):
			h.succeeded = append(h.succeeded, job)
		case has(job, batchv1.JobFailed):
			h.failed = append(h.failed, job)
		default:
			h.active = append(h.active, job)
		}
		if run := runOf(job); run.After(h.last) {
			h.last = run
		}
	}
	for _, jobs := range [][]*batchv1.Job{h.active, h.succeeded, h.failed} {
		slices.SortFunc(jobs, func(a, b *batchv1.Job) int {
			return cmp.Or(runOf(a).Compare(runOf(b)), cmp.Compare(a.Name, b.Name))
		})
	}
	return h, nil
}

func has(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// runAnnotation is the annotation of a Job with the scheduled time of its run.
const runAnnotation = "batch.example.com/scheduled-at"

// runOf returns the scheduled time of a Job's run.
func runOf(job *batchv1.Job) time.Time {
	run, err := time.Parse(time.RFC3339, job.Annotations[runAnnotation])
	if err != nil {
		return job.CreationTimestamp.Time
	}
	return run
}

// decision is the next step for a CronJob.
type decision struct {
	ready   metav1.Condition
	run     time.Time      // scheduled time of the Job to start; zero starts no Job
	replace []*batchv1.Job // Jobs to delete first
	next    time.Time      // time of the next reconcile; zero means after the next change
}

// decide returns the next step for a CronJob. The result depends only on the arguments.
func decide(cronJob *batchv2.CronJob, h history, now time.Time) decision {
	spec := &cronJob.Spec
	times, err := schedule.Parse(spec.Schedule.String(), optional(spec.TimeZone))
	if err != nil {
		return notReady("InvalidSchedule", err.Error())
	}
	if optional(spec.Suspend) {
		return notReady("Suspended", "No Jobs are started while spec.suspend is true")
	}
	var earliest time.Time
	if spec.StartingDeadlineSeconds != nil {
		earliest = now.Add(-time.Duration(min(*spec.StartingDeadlineSeconds, maxDeadline)) * time.Second)
	}
	due, next, err := times.Due(h.last, earliest, now)
	if err != nil {
		return notReady("TooManyMissedRuns",
			fmt.Sprintf("%v since %s: set spec.startingDeadlineSeconds, or a shorter one", err, timeText(h.last)))
	}
	d := decision{ready: ready("Scheduled", "The next run is at "+timeText(next)), next: next}
	switch {
	case due.IsZero():
	case len(h.active) == 0 || spec.ConcurrencyPolicy == batchv2.AllowConcurrent || spec.ConcurrencyPolicy == "":
		d.run = due
	case spec.ConcurrencyPolicy == batchv2.ReplaceConcurrent:
		d.run, d.replace = due, h.active
	default:
		d.ready = ready("Waiting", "The run of "+timeText(due)+" waits for the end of "+h.active[0].Name)
	}
	return d
}

// maxDeadline is a hundred years in seconds. Longer deadlines overflow time.Duration and have the same effect.
const maxDeadline = 100 * 365 * 24 * 60 * 60

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func optional[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

func ready(reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func notReady(reason, message string) decision {
	condition := ready(reason, message)
	condition.Status = metav1.ConditionFalse
	return decision{ready: condition}
}

// start deletes the Jobs to replace and creates the Job of the run that is due. It updates h to match. If it cannot
// create the Job, it also sets the Ready condition of d.
func (r *CronJobReconciler) start(ctx context.Context, cronJob *batchv2.CronJob, h *history, d *decision) error {
	if d.run.IsZero() {
		return nil
	}
	for _, job := range d.replace {
		if err := r.delete(ctx, job); err != nil {
			return err
		}
		r.events.Eventf(cronJob, job, corev1.EventTypeNormal, "Replaced", "Deleting", "deleted the active Job %s", job.Name)
	}
	job, err := r.jobOf(cronJob, d.run)
	if err == nil {
		err = r.Create(ctx, job)
	}
	if err != nil {
		r.events.Eventf(cronJob, nil, corev1.EventTypeWarning, "CannotStart", "Creating", "%v", err)
		d.ready = notReady("CannotStart", err.Error()).ready
		return fmt.Errorf("start the run of %s: %w", timeText(d.run), err)
	}
	log.FromContext(ctx).Info("started", "job", job.Name)
	r.events.Eventf(cronJob, job, corev1.EventTypeNormal, "Started", "Creating", "created the Job %s", job.Name)
	h.last = d.run
	h.active = append(slices.DeleteFunc(h.active, func(j *batchv1.Job) bool { return slices.Contains(d.replace, j) }), job)
	return nil
}

// jobOf returns the Job of a run. Its name is derived from the time of the run, so a run cannot have two Jobs.
func (r *CronJobReconciler) jobOf(cronJob *batchv2.CronJob, run time.Time) (*batchv1.Job, error) {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   cronJob.Namespace,
			Name:        fmt.Sprintf("%s-%d", cronJob.Name, run.Unix()),
			Labels:      template.Labels,
			Annotations: map[string]string{},
		},
		Spec: template.Spec,
	}
	maps.Copy(job.Annotations, template.Annotations)
	job.Annotations[runAnnotation] = timeText(run)
	return job, controllerutil.SetControllerReference(cronJob, job, r.scheme)
}

// delete deletes a Job and its pods. A missing Job is not an error.
func (r *CronJobReconciler) delete(ctx context.Context, job *batchv1.Job) error {
	err := controllerutil.DeleteWithUID(ctx, r.Client, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return fmt.Errorf("delete Job %s: %w", job.Name, err)
	}
	return nil
}

// deleteOld deletes the oldest finished Jobs beyond the history limits of the CronJob.
func (r *CronJobReconciler) deleteOld(ctx context.Context, cronJob *batchv2.CronJob, h history) error {
	var errs []error
	for _, kept := range []struct {
		jobs  []*batchv1.Job
		limit *int32
	}{{h.succeeded, cronJob.Spec.SuccessfulJobsHistoryLimit}, {h.failed, cronJob.Spec.FailedJobsHistoryLimit}} {
		if kept.limit == nil {
			continue
		}
		for _, job := range kept.jobs[:max(0, len(kept.jobs)-int(*kept.limit))] {
			errs = append(errs, r.delete(ctx, job))
		}
	}
	return errors.Join(errs...)
}

// maxActive is the maximum number of Jobs in the status.
const maxActive = 10

// writeStatus writes the status if it changed.
func (r *CronJobReconciler) writeStatus(ctx context.Context, cronJob *batchv2.CronJob, h history, d decision) error {
	status := cronJob.Status.DeepCopy()
	controllerutil.SetCondition(cronJob, &status.Conditions, d.ready)
	status.ObservedGeneration = cronJob.Generation
	status.Active = nil
	for _, job := range h.active[:min(len(h.active), maxActive)] {
		status.Active = append(status.Active, corev1.ObjectReference{
			APIVersion: "batch/v1", Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		})
	}
	if h.last.After(cronJob.CreationTimestamp.Time) {
		status.LastScheduleTime = &metav1.Time{Time: h.last}
	}
	if equality.Semantic.DeepEqual(status, &cronJob.Status) {
		return nil
	}
	// With server-side apply, this controller owns only the fields that it sets here. The conditions of other owners do
	// not change.
	status.Conditions = slices.DeleteFunc(status.Conditions,
		func(c metav1.Condition) bool { return c.Type != d.ready.Type })
	desired := &batchv2.CronJob{ObjectMeta: metav1.ObjectMeta{Name: cronJob.Name, Namespace: cronJob.Namespace},
		Status: *status}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("cronjob-controller"), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply status of CronJob: %w", err)
	}
	return nil
}

// SetupWithManager connects the reconciler to m and adds a controller that reconciles a CronJob when it or one of its
// Jobs changes.
func (r *CronJobReconciler) SetupWithManager(m controller.Manager) error {
	if err := batchv1.AddToScheme(m.Scheme()); err != nil {
		return err
	}
	jobs, err := cache.NewIndex(m.Cache(), &batchv1.Job{}, func(job *batchv1.Job) []types.UID {
		if owner := metav1.GetControllerOf(job); owner != nil {
			return []types.UID{owner.UID}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Client, r.scheme, r.jobs, r.events = m.Client(), m.Scheme(), jobs, m.EventRecorder("cronjob")
	return controller.For[*batchv2.CronJob](m).
		Named("cronjob").
		Owns(&batchv1.Job{}).
		Complete(r)
}
