package eventhandler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/compat/eventhandler"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	kctrl "github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

func TestOfCallsTheMethodOfTheEvent(t *testing.T) {
	var called string
	notes := func(name string) func(context.Context, informer.Event[kctrl.Object], handler.Queue[reconcile.Request]) {
		return func(context.Context, informer.Event[kctrl.Object], handler.Queue[reconcile.Request]) { called += name }
	}
	h := eventhandler.Of(eventhandler.Funcs{CreateFunc: notes("c"), UpdateFunc: notes("u"), DeleteFunc: notes("d"), GenericFunc: notes("g")})
	none := eventhandler.Of(eventhandler.Funcs{})
	for _, of := range []informer.EventType{informer.Added, informer.Updated, informer.Deleted, informer.Generic} {
		h(t.Context(), informer.Event[kctrl.Object]{Type: of}, nil)
		none(t.Context(), informer.Event[kctrl.Object]{Type: of}, nil)
	}
	if called != "cudg" {
		t.Errorf("called %q", called)
	}
}

func TestFuncsOfAreOfOneGoTypeAndAnyRequests(t *testing.T) {
	var added []string
	h := eventhandler.Of(eventhandler.FuncsOf[*corev1.Pod, string]{
		CreateFunc: func(_ context.Context, e informer.Event[*corev1.Pod], queue handler.Queue[string]) {
			queue.Add(e.Object.Spec.NodeName)
		},
	})
	mapped := handler.Map(func(_ context.Context, o *corev1.Pod) []string { return []string{o.Name, o.Name} })
	queue := workqueue.New[string](workqueue.Options{})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{NodeName: "node"}}
	h(t.Context(), informer.Event[*corev1.Pod]{Type: informer.Added, Object: pod}, queue)
	h(t.Context(), informer.Event[*corev1.Pod]{Type: informer.Deleted, Object: pod}, queue)
	mapped(t.Context(), informer.Event[*corev1.Pod]{Type: informer.Updated, Object: pod, Old: pod}, queue)
	for queue.Len() > 0 {
		item, _ := queue.Get(t.Context())
		added = append(added, item)
	}
	if !slices.Equal(added, []string{"node", "pod"}) {
		t.Errorf("added %q", added)
	}
}

// noted is a queue of another program.
type noted struct{ calls []string }

func (q *noted) Add(request string) { q.calls = append(q.calls, "add "+request) }
func (q *noted) AddAfter(request string, after time.Duration) {
	q.calls = append(q.calls, request+" after "+after.String())
}
func (q *noted) AddRateLimited(request string) { q.calls = append(q.calls, request+" backs off") }

func TestQueueOfAddsByTheMethodsOfTheOther(t *testing.T) {
	var to noted
	queue := eventhandler.QueueOf(&to)
	queue.Add("a", "b")
	queue.AddAfter("c", time.Second)
	queue.AddAfter("d", 0)
	queue.AddWith(workqueue.AddOptions{Priority: 1, After: time.Minute}, "e")
	queue.AddWith(workqueue.AddOptions{RateLimited: true, After: time.Minute}, "f")
	if want := []string{"add a", "add b", "c after 1s", "add d", "e after 1m0s", "f backs off"}; !slices.Equal(to.calls, want) {
		t.Errorf("it was asked for %q, want %q", to.calls, want)
	}
}

// counted embeds a handler, and counts what is deleted.
type counted struct {
	eventhandler.TypedEnqueueRequestForObject[*corev1.Pod]
	deleted int
}

func (c *counted) Delete(ctx context.Context, e informer.Event[*corev1.Pod], queue handler.Queue[reconcile.Request]) {
	c.deleted++
	c.TypedEnqueueRequestForObject.Delete(ctx, e, queue)
}

func TestHandlersForTheObjectMayBeEmbedded(t *testing.T) {
	own := &counted{}
	h := eventhandler.Of(own)
	for _, event := range []informer.EventType{informer.Added, informer.Updated, informer.Deleted, informer.Generic} {
		queue := workqueue.New[reconcile.Request](workqueue.Options{})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: event.String()}}
		h(t.Context(), informer.Event[*corev1.Pod]{Type: event, Object: pod, Old: pod}, queue)
		if request, ok := queue.Get(t.Context()); !ok || request.Name != event.String() {
			t.Errorf("%v: requested %v", event, request)
		}
	}
	if own.deleted != 1 {
		t.Errorf("%d deletions were counted, want 1", own.deleted)
	}
}

func TestHandlersForTheObjectRequestNothingWithoutAnObject(t *testing.T) {
	queue := workqueue.New[reconcile.Request](workqueue.Options{})
	eventhandler.TypedEnqueueRequestForObject[kctrl.Object]{}.Generic(t.Context(), informer.Event[kctrl.Object]{}, queue)
	if queue.Len() != 0 {
		t.Error("an event without an object requests something")
	}
}
