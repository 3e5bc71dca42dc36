// Command kctrl is the measured operator on kctrl: the scaffolded code, plus a channel of external events.
package main

import (
	"context"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/bench/cmd/operator/side"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

func main() {
	options := manager.Options{LeaderElection: manager.LeaderElectionOptions{ID: "kctrl.bench.example.com"}}
	os.Exit(manager.Main(options, setUp))
}

func setUp(m controller.Manager) error {
	if err := v1.AddToScheme(m.Scheme()); err != nil {
		return err
	}
	r := &reconciler{Client: m.Client(), cache: m.Cache(), control: side.NewControl()}
	r.view = os.Getenv(side.ReadEnv) == side.ReadView
	events := make(chan informer.Event[*v1.Widget])
	err := controller.For[*v1.Widget](m).
		Named("widget").
		WatchesSource(source.Channel(events, handler.ForObject[*v1.Widget]())).
		Complete(r)
	if err != nil {
		return err
	}
	return m.Add(commands{r.control, events})
}

type reconciler struct {
	client.Client
	cache   *cache.Cache
	view    bool
	control *side.Control
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	defer r.control.Reconciled()
	widget, err := r.read(ctx, request)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, err
	}
	if side.Observed(widget) {
		return reconcile.Result{}, nil
	}
	before := widget
	widget = widget.DeepCopy()
	side.Observe(widget)
	log.FromContext(ctx).Info("reconciled", "generation", widget.Generation)
	return reconcile.Result{}, r.Status().Patch(ctx, widget, client.MergeFrom(before))
}

func (r *reconciler) read(ctx context.Context, request reconcile.Request) (*v1.Widget, error) {
	widget := &v1.Widget{}
	if r.view {
		return cache.View(ctx, r.cache, request.NamespacedName, widget)
	}
	return widget, r.Get(ctx, request.NamespacedName, widget)
}

// commands runs the commands of standard input until the manager ends.
type commands struct {
	control *side.Control
	events  chan<- informer.Event[*v1.Widget]
}

func (c commands) Run(ctx context.Context) error {
	return c.control.Run(ctx, os.Stdin, os.Stdout, func(w *v1.Widget) {
		c.events <- informer.Event[*v1.Widget]{Type: informer.Updated, Object: w, Old: w}
	})
}
