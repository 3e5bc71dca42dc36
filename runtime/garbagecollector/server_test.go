package garbagecollector_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// TestOnARealServer runs one collector, and each rule in a namespace of its own.
func TestOnARealServer(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("testdata/crds.yaml"))
	live := newClient(t, env)
	broadcaster := events.New(events.Options{Scheme: runtime.NewScheme(), Sink: events.NewSink(live)})
	collector, err := garbagecollector.New(env.Config, garbagecollector.Options{
		GraphOptions: garbagecollector.GraphOptions{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))},
		Recorder:     broadcaster.Recorder(garbagecollector.Name),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- broadcaster.Run(ctx) }()
	go func() { ended <- collector.Run(ctx) }()
	t.Run("rules", func(t *testing.T) {
		for name, rule := range map[string]func(f *fixture){
			"DependentsGoWithTheirOwner":               dependentsGoWithTheirOwner,
			"ForegroundOwnerGoesAfterWhatBlocksIt":     foregroundOwnerGoesAfterWhatBlocksIt,
			"OrphansStayWithoutReferences":             orphansStay,
			"ObjectWithAnotherOwnerLosesTheReference":  objectWithAnotherOwner,
			"RecreatedOwnerIsAnotherOne":               recreatedOwnerIsAnotherOne,
			"OwnerInAnotherNamespaceIsTold":            ownerInAnotherNamespace,
			"NamespacedOwnerOfAClusterScopedObject":    namespacedOwnerOfAClusterScopedObject,
			"OwnerOfAnUnknownKindIsNotGone":            ownerOfAnUnknownKind,
			"OwnerWithANameThatIsNoneIsNotGone":        ownerWithANameThatIsNone,
			"KindsComeAndGo":                           kindsComeAndGo,
			"CircleGoesInTheForeground":                circleGoesInTheForeground,
			"ChangesWithoutEndDoNotSaveAnObject":       changesWithoutEnd,
			"WhatOwnersOfAFollowedKindOwnIsInTheGraph": graphAnswers,
			"ReferenceThatIsAddedLaterIsLookedAt":      referenceAddedLater,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				namespace := strings.ToLower(name)
				f := &fixture{T: t, live: live, namespace: namespace, collector: collector, config: env.Config}
				if err := live.Create(t.Context(), untyped(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", namespace)); err != nil {
					t.Fatal(err)
				}
				rule(f)
			})
		}
	})
	if err := collector.Run(ctx); !errors.Is(err, garbagecollector.ErrAlreadyRun) {
		t.Errorf("the second Run: %v", err)
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
}

type fixture struct {
	*testing.T
	live      *client.REST
	namespace string
	collector *garbagecollector.Collector
	config    *rest.Config
}

// make creates an object with owners; an owner's references are to the objects as they are.
func (f *fixture) make(gvk schema.GroupVersionKind, name string, change func(o *unstructured.Unstructured), owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	f.Helper()
	namespace := f.namespace
	if gvk == pool {
		namespace, name = "", f.namespace+"-"+name
	}
	o := untyped(gvk, namespace, name)
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		refs = append(refs, reference(owner))
	}
	o.SetOwnerReferences(refs)
	if change != nil {
		change(o)
	}
	if err := f.live.Create(f.Context(), o); err != nil {
		f.Fatal(err)
	}
	return o
}

func reference(owner *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}
}

func (f *fixture) delete(o *unstructured.Unstructured, policy metav1.DeletionPropagation) {
	f.Helper()
	if err := f.live.Delete(f.Context(), o.DeepCopy(), client.PropagationPolicy(policy)); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) gone(all ...*unstructured.Unstructured) {
	f.Helper()
	for _, o := range all {
		testenv.AwaitGone(f.Context(), f, f.live, o)
	}
}

func (f *fixture) await(o *unstructured.Unstructured, done func(o *unstructured.Unstructured) bool) {
	f.Helper()
	testenv.Await(f.Context(), f, f.live, o, done)
}

// settled returns when the collector has done what there was to do: it has collected what came later.
func (f *fixture) settled() {
	f.Helper()
	for range 2 {
		f.gone(f.make(configMap, "mark", func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "nobody", UID: types.UID(o.GetNamespace() + "-nobody")}})
		}))
	}
}

