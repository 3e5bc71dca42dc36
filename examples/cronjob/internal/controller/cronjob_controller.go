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
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	batchv1 "github.com/kctrl-dev/kctrl/examples/cronjob/api/v1"
)

// CronJobReconciler makes the world match the spec of each CronJob.
type CronJobReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=batch.example.com,resources=cronjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.example.com,resources=cronjobs/status,verbs=patch

// Reconcile is called for a CronJob after every change of it, and must be safe to call again at any time.
func (r *CronJobReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	cronJob := &batchv1.CronJob{}
	if err := r.Get(ctx, req.NamespacedName, cronJob); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("CronJob is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get CronJob: %w", err)
	}
	if !cronJob.DeletionTimestamp.IsZero() {
		// The place to clean up what Kubernetes does not: afterwards remove the finalizer that kept the object.
		logger.Info("CronJob is being deleted")
		return reconcile.Result{}, nil
	}

	// The place to make the world match cronJob.Spec.

	changed := meta.SetStatusCondition(&cronJob.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The world matches the spec",
		ObservedGeneration: cronJob.Generation,
	})
	if !changed && cronJob.Status.ObservedGeneration == cronJob.Generation {
		logger.Debug("CronJob is up to date", "generation", cronJob.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: only what is set here belongs to this controller, other conditions stay their owners'.
	desired := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace},
		Status: batchv1.CronJobStatus{
			ObservedGeneration: cronJob.Generation,
			Conditions:         []metav1.Condition{*meta.FindStatusCondition(cronJob.Status.Conditions, "Ready")},
		},
	}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("cronjob-controller"), client.ForceOwnership)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply status of CronJob: %w", err)
	}
	logger.Info("CronJob is ready", "generation", cronJob.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes from m what the reconciler needs, and has it called for every CronJob that changes.
func (r *CronJobReconciler) SetupWithManager(m *manager.Manager) error {
	r.Client = m.Client()
	return controller.For[*batchv1.CronJob](m).
		Named("cronjob").
		Complete(r)
}
