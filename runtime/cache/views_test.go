package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestViewsOfAnInformerHaveTheWholeObject(t *testing.T) {
	full := configMap("ns", "a")
	full.UID, full.Annotations, full.Finalizers = "u", map[string]string{"x": "y"}, []string{"x.io/y"}
	full.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "q"}}
	full.CreationTimestamp = metav1.NewTime(time.Unix(1e9, 0).UTC())
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "untyped": untyped()} {
		run(t, cache.Options{}, func(f *fixture) {
			f.api.put(configMaps, full)
			f.declare(prototype)
			for _, o := range []object.Object{metadata(), &corev1.ConfigMap{}} {
				live := o.DeepCopyObject().(object.Object)
				if err := errors.Join(f.get("ns", "a", o), f.live.Get(f.ctx, object.KeyOf(full), live)); err != nil {
					t.Fatal(err)
				}
				live.GetObjectKind().SetGroupVersionKind(configMapKind)
				if got, want := string(encode(o)), string(encode(live)); got != want {
					t.Errorf("%s read as %T\ngot  %s\nlive %s", name, o, got, want)
				}
			}
		})
	}
}

func TestHandlersOfAnotherGoTypeShareTheInformer(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(untyped())
		for what, prototype := range map[string]object.Object{"*v1.ConfigMap": &corev1.ConfigMap{},
			"*v1.PartialObjectMetadata": metadata(), "*unstructured.Unstructured": untyped()} {
			i, err := f.cache.Informer(prototype)
			if err != nil {
				t.Fatal(err)
			}
			var received []string
			r := i.AddHandler(func(e informer.Event[object.Object]) {
				received = append(received, fmt.Sprintf("%s %T %s", e.Type, e.Object, e.Object.GetLabels()["name"]))
				if e.Old != nil {
					received = append(received, fmt.Sprintf("%T", e.Old))
				}
			})
			a := configMap("ns", "a")
			f.api.put(configMaps, a)
			f.api.put(configMaps, a)
			f.api.remove(configMaps, a)
			synctest.Wait()
			r.Remove()
			expect(t, what, received, "Added "+what+" a", "Updated "+what+" a", what, "Deleted "+what+" a")
		}
		if len(f.api.watches) != 1 {
			t.Errorf("%d watches", len(f.api.watches))
		}
	})
}

func TestHandlerReceivesStatesAroundAnInconvertibleOne(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(untyped())
		i, err := f.cache.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		var received []string
		i.AddHandler(func(e informer.Event[object.Object]) {
			received = append(received, fmt.Sprint(e.Type, " ", e.Object.GetResourceVersion(), " ",
				e.Object.(*corev1.ConfigMap).Data["key"], " ", e.Merged, " ", e.FinalStateUnknown, " ", e.Old != nil))
		})
		put := func(data any) *unstructured.Unstructured {
			o := untyped()
			o.SetNamespace("ns")
			o.SetName("a")
			o.Object["data"] = data
			f.api.put(configMaps, o)
			synctest.Wait()
			return o
		}
		put(map[string]any{"key": int64(5)})
		put(map[string]any{"key": "good"})
		put(map[string]any{"key": "better"})
		f.api.remove(configMaps, put("bad"))
		synctest.Wait()
		expect(t, "events", received, "Added 12 good true false false", "Updated 13 better false false true",
			"Deleted 15  false true false")
	})
}

