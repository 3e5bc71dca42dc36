package garbagecollector_test

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// TestOnAServer runs one collector and tests each rule in a separate namespace.
func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t, testenv.WithCRDs("testdata/crds.yaml"))
	live := newClient(t, env)
	received := make(chan events.Event, 2) // two of the rules cause an event
	broadcaster := events.New(events.Options{
		Scheme: runtime.NewScheme(), Sink: notifyingSink{events.NewSink(live), received},
	})
	httpClient, err := rest.HTTPClientFor(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	interferer := &interferer{RoundTripper: httpClient.Transport, live: live}
	httpClient.Transport = interferer
	collector, err := garbagecollector.New(env.Config, garbagecollector.Options{
		GraphOptions: garbagecollector.GraphOptions{Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
			HTTPClient: httpClient},
		Recorder: broadcaster.Recorder(garbagecollector.Name),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
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
			"OwnerInAVersionThatIsNoMoreIsNotGone":     ownerInARemovedVersion,
			"CircleGoesInTheForeground":                circleGoesInTheForeground,
			"ChangesWithoutEndDoNotSaveAnObject":       changesWithoutEnd,
			"WhatOwnersOfAFollowedKindOwnIsInTheGraph": graphAnswers,
			"ReferenceThatIsAddedLaterIsLookedAt":      referenceAddedLater,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errPatience)
				defer cancel()
				namespace := strings.ToLower(name)
				f := &fixture{T: t, ctx: ctx, live: live, namespace: namespace, collector: collector, config: env.Config,
					received: received, interferer: interferer}
				if err := live.Create(ctx, untyped(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "",
					namespace)); err != nil {
					t.Fatal(err)
				}
				rule(f)
			})
		}
	})
	if err := collector.Run(ctx); !errors.Is(err, life.ErrAlreadyRun) {
		t.Errorf("the second Run: %v", err)
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
}

// patience is how long a rule may wait for the expected state before its test fails.
const patience = 3 * time.Minute

var errPatience = fmt.Errorf("nothing has happened for %s", patience)

// notifyingSink is a sink that sends the events that it has stored to a channel.
type notifyingSink struct {
	events.Sink
	received chan events.Event
}

func (s notifyingSink) Create(ctx context.Context, e events.Event) error {
	err := s.Sink.Create(ctx, e)
	if err == nil {
		select {
		case s.received <- e:
		case <-ctx.Done():
		}
	}
	return err
}

// interferer changes an object just before each request to delete it.
type interferer struct {
	http.RoundTripper
	live    *client.REST
	object  atomic.Pointer[unstructured.Unstructured]
	deletes atomic.Int32
}

func (m *interferer) RoundTrip(r *http.Request) (*http.Response, error) {
	o := m.object.Load()
	if o == nil || r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, "/"+o.GetNamespace()+"/configmaps/"+
		o.GetName()) {
		return m.RoundTripper.RoundTrip(r)
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, m.deletes.Add(1))
	if err := m.live.Patch(r.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return nil, err
	}
	return m.RoundTripper.RoundTrip(r)
}

type fixture struct {
	*testing.T
	ctx        context.Context
	live       *client.REST
	namespace  string
	collector  *garbagecollector.Collector
	config     *rest.Config
	received   <-chan events.Event
	interferer *interferer
}

// Context returns a context that ends when the time limit of the rule is reached.
func (f *fixture) Context() context.Context { return f.ctx }

// make creates an object with owners. The references contain the owners' current UIDs.
func (f *fixture) make(gvk schema.GroupVersionKind, name string, change func(o *unstructured.Unstructured),
	owners ...*unstructured.Unstructured) *unstructured.Unstructured {
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
	return metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(),
		UID: owner.GetUID()}
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

// settled returns when the collector is idle, that is, when it has collected an object that was created later.
func (f *fixture) settled() {
	f.Helper()
	for range 2 {
		f.seen(configMap)
	}
}

// seen returns when the graph has all existing objects of a kind, that is, when the collector has collected an object
// of that kind that was created later.
func (f *fixture) seen(gvk schema.GroupVersionKind) {
	f.Helper()
	f.gone(f.make(gvk, "mark", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "nobody",
			UID: types.UID(o.GetNamespace() + "-nobody")}})
	}))
}

// there fails the test unless the objects exist.
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

