package controller

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// BenchmarkEventToQueue measures the path of an update from the listener to the queue, and of its request to the end of
// the reconcile. It compares the plain queue with the eventQueue, which also keeps the reasons and the origin of
// changes.
func BenchmarkEventToQueue(b *testing.B) {
	const keys = 10_000
	var events []event
	var typed []informer.Event[thing]
	for n := range keys {
		old := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprint("thing-", n), UID: "uid", ResourceVersion: fmt.Sprint(n), Generation: 1,
		}}
		now := old.DeepCopy()
		now.ResourceVersion = fmt.Sprint(keys + n)
		events = append(events, event{Type: informer.Updated, Old: old, Object: now})
		typed = append(typed, informer.Event[thing]{Type: informer.Updated, Old: old, Object: now})
	}
	add := handler.ForObject[thing]()
	run := func(b *testing.B, queue *workqueue.Queue[reconcile.Request],
		to func(string, event) handler.Queue[reconcile.Request], work func(reconcile.Request)) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			add(b.Context(), typed[n%keys], to(thingKind, events[n%keys]))
			if n%100 == 99 {
				for range 100 {
					request, _ := queue.Get(context.Background())
					work(request)
					queue.Done(request)
				}
			}
		}
	}
	b.Run("queue", func(b *testing.B) {
		queue := workqueue.New[reconcile.Request](workqueue.Options{})
		to := func(string, event) handler.Queue[reconcile.Request] { return queue }
		run(b, queue, to, func(request reconcile.Request) { queue.Forget(request) })
	})
	for _, failed := range []bool{false, true} {
		b.Run(fmt.Sprintf("events/failed=%v", failed), func(b *testing.B) {
			queue := workqueue.New[reconcile.Request](workqueue.Options{})
			events := newEventQueue(queue, 0)
			events.kind = thingKind
			run(b, queue, sourceQueue[reconcile.Request]{events, &writes.Log{}}.Because, func(request reconcile.Request) {
				s, _ := events.begin(request)
				events.end(s, failed)
				queue.Forget(request)
			})
		})
	}
}
