// Command operator is the counterpart of the operator that kctrl scaffolds: the same kind and reconciler on
// controller-runtime, with the main function of a kubebuilder project.
package main

import (
	"context"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kctrl-dev/kctrl/bench/internal/kubebuilder"
	webappv1 "github.com/kctrl-dev/kctrl/bench/operator/api/v1"
)

func main() {
	os.Exit(kubebuilder.Main("guestbook.example.com", webappv1.AddToScheme, func(manager ctrl.Manager) error {
		reconciler := &guestbookReconciler{Client: manager.GetClient()}
		return ctrl.NewControllerManagedBy(manager).For(&webappv1.Guestbook{}).Named("guestbook").Complete(reconciler)
	}))
}

type guestbookReconciler struct{ client.Client }

// Reconcile sets Ready and observedGeneration in one status write, like the reconciler that kctrl scaffolds.
func (r *guestbookReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	guestbook := &webappv1.Guestbook{}
	if err := r.Get(ctx, request.NamespacedName, guestbook); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !guestbook.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := guestbook.DeepCopy()
	changed := meta.SetStatusCondition(&guestbook.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reconciled", Message: "the guestbook is ready",
		ObservedGeneration: guestbook.Generation,
	})
	if !changed && guestbook.Status.ObservedGeneration == guestbook.Generation {
		return ctrl.Result{}, nil
	}
	guestbook.Status.ObservedGeneration = guestbook.Generation
	log.FromContext(ctx).Info("reconciled", "generation", guestbook.Generation)
	return ctrl.Result{}, r.Status().Patch(ctx, guestbook, client.MergeFrom(before))
}
