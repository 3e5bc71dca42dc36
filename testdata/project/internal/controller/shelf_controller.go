/*
Copyright 2026 The Guestbook Authors.

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
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	webappv1 "example.com/guestbook/api/v1"
)

// ShelfReconciler makes the actual state match the spec of each Shelf.
type ShelfReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=webapp.example.com,resources=shelves,verbs=get;list;watch
// +kubebuilder:rbac:groups=webapp.example.com,resources=shelves/status,verbs=patch

// Reconcile is called after every change of the Shelf, and must be safe to call again at any time.
func (r *ShelfReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	shelf := &webappv1.Shelf{}
	if err := r.Get(ctx, req.NamespacedName, shelf); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("Shelf is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Shelf: %w", err)
	}
	if !shelf.DeletionTimestamp.IsZero() {
		// Clean up external resources here, then remove the finalizer that kept the object.
		logger.Info("Shelf is being deleted")
		return reconcile.Result{}, nil
	}

	// Make the actual state match shelf.Spec here.

	changed := meta.SetStatusCondition(&shelf.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The actual state matches the spec",
		ObservedGeneration: shelf.Generation,
	})
	if !changed && shelf.Status.ObservedGeneration == shelf.Generation {
		logger.Debug("Shelf is up to date", "generation", shelf.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: this controller owns only the fields set here; other conditions keep their owners.
	desired := &webappv1.Shelf{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace},
		Status: webappv1.ShelfStatus{
			ObservedGeneration: shelf.Generation,
			Conditions:         []metav1.Condition{*meta.FindStatusCondition(shelf.Status.Conditions, "Ready")},
		},
	}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("shelf-controller"), client.ForceOwnership)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply status of Shelf: %w", err)
	}
	logger.Info("Shelf is ready", "generation", shelf.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Shelf objects.
func (r *ShelfReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*webappv1.Shelf](m).
		Named("shelf").
		Complete(r)
}
