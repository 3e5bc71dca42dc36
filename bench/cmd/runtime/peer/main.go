// Command peer is the controller-runtime side of the measurement.
package main

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kctrl-dev/kctrl/bench/cmd/runtime/figure"
	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

func main() { figure.Main(figure.Side{Sync: sync, Feed: feed, Operator: operator}) }

type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func newQueue() queue { return queue{priorityqueue.New[reconcile.Request]("")} }

func (q queue) Drain() {
	for q.Len() > 0 {
		item, _ := q.Get()
		q.Done(item)
	}
}

// sync does the work that a controller does at its start. In place of a field mask it uses a transform, which drops
// fields after the whole object has been decoded. controller-runtime has no packed objects.
func sync(ctx context.Context, config *rest.Config, form figure.Form) (figure.Queue, error) {
	options, err := options()
	if err != nil {
		return nil, err
	}
	if form != figure.Whole {
		options.DefaultTransform = mask
	}
	informers, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	q := newQueue()
	go func() { _ = informers.Start(ctx) }()
	widgets := source.Kind(informers, &v1.Widget{}, &handler.TypedEnqueueRequestForObject[*v1.Widget]{})
	if err := widgets.Start(ctx, q); err != nil {
		return nil, err
	}
	return q, widgets.WaitForSync(ctx)
}

func options() (cache.Options, error) {
	scheme := runtime.NewScheme()
	return cache.Options{Scheme: scheme}, v1.AddToScheme(scheme)
}

func mask(o any) (any, error) {
	if widget, ok := o.(*v1.Widget); ok {
		widget.ManagedFields = nil
		widget.Spec = v1.WidgetSpec{}
		widget.Status = v1.WidgetStatus{Conditions: widget.Status.Conditions}
	}
	return o, nil
}

func feed(ctx context.Context, objects []*v1.Widget, handlers []func(*v1.Widget)) (*figure.Feed, error) {
	options, err := options()
	if err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1.GroupVersion.WithKind("Widget"), meta.RESTScopeNamespace)
	options.Mapper, options.HTTPClient = mapper, http.DefaultClient
	m := &memory{objects: objects, events: make(chan watch.Event)}
	options.NewInformer = func(_ toolscache.ListerWatcher, o runtime.Object, d time.Duration,
		i toolscache.Indexers) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(m, o, d, i)
	}
	informers, err := cache.New(&rest.Config{Host: "http://in.memory"}, options)
	if err != nil {
		return nil, err
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		return nil, context.Cause(ctx)
	}
	if _, err := informers.GetInformer(ctx, &v1.Widget{}); err != nil {
		return nil, err
	}
	for _, handle := range handlers {
		widgets := source.Kind(informers, &v1.Widget{}, &notifying{handle: handle})
		if err := widgets.Start(ctx, newQueue()); err != nil {
			return nil, err
		}
		if err := widgets.WaitForSync(ctx); err != nil {
			return nil, err
		}
	}
	return &figure.Feed{
		Update: func(o *v1.Widget) { m.events <- watch.Event{Type: watch.Modified, Object: o} },
		List: func(visit func(*v1.Widget)) error {
			var list v1.WidgetList
			if err := informers.List(ctx, &list); err != nil {
				return err
			}
			for i := range list.Items {
				visit(&list.Items[i])
			}
			return nil
		},
	}, nil
}

// notifying wraps the usual handler, and then calls a function with the object.
type notifying struct {
	handler.TypedEnqueueRequestForObject[*v1.Widget]
	handle func(*v1.Widget)
}

func (n *notifying) Create(ctx context.Context, e event.TypedCreateEvent[*v1.Widget],
	q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	n.TypedEnqueueRequestForObject.Create(ctx, e, q)
	n.handle(e.Object)
}

func (n *notifying) Update(ctx context.Context, e event.TypedUpdateEvent[*v1.Widget],
	q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	n.TypedEnqueueRequestForObject.Update(ctx, e, q)
	n.handle(e.ObjectNew)
}

// memory is a source of objects in memory, and of updates from a channel.
type memory struct {
	objects []*v1.Widget
	events  chan watch.Event
}

func (m *memory) List(metav1.ListOptions) (runtime.Object, error) {
	list := &v1.WidgetList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, o := range m.objects {
		list.Items = append(list.Items, *o)
	}
	return list, nil
}

func (m *memory) Watch(metav1.ListOptions) (watch.Interface, error) { return m, nil }

func (m *memory) ResultChan() <-chan watch.Event { return m.events }

func (m *memory) Stop() {}

// IsWatchListSemanticsUnSupported makes the reflector start with a list.
func (m *memory) IsWatchListSemanticsUnSupported() bool { return true }