// blocks returns a change that makes an object block the deletion of its owner.
func blocks(owner *unstructured.Unstructured) func(o *unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		ref, yes := reference(owner), true
		ref.BlockOwnerDeletion = &yes
		o.SetOwnerReferences([]metav1.OwnerReference{ref})
	}
}

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
	a := f.make(widget, "a", nil)
	b := f.make(configMap, "b", func(o *unstructured.Unstructured) {
		blocks(a)(o)
		held(o)
	})
	free := f.make(configMap, "free", held, a)
	f.seen(configMap)
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
	f.seen(configMap)
	f.seen(widget)
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
	f.seen(configMap)
	b := f.make(configMap, "b", nil, elsewhere)
	f.gone(b)
	var e events.Event
	for e.Namespace != f.namespace {
		select {
		case e = <-f.received:
		case <-f.Context().Done():
			f.Fatalf("no event was created: %v", context.Cause(f.Context()))
		}
	}
	if e.Reason != "OwnerRefInvalidNamespace" || !strings.Contains(e.Note, `does not exist in namespace "`+f.namespace+
		`"`) {
		f.Errorf("the event says %s: %s", e.Reason, e.Note)
	}
	f.there(elsewhere)
}

func namespacedOwnerOfAClusterScopedObject(f *fixture) {
	a := f.make(configMap, "a", nil)
	b := f.make(pool, "b", nil, a)
	ghost := f.make(pool, "ghost", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody",
			UID: "nobody-" + types.UID(f.namespace)}})
	})
	f.delete(a, metav1.DeletePropagationBackground)
	f.gone(a)
	f.settled()
	f.there(b, ghost)
}

func ownerOfAnUnknownKind(f *fixture) {
	a := f.make(configMap, "a", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "no.example.com/v1", Kind: "Nothing", Name: "x",
			UID: "x-" + types.UID(f.namespace)}})
	})
	f.settled()
	f.there(a)
}

// ownerWithANameThatIsNone uses invalid owner names. If a name would change the path of the request, the object is
// kept. Owners with other invalid names do not exist, so their dependents are collected.
func ownerWithANameThatIsNone(f *fixture) {
	for i, name := range []string{"a?watch=true", "a b", "#"} {
		f.gone(f.make(configMap, "g"+string(rune('a'+i)), func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: name,
				UID: types.UID(f.namespace + name)}})
		}))
	}
	for i, name := range []string{"..", ".", "a/b", "../../namespaces/default", "%2e%2e", "..%2f.."} {
		o := f.make(configMap, "o"+string(rune('a'+i)), func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: name,
				UID: types.UID(f.namespace + name)}})
		})
		f.settled()
		f.there(o)
	}
}

// ownerInARemovedVersion makes the server stop serving a version that references use and that the collector has
// discovered. The server then answers 404, as for a deleted object, but the dependent must be kept.
func ownerInARemovedVersion(f *fixture) {
	first := schema.GroupVersionKind{Group: "versions.kctrl.dev", Version: "v1", Kind: "Versioned"}
	second := first.GroupKind().WithVersion("v2")
	version := func(name string, served bool) map[string]any {
		return map[string]any{
			"name": name, "served": served, "storage": name == "v1",
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}
	}
	crd := untyped(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		"", "versioneds.versions.kctrl.dev")
	crd.Object["spec"] = map[string]any{
		"group": first.Group, "scope": "Namespaced", "names": map[string]any{"kind": first.Kind, "plural": "versioneds"},
		"versions": []any{version("v1", true), version("v2", true)},
	}
	if err := f.live.Create(f.Context(), crd); err != nil {
		f.Fatal(err)
	}
	owner := f.makeServed(first, "owner", f.make(configMap, "root", nil))
	inSecond := reference(owner)
	inSecond.APIVersion = second.GroupVersion().String()
	dependent := f.make(configMap, "dependent", func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{inSecond})
	})
	// look makes the collector process the dependent: it adds a reference to an absent owner, which the collector removes
	// after it has looked up both owners.
	look := func(name string) {
		f.Helper()
		patch := func(refs ...metav1.OwnerReference) {
			text, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": refs}})
			if err == nil {
				err = f.live.Patch(f.Context(), dependent.DeepCopy(), client.RawPatch(types.MergePatchType, text))
			}
			if err != nil {
				f.Fatal(err)
			}
		}
		patch(inSecond, metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: name,
			UID: types.UID(f.namespace + name)})
	}
	look("nobody")
	f.await(dependent, func(o *unstructured.Unstructured) bool { return len(o.GetOwnerReferences()) == 1 })
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": []any{version("v1", true),
		version("v2", false)}}})
	if err == nil {
		err = f.live.Patch(f.Context(), crd, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		f.Fatal(err)
	}
	unserved := untyped(second, f.namespace, "owner")
	f.awaitUnserved(unserved)
	look("nobody-else")
	f.settled()
	f.there(owner, dependent)
}

