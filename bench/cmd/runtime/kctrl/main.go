// Command kctrl is kctrl's side of the measurement.
package main

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/bench/cmd/runtime/figure"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

func main() { figure.Main(figure.Side{Sync: sync, Feed: feed, Operator: operator}) }

type queue struct {
	*workqueue.Queue[reconcile.Request]
}

func newQueue() queue {
	return queue{workqueue.New[reconcile.Request](workqueue.Options{Name: "widget"})}
}

func (q queue) Drain() {
	for q.Len() > 0 {
		item, _ := q.Get(context.Background())
		q.Done(item)
	}
}

// sync does the work that a controller does at its start.
func sync(ctx context.Context, config *rest.Config, form figure.Form) (figure.Queue, error) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	var options cache.Options
	if form != figure.Whole {
		options.ByKind = []cache.KindOptions{{Object: &v1.Widget{},
			Scope: client.Scope{Mask: []string{"metadata", "status.conditions"}}}}
	}
	q := newQueue()
	informers := cache.New(live, options)
	widgets := source.Kind(informers, &v1.Widget{}, handler.ForObject[*v1.Widget]())
	synced := make(chan struct{})
	failed := make(chan error, 2)
	go func() { failed <- informers.Run(ctx) }()
	go func() { failed <- widgets.Run(ctx, q, func() { close(synced) }) }()
	select {
	case <-synced:
		return q, nil
	case err := <-failed:
		return nil, fmt.Errorf("it ended before it was synced: %w", err)
	}
}

// toQueue handles an event as a controller does.
func toQueue(ctx context.Context, q queue) informer.Handler[object.Object] {
	add := handler.ForObject[*v1.Widget]()
	return func(e informer.Event[object.Object]) {
		add(ctx, informer.Event[*v1.Widget]{Type: e.Type, Object: e.Object.(*v1.Widget)}, q)
	}
}

func feed(ctx context.Context, objects []*v1.Widget, handlers []func(*v1.Widget)) (*figure.Feed, error) {
	m := &memory{events: make(chan *v1.Widget)}
	for _, o := range objects {
		m.objects = append(m.objects, o)
	}
	inf := informer.New(m, informer.Options[object.Object]{Name: "widgets", DisableWatchList: true})
	var registrations []*informer.Registration
	for _, handle := range handlers {
		add := toQueue(ctx, newQueue())
		registrations = append(registrations, inf.AddHandler(func(e informer.Event[object.Object]) {
			add(e)
			handle(e.Object.(*v1.Widget))
		}))
	}
	go func() { _ = inf.Run(ctx) }()
	<-inf.Synced()
	for _, r := range registrations {
		<-r.Synced()
	}
	return &figure.Feed{
		Update: func(o *v1.Widget) { m.events <- o },
		List: func(visit func(*v1.Widget)) error {
			for _, o := range inf.Store().All() {
				visit(o.(*v1.Widget))
			}
			return nil
		},
	}, nil
}

// memory is a source of objects in memory, and of updates from a channel.
type memory struct {
	objects []object.Object
	events  chan *v1.Widget
}

func (m *memory) List(context.Context, metav1.ListOptions) (*client.Page[object.Object], error) {
	return &client.Page[object.Object]{Items: m.objects, ResourceVersion: "1"}, nil
}

func (m *memory) Watch(context.Context, metav1.ListOptions) (client.Stream[object.Object], error) {
	return m, nil
}

func (m *memory) Next() (client.WatchEvent[object.Object], error) {
	o, ok := <-m.events
	if !ok {
		return client.WatchEvent[object.Object]{}, io.EOF
	}
	return client.WatchEvent[object.Object]{Type: watch.Modified, Object: o, ResourceVersion: o.ResourceVersion}, nil
}

func (m *memory) Close() error { return nil }
