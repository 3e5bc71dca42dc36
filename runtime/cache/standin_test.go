package cache_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// toldHandler and toldRegistration are as the types of client-go's tools/cache that informers have.
type toldHandler interface {
	OnAdd(obj any, isInInitialList bool)
	OnUpdate(oldObj, newObj any)
	OnDelete(obj any)
}

type toldRegistration interface{ HasSynced() bool }

type registered struct{}

func (registered) HasSynced() bool { return true }

// fakeInformer tells its handlers what a test tells it.
type fakeInformer struct {
	*cache.Informer
	handlers []toldHandler
	synced   atomic.Bool
	removed  int
	err      error
}

func (f *fakeInformer) AddEventHandler(h toldHandler) (toldRegistration, error) {
	f.handlers = append(f.handlers, h)
	return registered{}, f.err
}

func (f *fakeInformer) RemoveEventHandler(toldRegistration) error { f.removed++; return nil }
func (f *fakeInformer) HasSynced() bool                           { return f.synced.Load() }

// synced returns one that has synced.
func synced() *fakeInformer {
	f := &fakeInformer{}
	f.synced.Store(true)
	return f
}

// fakeCache has one informer for all kinds, and one object of each.
type fakeCache struct {
	*cache.Cache
	informer *fakeInformer
	indexed  []string
	removed  []client.Object
	started  bool
}

func (f *fakeCache) GetInformer(context.Context, client.Object, ...any) (*cache.Informer, error) {
	return cache.InformerOf(f.informer), nil
}

func (f *fakeCache) GetInformerForKind(context.Context, schema.GroupVersionKind, ...any) (*cache.Informer, error) {
	return cache.InformerOf(f.informer), nil
}

func (f *fakeCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetName("fake-" + key.Name)
	return nil
}

func (f *fakeCache) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no lists")
}

func (f *fakeCache) IndexField(_ context.Context, _ client.Object, field string, _ cache.IndexerFunc) error {
	f.indexed = append(f.indexed, field)
	return nil
}

func (f *fakeCache) RemoveInformer(_ context.Context, obj client.Object) error {
	f.removed = append(f.removed, obj)
	return errors.New("no removal")
}

func (f *fakeCache) WaitForCacheSync(context.Context) bool { return f.informer.synced.Load() }
func (f *fakeCache) Start(context.Context) error           { f.started = true; return nil }

func TestACacheAsksItsStandIn(t *testing.T) {
	f := &fakeCache{informer: synced()}
	c := cache.Of(f)
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "a"}, pod); err != nil || pod.Name != "fake-a" {
		t.Errorf("Get: %v; the name is %q, want fake-a", err, pod.Name)
	}
	if err := c.List(t.Context(), &corev1.PodList{}); err == nil || err.Error() != "no lists" {
		t.Errorf("List: %v, want the error of the stand-in", err)
	}
	if err := c.IndexField(t.Context(), pod, "node", nil); err != nil || !slices.Equal(f.indexed, []string{"node"}) {
		t.Errorf("IndexField: %v; indexed %q, want node", err, f.indexed)
	}
	if err := c.RemoveInformer(pod); err == nil || err.Error() != "no removal" || !slices.Equal(f.removed, []client.Object{pod}) {
		t.Errorf("RemoveInformer: %v; removed %v, want the pod and the error of the stand-in", err, f.removed)
	}
	if err := c.Wait(t.Context()); err != nil {
		t.Errorf("Wait: %v", err)
	}
	f.informer.synced.Store(false)
	if err := c.Wait(t.Context()); err == nil {
		t.Error("a stand-in that has not synced is waited for without an error")
	}
	if err := c.Run(t.Context()); err != nil || !f.started {
		t.Errorf("Run: %v, started: %t", err, f.started)
	}
	if c.StandIn() != any(f) {
		t.Errorf("the stand-in is %v, want %v", c.StandIn(), f)
	}
}

func TestHandlersOfAStandInAreTold(t *testing.T) {
	f := synced()
	i, err := cache.Of(&fakeCache{informer: f}).Informer(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	registration := i.AddHandler(func(e informer.Event[object.Object]) {
		told = append(told, e.Type.String()+" "+e.Object.GetName())
	})
	if err := registration.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := i.AddEventHandler(f.handlers[0]); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	f.handlers[0].OnAdd(pod, true)
	f.handlers[1].OnUpdate(pod, pod)
	f.handlers[0].OnDelete(pod)
	f.handlers[0].OnDelete("no object")
	if got := strings.Join(told, ", "); got != "Added a, Updated a, Deleted a" {
		t.Errorf("the handlers were told %s", got)
	}
	registration.Remove()
	registration.Remove()
	<-registration.Done()
	if f.removed != 1 || i.GVK().Kind != "Pod" || i.Err() != nil || i.StandIn() != any(f) {
		t.Errorf("removed %d times, kind %s, err %v, stand-in %v", f.removed, i.GVK(), i.Err(), i.StandIn())
	}
	f.err = errors.New("no handlers")
	if _, err := i.AddEventHandler(f.handlers[0]); !errors.Is(err, f.err) {
		t.Errorf("the error is %v, want that of the stand-in", err)
	}
}

func TestAStandInIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeInformer{}
		waited := make(chan error)
		go func() { waited <- cache.InformerOf(f).Wait(t.Context()) }()
		synctest.Wait()
		f.synced.Store(true)
		if err := <-waited; err != nil {
			t.Error(err)
		}
		f.synced.Store(false)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { waited <- cache.InformerOf(f).Wait(ctx) }()
		synctest.Wait()
		cancel(errors.New("enough"))
		if err := <-waited; err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("the error is %v, want the cause", err)
		}
	})
}

func TestAStandInWithoutAMethodHasThatOfItsCache(t *testing.T) {
	inner := &fakeCache{informer: synced()}
	outer := cache.Of(struct{ *cache.Cache }{cache.Of(inner)})
	i, err := outer.Informer(&corev1.Pod{})
	if err != nil || i.StandIn() != any(inner.informer) {
		t.Errorf("%v; the informer is another one than that of what is embedded", err)
	}
	if i, err := outer.InformerForKind(corev1.SchemeGroupVersion.WithKind("Pod")); err != nil || i.GVK().Kind != "Pod" || i.StandIn() != any(inner.informer) {
		t.Errorf("%v; the informer of the kind is another one than that of what is embedded", err)
	}
	if _, err := cache.NewIndex(outer, &corev1.Pod{}, func(p *corev1.Pod) []string { return []string{p.Name} }); err == nil {
		t.Error("a stand-in has no objects, and was indexed")
	}
	err = cache.Of(struct{}{}).Get(t.Context(), client.ObjectKey{Name: "a"}, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})
	if err == nil || !strings.Contains(err.Error(), "struct {} stands in") {
		t.Errorf("the error is %v, want one that names the stand-in", err)
	}
	if c := cache.Of(outer); c != outer {
		t.Error("Of a cache is another one")
	}
}
