package controller_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

func gadgetCRD() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets.controller.kctrl.test"},
		"spec": map[string]any{
			"group": "controller.kctrl.test", "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

func gadget(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("controller.kctrl.test/v1")
	u.SetKind("Gadget")
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// until repeats try until it returns no error.
func (f *fixture) until(what string, try func() error) {
	f.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-f.ctx.Done():
			f.Fatalf("%s: %v", what, err)
		}
	}
}

// optionalKindComesAndGoes tests a controller that watches a kind whose CRD is missing, then installed, removed, and
// installed again.
func optionalKindComesAndGoes(f *fixture) {
	var c client.Client
	controllers := f.run(f.config, func(m *keeper) error {
		c = m.Client()
		same := handler.ForObject[object.Object]()
		return controller.For[*corev1.ConfigMap](m).Named("optional").WatchesOptional(gadget("", ""), same).
			Complete(f.notes(""))
	})
	f.create(newConfigMap(f.namespace, "first"))
	f.await("first")
	if err := controllers["optional"].Ready(); err != nil {
		f.Error(err)
	}
	if err := c.Get(f.ctx, object.Key{Namespace: f.namespace, Name: "g"}, gadget("", "")); !meta.IsNoMatchError(err) {
		f.Errorf("a read of the absent kind: %v", err)
	}
	for _, round := range []string{"one", "two"} {
		crd := gadgetCRD()
		f.until("create the CRD", func() error { return f.client.Create(f.ctx, crd) })
		f.until("create a gadget", func() error { return f.client.Create(f.ctx, gadget(f.namespace, round)) })
		f.await(round)
		f.until("read it", func() error {
			return c.Get(f.ctx, object.Key{Namespace: f.namespace, Name: round}, gadget("", ""))
		})
		f.delete(crd)
		f.until("the CRD is gone", func() error {
			if err := f.client.Get(f.ctx, object.KeyOf(crd), crd); !apierrors.IsNotFound(err) {
				return fmt.Errorf("not yet: %w", err)
			}
			return nil
		})
		f.until("reads say that the kind is unknown", func() error {
			if err := c.Get(f.ctx, object.Key{Namespace: f.namespace, Name: round}, gadget("", "")); !meta.IsNoMatchError(err) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
		f.create(newConfigMap(f.namespace, "after-"+round))
		f.await("after-" + round)
		if err := controllers["optional"].Ready(); err != nil {
			f.Error(err)
		}
	}
}

// place is a custom type of requests.
type place struct{ kind, name string }

// requestsAreOfAnyType tests a controller with its own type of requests, typed handlers, and a metadata handler that
// receives its objects from the typed informer.
func requestsAreOfAnyType(f *fixture) {
	f.run(f.config, func(m *keeper) error {
		typed := func(_ context.Context, o *corev1.ConfigMap) []place {
			return []place{{"ConfigMap " + o.Data["key"], o.Name}}
		}
		metadata := func(_ context.Context, e informer.Event[object.Object], queue handler.Queue[place]) {
			queue.Add(place{fmt.Sprintf("%T", e.Object), e.Object.GetName()})
		}
		wanted := predicate.Object(func(o *corev1.ConfigMap) bool { return o.Name != "ignored" })
		b := controller.ForRequests[place](m, "places").WatchesMetadata(&corev1.ConfigMap{},
			metadata).Watches(handler.For(typed, wanted))
		return b.Complete(reconcile.Func[place](func(ctx context.Context, at place) (reconcile.Result, error) {
			f.seen <- at.kind + " " + at.name
			if causes := controller.ReasonFrom(ctx).Causes; len(causes) > 0 {
				f.seen <- causes[0].String()
			}
			return reconcile.Result{}, nil
		}))
	})
	o := newConfigMap(f.namespace, "a")
	o.Data = map[string]string{"key": "value"}
	f.create(newConfigMap(f.namespace, "ignored"))
	f.await("*v1.PartialObjectMetadata ignored")
	f.create(o)
	var got []string
	for range 4 {
		got = append(got, <-f.seen)
	}
	for _, want := range []string{"ConfigMap value a", "*v1.PartialObjectMetadata a",
		"Added ConfigMap " + f.namespace + "/a"} {
		found := false
		for _, line := range got {
			found = found || line == want
		}
		if !found {
			f.Errorf("no %q in %q", want, got)
		}
	}
}

// endOfAnObjectIsReconciled tests that a deleted object is reconciled although a predicate accepts only changes of the
// spec, so that the reconciler can remove its finalizer.
func endOfAnObjectIsReconciled(f *fixture) {
	const finalizer = "controller.kctrl.test/cleanup"
	onlyNew := predicate.Event(func(e informer.Event[*corev1.ConfigMap]) bool { return e.Type == informer.Added })
	f.run(f.config, func(m *keeper) error {
		return controller.For[*corev1.ConfigMap](m).Named("ends").WithPredicates(onlyNew).
			Complete(reconcile.Func[reconcile.Request](func(ctx context.Context,
				request reconcile.Request) (reconcile.Result, error) {
				var o corev1.ConfigMap
				if err := m.Client().Get(ctx, request.NamespacedName, &o); err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				if o.DeletionTimestamp == nil {
					f.seen <- "lives " + o.Name
					return reconcile.Result{}, nil
				}
				base := o.DeepCopy()
				o.Finalizers = nil
				f.seen <- "ends " + o.Name
				return reconcile.Result{}, client.IgnoreNotFound(m.Client().Patch(ctx, &o, client.MergeFrom(base)))
			}))
	})
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "a",
		Finalizers: []string{finalizer}}}
	f.create(o)
	f.await("lives a")
	f.delete(o)
	f.await("ends a")
	f.until("the object is gone", func() error {
		if err := f.client.Get(f.ctx, object.KeyOf(o), o); !apierrors.IsNotFound(err) {
			return errors.Join(err, errors.New("it exists"))
		}
		return nil
	})
}

