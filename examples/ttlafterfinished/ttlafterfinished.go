// Package ttlafterfinished deletes finished Jobs after spec.ttlSecondsAfterFinished. It is a minimal example of a
// controller that waits: the result of a reconcile contains the delay until the next reconcile.
package ttlafterfinished

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// Name is the name of the controller in kube-controller-manager.
const Name = "ttl-after-finished-controller"

// Reconciler deletes Jobs whose TTL after their end has expired.
type Reconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;delete

// SetupWithManager connects the reconciler to m and adds a controller that reconciles a Job when it changes.
func (r *Reconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*batchv1.Job](m).Named(Name).Complete(r)
}

// Reconcile deletes the Job if its TTL has expired, or returns how long to wait. The cache may lag, so the deletion has
// the resource version of the Job as a precondition. A Job whose TTL was extended in the meantime is therefore kept.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	job := &batchv1.Job{}
	if err := r.Get(ctx, req.NamespacedName, job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	end, finished := expiry(job)
	if !finished || job.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if left := time.Until(end); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	seen := client.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}
	err := r.Delete(ctx, job, seen, client.PropagationPolicy(metav1.DeletePropagationForeground))
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// expiry returns when to delete the Job, if it has finished and has a TTL.
func expiry(job *batchv1.Job) (time.Time, bool) {
	if job.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}, false
	}
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second), true
		}
	}
	return time.Time{}, false
}