// awaitUnserved returns when the server no longer serves the kind of o. It uses new clients, which have no cached
// discovery.
func (f *fixture) awaitUnserved(o *unstructured.Unstructured) {
	f.Helper()
	var last error
	err := wait.PollUntilContextCancel(f.Context(), 20*time.Millisecond, true,
		func(ctx context.Context) (done bool, err error) {
			other, err := client.New(f.config, client.Options{Scheme: runtime.NewScheme()})
			if err != nil {
				return false, err
			}
			last = other.Get(ctx, object.KeyOf(o), o.DeepCopy())
			return meta.IsNoMatchError(last), nil
		})
	if err != nil {
		f.Fatalf("%s is still served: %v: %v", o.GetAPIVersion(), err, last)
	}
}

func kindsComeAndGo(f *fixture) {
	gvk := schema.GroupVersionKind{Group: "late.kctrl.dev", Version: "v1", Kind: "Late"}
	crd := untyped(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		"", "lates.late.kctrl.dev")
	crd.Object["spec"] = map[string]any{
		"group": gvk.Group, "scope": "Namespaced", "names": map[string]any{"kind": gvk.Kind, "plural": "lates"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
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
		b := f.makeServed(gvk, "b", a)
		c := f.make(configMap, "c", nil, b)
		f.delete(a, metav1.DeletePropagationForeground)
		f.gone(b, c)
		d := f.make(configMap, "d", nil)
		e := f.make(gvk, "e", blocks(d))
		f.seen(gvk)
		if err := f.live.Delete(f.Context(), made.DeepCopy()); err != nil {
			f.Fatal(err)
		}
		f.gone(made)
		f.delete(d, metav1.DeletePropagationForeground)
		f.gone(d) // the graph no longer has the object that blocked the deletion
		if n, seen := f.collector.Graph().Node(e.GetUID()); seen {
			f.Errorf("the graph has %s of a kind that is gone", n)
		}
	}
}

// makeServed creates an object of a new kind. It retries, because the API server serves a kind a moment after it
// reports the kind as established.
func (f *fixture) makeServed(gvk schema.GroupVersionKind, name string,
	owner *unstructured.Unstructured) (o *unstructured.Unstructured) {
	f.Helper()
	var last error
	err := wait.PollUntilContextCancel(f.Context(), 20*time.Millisecond, true,
		func(ctx context.Context) (done bool, err error) {
			o = untyped(gvk, f.namespace, name)
			o.SetOwnerReferences([]metav1.OwnerReference{reference(owner)})
			last = f.live.Create(ctx, o)
			if meta.IsNoMatchError(last) || apierrors.IsNotFound(last) {
				return false, nil
			}
			return true, last
		})
	if err != nil {
		f.Fatalf("create a %s: %v: %v", gvk.Kind, err, last)
	}
	return o
}

func circleGoesInTheForeground(f *fixture) {
	a := f.make(configMap, "a", nil)
	b := f.make(widget, "b", nil)
	tie := func(o, owner *unstructured.Unstructured) {
		blocks(owner)(o)
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

// changesWithoutEnd tests an object that changes before every delete request, so that the collector's resource version
// is always outdated.
func changesWithoutEnd(f *fixture) {
	a := f.make(configMap, "a", nil)
	b := f.make(configMap, "b", nil, a)
	f.interferer.object.Store(b)
	f.delete(a, metav1.DeletePropagationBackground)
	f.gone(b)
	if n := f.interferer.deletes.Load(); n < 2 {
		f.Errorf("the object was deleted in the state that was read: %d requests", n)
	}
}

func graphAnswers(f *fixture) {
	graph, err := garbagecollector.NewGraph(f.config,
		garbagecollector.GraphOptions{Ignored: []schema.GroupResource{{Resource: "secrets"}}})
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
	select {
	case <-graph.Synced():
	case <-f.Context().Done():
		f.Errorf("the graph is not synced: %v", context.Cause(f.Context()))
	}
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
	if n, ok := graph.Node(c.GetUID()); !ok || n.Virtual || len(n.Owners) != 2 || n.Owners[0].UID != b.GetUID() ||
		n.Key != object.KeyOf(c) {
		f.Errorf("the graph has %+v, %t", n, ok)
	}
	if _, ok := graph.Node("nobody"); ok || graph.Len() == 0 || graph.Dependents("nobody") != nil {
		f.Error("the graph has a missing owner or no objects")
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
	a.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "nobody",
		UID: "later-" + types.UID(f.namespace)}})
	if err := f.live.Update(f.Context(), a); err != nil {
		f.Fatal(err)
	}
	f.gone(a)
}
