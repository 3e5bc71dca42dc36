package jobset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// The labels of the Jobs.
const (
	setLabel     = "jobset.porting.kctrl.test/jobset"
	jobLabel     = "jobset.porting.kctrl.test/replicatedjob"
	indexLabel   = "jobset.porting.kctrl.test/job-index"
	attemptLabel = "jobset.porting.kctrl.test/restart-attempt"
	ownerField   = ".metadata.controller"
)

// Reconciler runs the Jobs of JobSets.
// +kubebuilder:object:generate=false
type Reconciler struct {
	client.Client
	Recorder *events.Recorder
}

// SetupWithManager adds the controller to m.
func (r *Reconciler) SetupWithManager(ctx context.Context, m controller.Manager) error {
	err := m.Cache().IndexField(ctx, &batchv1.Job{}, ownerField, func(o object.Object) []string {
		if owner := metav1.GetControllerOf(o); owner != nil && owner.APIVersion == GroupVersion.String() {
			return []string{owner.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Client = m.Client()
	if r.Recorder == nil {
		r.Recorder = m.EventRecorder("jobset")
	}
	return controller.For[*JobSet](m).Owns(&batchv1.Job{}).Owns(&corev1.Service{}).Complete(r)
}

// Reconcile creates missing Jobs, deletes Jobs of earlier attempts, and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var set JobSet
	if err := r.Get(ctx, request.NamespacedName, &set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if set.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	base := set.DeepCopy()
	err := r.run(log.IntoContext(ctx, log.FromContext(ctx).With("jobset", request.Name)), &set)
	if !equality.Semantic.DeepEqual(base.Status, set.Status) {
		err = errors.Join(err, r.Status().Patch(ctx, &set, client.MergeFrom(base)))
	}
	return reconcile.Result{}, err
}

func (r *Reconciler) run(ctx context.Context, set *JobSet) error {
	var children batchv1.JobList
	if err := r.List(ctx, &children, client.InNamespace(set.Namespace),
		client.MatchingFields{ownerField: set.Name}); err != nil {
		return err
	}
	current, old := r.byAttempt(set, &children)
	r.count(set, current)
	if isTrue(set, Completed) || isTrue(set, Failed) {
		return r.deleteActive(ctx, current)
	}
	if err := r.delete(ctx, old); err != nil {
		return err
	}
	if failed := firstThat(current, batchv1.JobFailed); failed != nil {
		return r.fail(ctx, set, failed)
	}
	if err := r.exposePods(ctx, set); err != nil {
		return err
	}
	if err := r.make(ctx, set, current); err != nil {
		return err
	}
	r.conclude(set, current)
	return nil
}

// byAttempt separates the Jobs of the current attempt from the Jobs of earlier attempts.
func (r *Reconciler) byAttempt(set *JobSet, children *batchv1.JobList) (
	current map[string]*batchv1.Job, old []*batchv1.Job) {
	current = map[string]*batchv1.Job{}
	for i := range children.Items {
		job := &children.Items[i]
		if job.Labels[attemptLabel] == strconv.Itoa(int(set.Status.Restarts)) {
			current[job.Name] = job
		} else {
			old = append(old, job)
		}
	}
	return current, old
}

func (r *Reconciler) count(set *JobSet, current map[string]*batchv1.Job) {
	set.Status.ReplicatedJobs = nil
	for _, replicated := range set.Spec.ReplicatedJobs {
		status := ReplicatedJobStatus{Name: replicated.Name}
		for _, job := range current {
			switch {
			case job.Labels[jobLabel] != replicated.Name:
			case has(job, batchv1.JobComplete):
				status.Succeeded++
			case has(job, batchv1.JobFailed):
				status.Failed++
			default:
				status.Active++
			}
		}
		set.Status.ReplicatedJobs = append(set.Status.ReplicatedJobs, status)
	}
}

func has(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func firstThat(jobs map[string]*batchv1.Job, condition batchv1.JobConditionType) *batchv1.Job {
	for _, job := range jobs {
		if has(job, condition) {
			return job
		}
	}
	return nil
}

func isTrue(set *JobSet, condition string) bool {
	return meta.IsStatusConditionTrue(set.Status.Conditions, condition)
}

func (r *Reconciler) set(set *JobSet, condition string, status metav1.ConditionStatus, reason, message string) {
	changed := meta.SetStatusCondition(&set.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: set.Generation,
	})
	if changed && status == metav1.ConditionTrue {
		eventType := events.Normal
		if condition == Failed {
			eventType = events.Warning
		}
		r.Recorder.Eventf(set, nil, eventType, reason, "Reconcile", "%s", message)
	}
}

// fail starts another attempt, or fails the JobSet after the last one.
func (r *Reconciler) fail(ctx context.Context, set *JobSet, job *batchv1.Job) error {
	if set.Status.Restarts < set.Spec.MaxRestarts {
		set.Status.Restarts++
		r.Recorder.Eventf(set, job, events.Warning, "Restarting", "Restart", "job %s has failed: restart %d", job.Name,
			set.Status.Restarts)
		log.FromContext(ctx).Debug("restarting", "job", job)
		return nil // the status update triggers a reconcile
	}
	r.set(set, Failed, metav1.ConditionTrue, "FailedJobs", "job "+job.Name+" has failed")
	return nil
}

func (r *Reconciler) conclude(set *JobSet, current map[string]*batchv1.Job) {
	if set.Spec.Suspend {
		r.set(set, Suspended, metav1.ConditionTrue, "Suspended", "the jobs are suspended")
		return
	}
	if isTrue(set, Suspended) {
		r.set(set, Suspended, metav1.ConditionFalse, "Resumed", "the jobs run")
	}
	for i, replicated := range set.Spec.ReplicatedJobs {
		if set.Status.ReplicatedJobs[i].Succeeded < replicated.Replicas {
			return
		}
	}
	r.set(set, Completed, metav1.ConditionTrue, "AllJobsCompleted", fmt.Sprintf("%d jobs have completed", len(current)))
}

// make creates missing Jobs, and suspends or resumes the existing ones.
func (r *Reconciler) make(ctx context.Context, set *JobSet, current map[string]*batchv1.Job) error {
	var errs []error
	for _, replicated := range set.Spec.ReplicatedJobs {
		for index := range replicated.Replicas {
			name := fmt.Sprintf("%s-%s-%d", set.Name, replicated.Name, index)
			job := current[name]
			if job == nil {
				errs = append(errs, r.create(ctx, set, &replicated, name, index))
				continue
			}
			if suspended := job.Spec.Suspend != nil && *job.Spec.Suspend; suspended != set.Spec.Suspend &&
				!has(job, batchv1.JobComplete) {
				base := job.DeepCopy()
				job.Spec.Suspend = &set.Spec.Suspend
				errs = append(errs, r.Patch(ctx, job, client.MergeFrom(base)))
			}
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) create(ctx context.Context, set *JobSet, replicated *ReplicatedJob, name string,
	index int32) error {
	job := &batchv1.Job{ObjectMeta: *replicated.Template.ObjectMeta.DeepCopy(), Spec: *replicated.Template.Spec.DeepCopy()}
	job.Name, job.Namespace, job.Spec.Suspend = name, set.Namespace, &set.Spec.Suspend
	labels := map[string]string{
		setLabel: set.Name, jobLabel: replicated.Name, indexLabel: strconv.Itoa(int(index)),
		attemptLabel: strconv.Itoa(int(set.Status.Restarts)),
	}
	for _, of := range []*metav1.ObjectMeta{&job.ObjectMeta, &job.Spec.Template.ObjectMeta} {
		if of.Labels == nil {
			of.Labels = map[string]string{}
		}
		maps.Copy(of.Labels, labels)
	}
	job.Spec.Template.Spec.Subdomain = set.Name
	if err := controllerutil.SetControllerReference(set, job, r.Scheme()); err != nil {
		return err
	}
	return r.Create(ctx, job) // fails and is retried while a deleted Job of that name still exists
}

// exposePods creates the headless Service that gives the pods their names.
func (r *Reconciler) exposePods(ctx context.Context, set *JobSet) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Spec.Selector = map[string]string{setLabel: set.Name}
		return controllerutil.SetControllerReference(set, service, r.Scheme())
	})
	return err
}

func (r *Reconciler) deleteActive(ctx context.Context, current map[string]*batchv1.Job) error {
	var active []*batchv1.Job
	for _, job := range current {
		if !has(job, batchv1.JobComplete) && !has(job, batchv1.JobFailed) {
			active = append(active, job)
		}
	}
	return r.delete(ctx, active)
}

func (r *Reconciler) delete(ctx context.Context, jobs []*batchv1.Job) error {
	var errs []error
	for _, job := range jobs {
		if job.DeletionTimestamp == nil {
			errs = append(errs, client.IgnoreNotFound(r.Delete(ctx, job,
				client.PropagationPolicy(metav1.DeletePropagationBackground))))
		}
	}
	return errors.Join(errs...)
}