// there fails unless the objects exist.
func (f *fixture) there(all ...*unstructured.Unstructured) {
	f.Helper()
	for _, o := range all {
		now := o.DeepCopy()
		if err := f.live.Get(f.Context(), object.KeyOf(o), now); err != nil || now.GetUID() != o.GetUID() {
			f.Errorf("%s %s is not there any more: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func held(o *unstructured.Unstructured) { o.SetFinalizers([]string{hold}) }

func (f *fixture) release(o *unstructured.Unstructured) {
	f.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := f.live.Patch(f.Context(), o.DeepCopy(), patch); err != nil {
		f.Fatal(err)
	}
}

func unreferenced(o *unstructured.Unstructured) bool { return len(o.GetOwnerReferences()) == 0 }

func dependentsGoWithTheirOwner(f *fixture) {
	a := f.make(configMap, "a", nil)
	b, c := f.make(secret, "b", nil, a), f.make(widget, "c", nil, a)
	d := f.make(configMap, "d", nil, b, c)
	other := f.make(configMap, "other", nil)
	f.delete(a, metav1.DeletePropagationBackground)
	f.gone(a, b, c, d)
	f.there(other)
}

func foregroundOwnerGoesAfterWhatBlocksIt(f *fixture) {
	blocks := func(owner *unstructured.Unstructured) func(o *unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			ref, yes := reference(owner), true
			ref.BlockOwnerDeletion = &yes
			o.SetOwnerReferences([]metav1.OwnerReference{ref})
			held(o)
		}
	}
	a := f.make(widget, "a", nil)
	b := f.make(configMap, "b", blocks(a))
	free := f.make(configMap, "free", held, a)
	f.delete(a, metav1.DeletePropagationForeground)
	deleting := func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil }
	f.await(b, deleting)
	f.await(free, deleting)
	f.settled()
	f.there(a, b, free)
	f.release(b)
	f.gone(b, a)
	f.there(free)
}

func orphansStay(f *fixture) {
	a, other := f.make(pool, "a", nil), f.make(configMap, "other", nil)
	b, c := f.make(configMap, "b", nil, a), f.make(widget, "c", nil, a, other)
	f.delete(a, metav1.DeletePropagationOrphan)
	f.gone(a)
	f.await(b, unreferenced)
	f.await(c, func(o *unstructured.Unstructured) bool { return len(o.GetOwnerReferences()) == 1 })
	f.settled()
	f.there(b, c)
}

func objectWithAnotherOwner(f *fixture) {
	a, b := f.make(configMap, "a", nil), f.make(configMap, "b", nil)
	c := f.make(secret, "c", nil, a, b)
	f.delete(a, metav1.DeletePropagationBackground)
	f.await(c, func(o *unstructured.Unstructured) bool {
		refs := o.GetOwnerReferences()
		return len(refs) == 1 && refs[0].UID == b.GetUID()
	})
	f.delete(b, metav1.DeletePropagationForeground)
	f.gone(c)
}

func recreatedOwnerIsAnotherOne(f *fixture) {
	first := f.make(configMap, "a", nil)
	f.delete(first, metav1.DeletePropagationOrphan)
	f.gone(first)
	second := f.make(configMap, "a", nil)
	stale, fresh := f.make(configMap, "stale", nil, first), f.make(configMap, "fresh", nil, second)
	f.gone(stale)
	f.settled()
	f.there(second, fresh)
}

func ownerInAnotherNamespace(f *fixture) {
	elsewhere := untyped(configMap, "default", f.namespace)
	if err := f.live.Create(f.Context(), elsewhere); err != nil {
		f.Fatal(err)
	}
	f.await(elsewhere, func(o *unstructured.Unstructured) bool {
		_, seen := f.collector.Graph().Node(o.GetUID())
		return seen
	})
	b := f.make(configMap, "b", nil, elsewhere)
	f.gone(b)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "EventList"})
	for len(list.Items) == 0 {
		if err := f.live.List(f.Context(), list, client.InNamespace(f.namespace)); err != nil {
			f.Fatal(err)
		}
	}
	reason, _, _ := unstructured.NestedString(list.Items[0].Object, "reason")
	note, _, _ := unstructured.NestedString(list.Items[0].Object, "note")
	if reason != "OwnerRefInvalidNamespace" || !strings.Contains(note, `does not exist in namespace "`+f.namespace+`"`) {
		f.Errorf("the event says %s: %s", reason, note)
	}
	f.there(elsewhere)
}

func namespacedOwnerOfAClusterScopedObject(f *fixture) {
	a := f.make(configMap, "a", nil)
	b := f.make(pool, "b", nil, a)
	ghost := f.make(pool, "ghost", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "nobody-" + types.UID(f.namespace)}})
	})
	f.delete(a, metav1.DeletePropagationBackground)
	f.gone(a)
	f.settled()
	f.there(b, ghost)
}

func ownerOfAnUnknownKind(f *fixture) {
	a := f.make(configMap, "a", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "no.example.com/v1", Kind: "Nothing", Name: "x", UID: "x-" + types.UID(f.namespace)}})
	})
	f.settled()
	f.there(a)
}

// ownerWithANameThatIsNone uses names that would be another path of the API. What the server can be asked for is just
// not there.
func ownerWithANameThatIsNone(f *fixture) {
	for i, name := range []string{"a?watch=true", "a b", "#"} {
		f.gone(f.make(configMap, "g"+string(rune('a'+i)), func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: name, UID: types.UID(f.namespace + name)}})
		}))
	}
	for i, name := range []string{"..", ".", "a/b", "../../namespaces/default", "%2e%2e", "..%2f.."} {
		o := f.make(configMap, "o"+string(rune('a'+i)), func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: name, UID: types.UID(f.namespace + name)}})
		})
		f.settled()
		f.there(o)
	}
}

