package handler_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	kctrl "github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// obj is the Go type of the objects in these tests.
type obj = *metav1.PartialObjectMetadata

type event = informer.Event[obj]

// queue is a handler.Queue that records each Add as a line.
type queue struct {
	mu   sync.Mutex
	adds [][]string
}

var (
	_ handler.Queue[reconcile.Request] = (*queue)(nil)
	_ handler.Queue[reconcile.Request] = (*workqueue.Queue[reconcile.Request])(nil)
)

func (q *queue) Add(requests ...reconcile.Request) {
	var keys []string
	for _, r := range requests {
		keys = append(keys, r.String())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.adds = append(q.adds, keys)
}

func (q *queue) AddAfter(request reconcile.Request, _ time.Duration) { q.Add(request) }

func (q *queue) AddWith(_ workqueue.AddOptions, requests ...reconcile.Request) { q.Add(requests...) }

// expect fails the test unless a single call added exactly the requests want.
func (q *queue) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.adds) > 1:
		t.Errorf("%s: added in %d steps: %q", what, len(q.adds), q.adds)
	case len(want) == 0 && len(q.adds) == 0:
	case len(q.adds) == 0 || !slices.Equal(q.adds[0], want):
		t.Errorf("%s: got %q, want %q", what, q.adds, want)
	}
}

// object returns an object with the given owners.
func object(name string, owners ...metav1.OwnerReference) obj {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
		OwnerReferences: owners}}
}

// owner returns a reference that is not a controller reference, and controlling returns one that is.
func owner(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name)}
}

func controlling(apiVersion, kind, name string) metav1.OwnerReference {
	ref := owner(apiVersion, kind, name)
	ref.Controller = new(true)
	return ref
}

var (
	shelf  = schema.GroupKind{Group: "library.example.com", Kind: "Shelf"}
	region = schema.GroupKind{Group: "library.example.com", Kind: "Region"}
)

const libraryV1, libraryV2 = "library.example.com/v1", "library.example.com/v2"

// mapper returns a mapper with the kinds Shelf, which is namespaced, and Region, which is not.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: shelf.Group, Version: "v1"}})
	m.Add(shelf.WithVersion("v1"), meta.RESTScopeNamespace)
	m.Add(region.WithVersion("v1"), meta.RESTScopeRoot)
	return m
}

func TestForObjectRequestsTheObject(t *testing.T) {
	for _, e := range []event{
		{Type: informer.Added, Object: object("a")},
		{Type: informer.Updated, Object: object("a"), Old: object("a")},
		{Type: informer.Deleted, Object: object("a")},
		{Object: object("a")},
	} {
		q := &queue{}
		handler.ForObject[obj]()(t.Context(), e, q)
		q.expect(t, e.Type.String(), "ns/a")
	}
}

func TestForObjectRequestsNothingWithoutAnObject(t *testing.T) {
	q := &queue{}
	handler.ForObject[obj]()(t.Context(), event{Type: informer.Added}, q)
	q.expect(t, "no object")
}

// TestHandlersSurviveUpdatesWithoutAnObject uses events as tests of operators and channels send them.
func TestHandlersSurviveUpdatesWithoutAnObject(t *testing.T) {
	controlled := object("a", controlling(libraryV1, shelf.Kind, "s"))
	for _, r := range []struct {
		name    string
		handler handler.Handler[obj, reconcile.Request]
		request string
	}{
		{"ForObject", handler.ForObject[obj](), "ns/a"},
		{"ForOwner", handler.ForOwner[obj](shelf, mapper(), true), "ns/s"},
	} {
		updates := map[string]event{"no new object": {Old: controlled}, "no old object": {Object: controlled}}
		for name, e := range updates {
			q := &queue{}
			e.Type = informer.Updated
			r.handler(t.Context(), e, q)
			q.expect(t, r.name+": "+name, r.request)
		}
		for _, of := range []informer.EventType{informer.Added, informer.Updated} {
			q := &queue{}
			r.handler(t.Context(), event{Type: of}, q)
			if added := slices.Concat(q.adds...); len(added) > 0 {
				t.Errorf("%s: %s without an object requests %q", r.name, of, added)
			}
		}
	}
}

func TestForObjectOfAClusterScopedObjectHasNoNamespace(t *testing.T) {
	q, o := &queue{}, object("a")
	o.Namespace = ""
	handler.ForObject[obj]()(t.Context(), event{Type: informer.Added, Object: o}, q)
	q.expect(t, "cluster-scoped", "/a")
}

