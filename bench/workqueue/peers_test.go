package workqueue

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"
	controllerruntime "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// key is the key of an object. Its number is unique in a run, because queues remember earlier keys.
type key struct {
	types.NamespacedName
	number int
}

// queue has the methods that all queues share.
type queue interface {
	addAll(items []key)
	Add(item key)
	get() key
	Done(item key)
	ShutDown()
}

// peer is one of the queues. A queue with a name has metrics.
type peer struct {
	name string
	make func(name string) queue
}

var peers = []peer{
	{"kctrl", func(name string) queue {
		return kctrl{workqueue.New[key](workqueue.Options{Name: name, Metrics: metrics.NewRegistry()})}
	}},
	{"controller-runtime", func(name string) queue {
		return priority{controllerruntime.New[key](name)}
	}},
	{"client-go", func(name string) queue {
		limiter := clientgo.DefaultTypedControllerRateLimiter[key]()
		config := clientgo.TypedRateLimitingQueueConfig[key]{Name: name}
		return limiting{clientgo.NewTypedRateLimitingQueueWithConfig(limiter, config)}
	}},
}

type kctrl struct{ *workqueue.Queue[key] }

func (q kctrl) Add(item key) { q.Queue.Add(item) }

func (q kctrl) addAll(items []key) { q.Queue.Add(items...) }

func (q kctrl) get() key {
	item, _ := q.Get(context.Background())
	return item
}

type priority struct {
	controllerruntime.PriorityQueue[key]
}

func (q priority) addAll(items []key) { q.AddWithOpts(controllerruntime.AddOpts{}, items...) }

func (q priority) get() key {
	item, _ := q.Get()
	return item
}

type limiting struct {
	clientgo.TypedRateLimitingInterface[key]
}

func (q limiting) addAll(items []key) {
	for _, item := range items {
		q.Add(item)
	}
}

func (q limiting) get() key {
	item, _ := q.Get()
	return item
}