func TestMetadataOfAKindBecomeTheWholeBeforeTheCacheRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.put(configMaps, configMap("ns", "a"))
		c := cache.New(connect(t, a), cache.Options{})
		first, err := c.Informer(metadata())
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		var types [2]string
		first.AddHandler(func(e informer.Event[object.Object]) { types[0] = fmt.Sprintf("%T", e.Object) })
		second.AddHandler(func(e informer.Event[object.Object]) { types[1] = fmt.Sprintf("%T", e.Object) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c.Begin()
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		expect(t, "events", types[:], "*v1.PartialObjectMetadata", "*v1.ConfigMap")
		if len(a.watches) != 1 {
			t.Errorf("%d watches", len(a.watches))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestMetadataThatHaveAHandlerStayMetadata(t *testing.T) {
	c := cache.New(connect(t, newAPI()), cache.Options{})
	i, err := c.Informer(metadata())
	if err != nil {
		t.Fatal(err)
	}
	i.AddHandler(func(informer.Event[object.Object]) {})
	if _, err := c.Informer(&corev1.ConfigMap{}); err == nil ||
		!strings.Contains(err.Error(), "is cached as *v1.PartialObjectMetadata") {
		t.Errorf("got %v", err)
	}
}

func TestReadsWithoutACopyAreShared(t *testing.T) {
	runIn(t, cache.Options{Unpacked: true}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.declare(&corev1.ConfigMap{})
		key := object.Key{Namespace: "ns", Name: "a"}
		view, err := cache.View(f.ctx, f.cache, key, &corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := cache.View(f.ctx, f.cache, key, &corev1.ConfigMap{})
		if err != nil || view != again || view.Data["key"] != "a" {
			t.Errorf("got %v and %v, %v", view, again, err)
		}
		for each, err := range cache.Each(f.ctx, f.cache, &corev1.ConfigMap{}) {
			if err != nil || each != view {
				t.Errorf("got %v, %v", each, err)
			}
		}
		var shared, own corev1.ConfigMap
		var list corev1.ConfigMapList
		if err := errors.Join(f.get("ns", "a", &shared, client.UnsafeDisableDeepCopy), f.get("ns", "a", &own),
			f.cache.List(f.ctx, &list, client.UnsafeDisableDeepCopy)); err != nil {
			t.Fatal(err)
		}
		view.Data["mark"] = "seen by all who share"
		if len(shared.Data) != 2 || len(list.Items[0].Data) != 2 || len(own.Data) != 1 {
			t.Errorf("got %v, %v and %v", shared.Data, list.Items[0].Data, own.Data)
		}
		delete(view.Data, "mark")
		expect(t, "requests", f.api.take())
		if _, err := cache.View(f.ctx, f.cache, object.Key{Namespace: "ns", Name: "b"},
			&corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestEachSelectsAsAListDoes(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		for _, ns := range []string{"one", "two"} {
			f.api.put(configMaps, configMap(ns, "a"))
			f.api.put(configMaps, configMap(ns, "b"))
		}
		each := func(opts ...client.ListOption) []string {
			var keys []string
			for o, err := range cache.Each(f.ctx, f.cache, metadata(), opts...) {
				if err != nil {
					return []string{err.Error()}
				}
				keys = append(keys, object.KeyOf(o).String())
			}
			slices.Sort(keys)
			return keys
		}
		in := client.InNamespace("one")
		expect(t, "live", each(in), "one/a", "one/b")
		expect(t, "live requests", f.api.take(), "namespaces/one/configmaps?limit=500")
		f.api.put(namespaces, namespace("three"))
		for o, err := range cache.Each(f.ctx, f.cache, &corev1.Namespace{}, in) {
			if err != nil || o.Name != "three" {
				t.Errorf("of a cluster-scoped kind: got %v, %v", o, err)
			}
		}
		expect(t, "live requests", f.api.take(), "namespaces?limit=500")
		f.declare(&corev1.ConfigMap{})
		expect(t, "all", each(), "one/a", "one/b", "two/a", "two/b")
		expect(t, "selected", each(in, client.MatchingLabels{"name": "b"}), "one/b")
		expect(t, "a limit", each(client.Limit(1)), "list: an iteration has no pages")
		for range cache.Each(f.ctx, f.cache, &corev1.ConfigMap{}) {
			break
		}
		expect(t, "requests", f.api.take())
	})
}

func TestIterationsAndViewsSeeWritesThatReturnedBefore(t *testing.T) {
	lagging(t, cache.Options{}, func(f *fixture) {
		values := func(o *corev1.ConfigMap) []string { return slices.Sorted(maps.Values(o.Data)) }
		index, err := cache.NewIndex(f.cache, &corev1.ConfigMap{}, values)
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]func(opts bool) int{
			"each": func(stale bool) (n int) {
				for _, err := range cache.Each(f.ctx, f.cache, metadata(), client.StaleRead(stale)) {
					n++
					if err != nil {
						t.Error(err)
					}
				}
				return n - 1 // without the object named existing
			},
			"view": func(stale bool) int {
				_, err := cache.View(f.ctx, f.cache, object.Key{Namespace: "ns", Name: "a"}, metadata(), client.StaleRead(stale))
				if err != nil {
					return 0
				}
				return 1
			},
			"index": func(stale bool) (n int) {
				for _, err := range index.Get(f.ctx, "a", client.StaleRead(stale)) {
					n++
					if err != nil {
						t.Error(err)
					}
				}
				return n
			},
			"range": func(stale bool) (n int) {
				for range index.Range(f.ctx, "a", "b", client.StaleRead(stale)) {
					n++
				}
				return n
			},
		}
		for name, count := range read {
			a := withUID("a", name)
			f.write(f.ctx, a)
			f.takes(0, func() {
				if n := count(true); n != 0 {
					t.Errorf("%s: a stale read has %d", name, n)
				}
			})
			f.takes(time.Second, func() {
				if n := count(false); n != 1 {
					t.Errorf("%s: got %d after the creation", name, n)
				}
			})
			f.erase(f.ctx, a)
			f.takes(time.Second, func() {
				if n := count(false); n != 0 {
					t.Errorf("%s: got %d after the deletion", name, n)
				}
			})
		}
	})
}

func TestIndexFindsObjectsByValue(t *testing.T) {
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "untyped": untyped()} {
		run(t, cache.Options{Namespaces: []string{"one", "two"}}, func(f *fixture) {
			f.api.put(configMaps, configMap("one", "a"))
			f.api.put(configMaps, configMap("two", "b"))
			f.declare(prototype)
			index, err := cache.NewIndex(f.cache, &corev1.ConfigMap{},
				func(o *corev1.ConfigMap) []string { return []string{o.Data["key"]} })
			if err != nil {
				t.Fatal(err)
			}
			get := func(value string, opts ...client.ListOption) []string {
				var keys []string
				for o, err := range index.Get(f.ctx, value, opts...) {
					if err != nil {
						return []string{err.Error()}
					}
					keys = append(keys, object.KeyOf(o).String())
				}
				return keys
			}
			c := configMap("two", "c")
			c.Data["key"] = "a"
			f.api.put(configMaps, c)
			synctest.Wait()
			expect(t, name, get("a"), "one/a", "two/c")
			expect(t, name+" in a namespace", get("a", client.InNamespace("two")), "two/c")
			expect(t, name+" with a label", get("a", client.MatchingLabels{"name": "a"}), "one/a")
			expect(t, name+" of a value that nobody has", get("x"))
			for _, opts := range []client.ListOption{client.Live, client.Limit(1), client.InNamespace("three")} {
				if got := get("a", opts); len(got) != 1 || !strings.Contains(got[0], "read an index of ConfigMap") {
					t.Errorf("%v: got %q", opts, got)
				}
			}
			if err := f.cache.AddNamespace("three"); err != nil {
				t.Fatal(err)
			}
			f.api.put(configMaps, configMap("three", "a"))
			synctest.Wait()
			expect(t, name+" in a new namespace", get("a", client.InNamespace("three")), "three/a")
		})
	}
}
