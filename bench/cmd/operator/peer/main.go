// Command peer is the measured operator on controller-runtime: the code that kubebuilder scaffolds, plus a channel of
// external events.
package main

import (
	"context"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kctrl-dev/kctrl/bench/cmd/operator/side"
	"github.com/kctrl-dev/kctrl/bench/internal/kubebuilder"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

func main() { os.Exit(kubebuilder.Main("peer.bench.example.com", v1.AddToScheme, setUp)) }

func setUp(m ctrl.Manager) error {
	r := &reconciler{Client: m.GetClient(), control: side.NewControl()}
	events := make(chan event.TypedGenericEvent[*v1.Widget])
	err := ctrl.NewControllerManagedBy(m).
		For(&v1.Widget{}).
		Named("widget").
		WatchesRawSource(source.Channel(events, &handler.TypedEnqueueRequestForObject[*v1.Widget]{})).
		Complete(r)
	if err != nil {
		return err
	}
	return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return r.control.Run(ctx, os.Stdin, os.Stdout, func(w *v1.Widget) {
			events <- event.TypedGenericEvent[*v1.Widget]{Object: w}
		})
	}))
}

type reconciler struct {
	client.Client
	control *side.Control
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	defer r.control.Reconciled()
	widget := &v1.Widget{}
	if err := r.Get(ctx, request.NamespacedName, widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if side.Observed(widget) {
		return ctrl.Result{}, nil
	}
	before := widget.DeepCopy()
	side.Observe(widget)
	log.FromContext(ctx).Info("reconciled", "generation", widget.Generation)
	return ctrl.Result{}, r.Status().Patch(ctx, widget, client.MergeFrom(before))
}