func kindsComeAndGo(f *fixture) {
	gvk := schema.GroupVersionKind{Group: "late.kctrl.dev", Version: "v1", Kind: "Late"}
	crd := untyped(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "", "lates.late.kctrl.dev")
	crd.Object["spec"] = map[string]any{
		"group": gvk.Group, "scope": "Namespaced", "names": map[string]any{"kind": gvk.Kind, "plural": "lates"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}
	for range 2 {
		made := crd.DeepCopy()
		if err := f.live.Create(f.Context(), made); err != nil {
			f.Fatal(err)
		}
		f.await(made, func(o *unstructured.Unstructured) bool {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			return slices.ContainsFunc(conditions, func(c any) bool {
				condition := c.(map[string]any)
				return condition["type"] == "Established" && condition["status"] == "True"
			})
		})
		a := f.make(configMap, "a", nil)
		var b *unstructured.Unstructured
		for b == nil { // the API server serves it a moment after it says so
			o := untyped(gvk, f.namespace, "b")
			o.SetOwnerReferences([]metav1.OwnerReference{reference(a)})
			if err := f.live.Create(f.Context(), o); err == nil {
				b = o
			} else if f.Context().Err() != nil {
				f.Fatal(err)
			}
		}
		c := f.make(configMap, "c", nil, b)
		f.delete(a, metav1.DeletePropagationForeground)
		f.gone(b, c)
		d := f.make(configMap, "d", nil)
		e := untyped(gvk, f.namespace, "e")
		e.SetOwnerReferences([]metav1.OwnerReference{reference(d)})
		if err := f.live.Create(f.Context(), e); err != nil {
			f.Fatal(err)
		}
		for {
			if _, seen := f.collector.Graph().Node(e.GetUID()); seen {
				break
			}
		}
		if err := f.live.Delete(f.Context(), made.DeepCopy()); err != nil {
			f.Fatal(err)
		}
		f.gone(made)
		for {
			if _, seen := f.collector.Graph().Node(e.GetUID()); !seen {
				break
			}
		}
		f.delete(d, metav1.DeletePropagationForeground)
		f.gone(d)
	}
}

func circleGoesInTheForeground(f *fixture) {
	a := f.make(configMap, "a", nil)
	b := f.make(widget, "b", nil)
	tie := func(o, owner *unstructured.Unstructured) {
		ref, yes := reference(owner), true
		ref.BlockOwnerDeletion = &yes
		o.SetOwnerReferences([]metav1.OwnerReference{ref})
		if err := f.live.Update(f.Context(), o); err != nil {
			f.Fatal(err)
		}
	}
	tie(a, b)
	tie(b, a)
	f.settled()
	f.there(a, b)
	f.delete(a, metav1.DeletePropagationForeground)
	f.gone(a, b)
}

// changesWithoutEnd is somebody who writes to an object all the time, so that its resource version is never that which
// was read.
func changesWithoutEnd(f *fixture) {
	a := f.make(configMap, "a", nil)
	b := f.make(configMap, "b", nil, a)
	ended := make(chan error)
	go func() {
		for i := 0; ; i++ {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"n":"`+time.Duration(i).String()+`"}}}`))
			if err := f.live.Patch(f.Context(), b.DeepCopy(), patch); err != nil {
				ended <- client.IgnoreNotFound(err)
				return
			}
		}
	}()
	f.delete(a, metav1.DeletePropagationBackground)
	if err := <-ended; err != nil {
		f.Error(err)
	}
}

func graphAnswers(f *fixture) {
	graph, err := garbagecollector.NewGraph(f.config, garbagecollector.GraphOptions{Ignored: []schema.GroupResource{{Resource: "secrets"}}})
	if err != nil {
		f.Fatal(err)
	}
	a := f.make(configMap, "a", nil)
	b := f.make(configMap, "b", held, a)
	f.make(secret, "ignored", nil, a)
	c := f.make(widget, "c", nil, b, a)
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	go func() { ended <- graph.Run(ctx) }()
	<-graph.Synced()
	if err := graph.Err(); err != nil {
		f.Error(err)
	}
	var names []string
	for _, n := range graph.Dependents(a.GetUID()) {
		names = append(names, n.String())
	}
	want := []string{"ConfigMap " + f.namespace + "/b", "Widget.collector.kctrl.dev " + f.namespace + "/c"}
	if !slices.Equal(names, want) {
		f.Errorf("dependents are %q, want %q", names, want)
	}
	if n, ok := graph.Node(c.GetUID()); !ok || n.Virtual || len(n.Owners) != 2 || n.Owners[0].UID != b.GetUID() || n.Key != object.KeyOf(c) {
		f.Errorf("the graph has %+v, %t", n, ok)
	}
	if _, ok := graph.Node("nobody"); ok || graph.Len() == 0 || graph.Dependents("nobody") != nil {
		f.Error("the graph knows nobody")
	}
	cancel()
	if err := <-ended; err != nil {
		f.Error(err)
	}
	f.release(b)
}

func referenceAddedLater(f *fixture) {
	a := f.make(configMap, "a", nil)
	f.settled()
	a.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "nobody", UID: "later-" + types.UID(f.namespace)}})
	if err := f.live.Update(f.Context(), a); err != nil {
		f.Fatal(err)
	}
	f.gone(a)
}
