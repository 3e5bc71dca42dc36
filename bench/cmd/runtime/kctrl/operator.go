package main

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/bench/cmd/runtime/figure"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

func operator(ctx context.Context, config *rest.Config, form figure.Form, reconciled func()) (*figure.Operator, error) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	m, err := manager.New(config, manager.Options{
		Scheme: scheme, Logger: slog.New(slog.DiscardHandler), Cache: cache.Options{Unpacked: form == figure.Unpacked},
	})
	if err != nil {
		return nil, err
	}
	c := m.Client()
	events := make(chan informer.Event[*v1.Widget])
	err = controller.For[*v1.Widget](m).
		WatchesSource(source.Channel(events, handler.ForObject[*v1.Widget]())).
		Complete(reconcile.Func[reconcile.Request](func(ctx context.Context,
			request reconcile.Request) (reconcile.Result, error) {
			defer reconciled()
			return reconcile.Result{}, c.Get(ctx, request.NamespacedName, &v1.Widget{})
		}))
	if err != nil {
		return nil, err
	}
	go func() { figure.Fail(m.Run(ctx)) }()
	return &figure.Operator{
		Get: func(namespace, name string) error {
			return c.Get(ctx, object.Key{Namespace: namespace, Name: name}, &v1.Widget{})
		},
		List: func(namespace, name string) (int, error) {
			var list v1.WidgetList
			options := []client.ListOption{client.InNamespace(namespace)}
			if name != "" {
				options = append(options, client.MatchingLabels(figure.NameLabel(name)))
			}
			err := c.List(ctx, &list, options...)
			return len(list.Items), err
		},
		Index: func() error {
			return m.Cache().IndexField(ctx, &v1.Widget{}, figure.IndexField, func(o object.Object) []string {
				return []string{figure.IndexValue(o.(*v1.Widget))}
			})
		},
		Indexed: func(value string) (int, error) {
			var list v1.WidgetList
			err := c.List(ctx, &list, client.MatchingFields{figure.IndexField: value})
			return len(list.Items), err
		},
		Event: func(w *v1.Widget) { events <- informer.Event[*v1.Widget]{Type: informer.Updated, Object: w, Old: w} },
	}, nil
}