// eventFilterIsForEveryKind tests that a filter drops events of all watched kinds, whether they were declared before or
// after the filter. It drops neither the events of other sources nor the deletion of an object.
func eventFilterIsForEveryKind(f *fixture) {
	const finalizer = "controller.kctrl.test/cleanup"
	sent := make(chan informer.Event[*corev1.ConfigMap])
	name := func(prefix string) handler.MapFunc {
		return func(_ context.Context, o object.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: object.Key{Name: prefix + o.GetName()}}}
		}
	}
	f.run(f.config, func(m *keeper) error {
		b := controller.For[*corev1.ConfigMap](m).Named("filtered").
			Watches(&corev1.Secret{}, handler.Map(name("secret "))).
			WithEventFilter(
				predicate.Object(func(o object.Object) bool { return o.GetName() != "ignored" }),
				predicate.SpecChanged(),
				func(e informer.Event[object.Object]) bool { return e.Type == informer.Added },
			).
			Owns(&corev1.ServiceAccount{}).
			WatchesMetadata(&corev1.ServiceAccount{}, handler.Map(name("account "))).
			WatchesSource(source.Channel(sent, handler.Map(func(_ context.Context, o *corev1.ConfigMap) []reconcile.Request {
				return name("sent ")(context.Background(), o)
			})))
		return b.Complete(f.notes(""))
	})
	const ignored = "ignored"
	account := func(name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	}
	f.create(newConfigMap(f.namespace, ignored), secret(f.namespace, ignored), account(ignored))
	o := newConfigMap(f.namespace, "a")
	o.Finalizers = []string{finalizer}
	f.create(o, secret(f.namespace, "s"), account("x"))
	sent <- informer.Event[*corev1.ConfigMap]{Object: newConfigMap(f.namespace, ignored)}
	want := map[string]bool{"a": true, "secret s": true, "account x": true, "sent ignored": true}
	for len(want) > 0 {
		select {
		case got := <-f.seen:
			if !want[got] {
				f.Errorf("%q was reconciled", got)
			}
			delete(want, got)
		case <-f.ctx.Done():
			f.Fatalf("%v was not reconciled", want)
		}
	}
	o.Labels = map[string]string{"a": "b"}
	if err := f.client.Update(f.ctx, o); err != nil {
		f.Fatal(err)
	}
	f.create(newConfigMap(f.namespace, "b")) // a request for the label change would arrive before this one
	select {
	case got := <-f.seen:
		if got != "b" {
			f.Errorf("got %q of a change that does not count", got)
		}
	case <-f.ctx.Done():
		f.Fatal("the new object was not reconciled")
	}
	f.delete(o)
	f.await("a")
}
