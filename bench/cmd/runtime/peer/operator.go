package main

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kctrl-dev/kctrl/bench/cmd/runtime/figure"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

func operator(ctx context.Context, config *rest.Config, _ figure.Form, reconciled func()) (*figure.Operator, error) {
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	c := m.GetClient()
	events := make(chan event.TypedGenericEvent[*v1.Widget])
	err = ctrl.NewControllerManagedBy(m).
		For(&v1.Widget{}).
		WatchesRawSource(source.Channel(events, &handler.TypedEnqueueRequestForObject[*v1.Widget]{})).
		Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			defer reconciled()
			return reconcile.Result{}, c.Get(ctx, request.NamespacedName, &v1.Widget{})
		}))
	if err != nil {
		return nil, err
	}
	go func() { figure.Fail(m.Start(ctx)) }()
	return &figure.Operator{
		Get: func(namespace, name string) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1.Widget{})
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
			return m.GetFieldIndexer().IndexField(ctx, &v1.Widget{}, figure.IndexField, func(o client.Object) []string {
				return []string{figure.IndexValue(o.(*v1.Widget))}
			})
		},
		Indexed: func(value string) (int, error) {
			var list v1.WidgetList
			err := c.List(ctx, &list, client.MatchingFields{figure.IndexField: value})
			return len(list.Items), err
		},
		Event: func(w *v1.Widget) { events <- event.TypedGenericEvent[*v1.Widget]{Object: w} },
	}, nil
}