func TestForOwnerRequestsOwnersOfTheKind(t *testing.T) {
	added := func(owners ...metav1.OwnerReference) event {
		return event{Type: informer.Added, Object: object("a", owners...)}
	}
	shelf1 := controlling(libraryV1, "Shelf", "one")
	for _, r := range []struct {
		name           string
		kind           schema.GroupKind
		controllerOnly bool
		event          event
		want           []string
	}{
		{"no owner", shelf, false, added(), nil},
		{"its controller", shelf, true, added(shelf1), []string{"ns/one"}},
		{"another version", shelf, true, added(controlling(libraryV2, "Shelf", "one")), []string{"ns/one"}},
		{"another group", shelf, false, added(controlling("other.example.com/v1", "Shelf", "one")), nil},
		{"another kind", shelf, false, added(controlling(libraryV1, "Region", "one")), nil},
		{"the core group", shelf, false, added(controlling("v1", "Shelf", "one")), nil},
		{"a bad apiVersion", shelf, false, added(controlling("a/b/c", "Shelf", "one")), nil},
		{"no controller, which must be one", shelf, true, added(owner(libraryV1, "Shelf", "one")), nil},
		{"no controller, which need not be one", shelf, false, added(owner(libraryV1, "Shelf", "one")), []string{"ns/one"}},
		{"several", shelf, false, added(shelf1, owner(libraryV1, "Shelf", "two")), []string{"ns/one", "ns/two"}},
		{"several, the controller only", shelf, true, added(owner(libraryV1, "Shelf", "two"), shelf1), []string{"ns/one"}},
		{"one owner twice", shelf, false, added(shelf1, owner(libraryV2, "Shelf", "one")), []string{"ns/one"}},
		{"cluster-scoped", region, true, added(controlling(libraryV1, "Region", "north")), []string{"/north"}},
		{"deleted", shelf, true, event{Type: informer.Deleted, Object: object("a", shelf1)}, []string{"ns/one"}},
	} {
		q := &queue{}
		handler.ForOwner[obj](r.kind, mapper(), r.controllerOnly)(t.Context(), r.event, q)
		q.expect(t, r.name, r.want...)
	}
}

func TestForOwnerRequestsTheOldAndTheNewOwnerOfAnUpdate(t *testing.T) {
	one, two := controlling(libraryV1, "Shelf", "one"), controlling(libraryV1, "Shelf", "two")
	for _, r := range []struct {
		name        string
		before, now []metav1.OwnerReference
		want        []string
	}{
		{"another owner", []metav1.OwnerReference{one}, []metav1.OwnerReference{two}, []string{"ns/two", "ns/one"}},
		{"the owner is gone", []metav1.OwnerReference{one}, nil, []string{"ns/one"}},
		{"the owner is new", nil, []metav1.OwnerReference{two}, []string{"ns/two"}},
		{"the same owner, once", []metav1.OwnerReference{one}, []metav1.OwnerReference{one}, []string{"ns/one"}},
		{"no longer its controller", []metav1.OwnerReference{one}, []metav1.OwnerReference{owner(libraryV1, "Shelf", "one")},
			[]string{"ns/one"}},
	} {
		q := &queue{}
		e := event{Type: informer.Updated, Old: object("a", r.before...), Object: object("a", r.now...)}
		handler.ForOwner[obj](shelf, mapper(), true)(t.Context(), e, q)
		q.expect(t, r.name, r.want...)
	}
}

func TestMapAddsTheRequestsOfTheFunction(t *testing.T) {
	byName := handler.Map(func(_ context.Context, o obj) []reconcile.Request {
		if o.Name == "" {
			return nil
		}
		return []reconcile.Request{
			{NamespacedName: types.NamespacedName{Namespace: "all", Name: "all"}},
			{NamespacedName: types.NamespacedName{Namespace: "by-name", Name: o.Name}},
		}
	})
	for _, r := range []struct {
		name  string
		event event
		want  []string
	}{
		{"added", event{Type: informer.Added, Object: object("a")}, []string{"all/all", "by-name/a"}},
		{"deleted", event{Type: informer.Deleted, Object: object("a")}, []string{"all/all", "by-name/a"}},
		{"nothing", event{Type: informer.Added, Object: object("")}, nil},
		{"updated, both states", event{Type: informer.Updated, Old: object("a"), Object: object("b")},
			[]string{"all/all", "by-name/b", "by-name/a"}},
		{"updated, the same twice", event{Type: informer.Updated, Old: object("a"), Object: object("a")},
			[]string{"all/all", "by-name/a"}},
	} {
		q := &queue{}
		byName(t.Context(), r.event, q)
		q.expect(t, r.name, r.want...)
	}
}

func TestMapLeavesTheSliceOfTheFunctionAlone(t *testing.T) {
	one := reconcile.Request{NamespacedName: types.NamespacedName{Name: "one"}}
	shared := append(make([]reconcile.Request, 0, 8), one)
	h := handler.Map(func(context.Context, obj) []reconcile.Request { return shared })
	h(t.Context(), event{Type: informer.Updated, Old: object("a"), Object: object("a")}, &queue{})
	if beyond := shared[:2][1]; beyond != (reconcile.Request{}) || len(shared) != 1 {
		t.Errorf("wrote %v behind the slice", beyond)
	}
}

func TestMapPassesTheContext(t *testing.T) {
	type key struct{}
	var got any
	h := handler.Map(func(ctx context.Context, _ obj) []reconcile.Request {
		got = ctx.Value(key{})
		return nil
	})
	h(context.WithValue(t.Context(), key{}, "value"), event{Type: informer.Added, Object: object("a")}, &queue{})
	if got != "value" {
		t.Errorf("got %v", got)
	}
}

func TestForHandlesTheEventsOfAGoTypeThatCount(t *testing.T) {
	counts := predicate.Object(func(o obj) bool { return o.Name != "ignored" })
	prototype, h := handler.For(func(_ context.Context, o obj) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "of-" + o.Name}}}
	}, counts)
	if _, is := prototype.(obj); !is {
		t.Errorf("the prototype is a %T", prototype)
	}
	for _, r := range []struct {
		name   string
		object kctrl.Object
		want   []string
	}{
		{"an object of the type", object("a"), []string{"/of-a"}},
		{"one that does not count", object("ignored"), nil},
		{"one of another type", &corev1.Secret{}, nil},
	} {
		q := &queue{}
		h(t.Context(), informer.Event[kctrl.Object]{Type: informer.Added, Object: r.object}, q)
		q.expect(t, r.name, r.want...)
	}
}
