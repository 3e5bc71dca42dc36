package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

func TestNamespacesRestrictWhatIsCached(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"two", "one", "two"}}, func(f *fixture) {
		for _, ns := range []string{"one", "two", "three"} {
			f.api.put(configMaps, configMap(ns, "a"))
		}
		i := f.declare(&corev1.ConfigMap{})
		var r recorder
		if err := i.AddHandler(r.handle).Wait(f.ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, "events", r.take(), "Added one/a", "Added two/a")
		expect(t, "all", f.list(), "one/a", "two/a")
		expect(t, "a cached one", f.list(client.InNamespace("two")), "two/a")
		if err := f.get("one", "a", &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		expect(t, "requests so far", f.api.take())
		expect(t, "another one", f.list(client.InNamespace("three")), "three/a")
		if err := f.get("three", "a", &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		expect(t, "live requests", f.api.take(), "namespaces/three/configmaps", "namespaces/three/configmaps/a")
	})
}

func TestClusterScopedKindsAreCachedWhole(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one"}}, func(f *fixture) {
		f.api.put(namespaces, namespace("one"))
		f.api.put(namespaces, namespace("two"))
		f.declare(&corev1.Namespace{})
		var list corev1.NamespaceList
		if err := f.cache.List(f.ctx, &list); err != nil || len(list.Items) != 2 {
			t.Errorf("got %d, %v", len(list.Items), err)
		}
		if err := f.get("", "two", &corev1.Namespace{}); err != nil {
			t.Error(err)
		}
		expect(t, "requests", f.api.take())
	})
}

func TestEmptyNamespaceMeansAll(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one", ""}}, func(f *fixture) {
		f.api.put(configMaps, configMap("one", "a"))
		f.api.put(configMaps, configMap("two", "a"))
		var r recorder
		f.declare(&corev1.ConfigMap{}).AddHandler(r.handle)
		synctest.Wait()
		expect(t, "events", r.take(), "Added one/a", "Added two/a")
	})
}

func TestNamespaceThatMayNotBeReadDoesNotHoldUpAnother(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one", "two"}}, func(f *fixture) {
		f.api.put(configMaps, configMap("one", "a"))
		f.api.refuse("/api/v1/namespaces/two/configmaps", "you may not")
		i := f.declare(&corev1.ConfigMap{})
		if err := f.get("one", "a", &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		expect(t, "list", f.list(client.InNamespace("one")), "one/a")
		if err := i.Err(); err == nil || !strings.Contains(err.Error(), "you may not") {
			t.Errorf("got %v", err)
		}
		if _, ok := errors.AsType[*reflector.SyncError](i.Err()); !ok {
			t.Errorf("got a %T", i.Err())
		}
	})
}

func TestNamespacedCacheCannotDeclareAKindWhileTheServerIsAway(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one"}}, func(f *fixture) {
		f.api.down = true
		if _, err := f.cache.Informer(&corev1.Namespace{}); err == nil || !strings.Contains(err.Error(), "no route") {
			t.Errorf("got %v", err)
		}
		f.api.down = false
		f.api.put(namespaces, namespace("two"))
		f.declare(&corev1.Namespace{})
		if err := f.get("", "two", &corev1.Namespace{}); err != nil {
			t.Error(err)
		}
	})
}

func TestKindThatTheServerDoesNotKnowIsTakenForNamespaced(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one"}}, func(f *fixture) {
		i := f.declare(&corev1.Pod{})
		if err := i.Err(); err == nil || !strings.Contains(err.Error(), "Pod") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNamespacesComeAndGoWhileTheCacheRuns(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one"}}, func(f *fixture) {
		for _, ns := range []string{"one", "two"} {
			f.api.put(configMaps, configMap(ns, "a"))
		}
		i := f.declare(&corev1.ConfigMap{})
		var r recorder
		registration := i.AddHandler(r.handle)
		synctest.Wait()
		expect(t, "events", r.take(), "Added one/a")
		for range 2 {
			if err := f.cache.AddNamespace("two"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		expect(t, "events of the new namespace", r.take(), "Added two/a")
		expect(t, "all", f.list(), "one/a", "two/a")
		f.api.take()
		expect(t, "in it", f.list(client.InNamespace("two")), "two/a")
		expect(t, "requests", f.api.take())
		for range 2 {
			if err := f.cache.RemoveNamespace("one"); err != nil {
				t.Fatal(err)
			}
		}
		f.api.put(configMaps, configMap("one", "b"))
		f.api.put(configMaps, configMap("two", "b"))
		synctest.Wait()
		expect(t, "events without it", r.take(), "Added two/b")
		expect(t, "all without it", f.list(), "two/a", "two/b")
		live := f.list(client.InNamespace("one"))
		slices.Sort(live)
		expect(t, "live", live, "one/a", "one/b")
		if got := len(f.api.take()); got != 1 {
			t.Errorf("%d requests", got)
		}
		if err := f.cache.RemoveNamespace("two"); err != nil {
			t.Fatal(err)
		}
		f.api.take()
		expect(t, "all of none", f.list())
		expect(t, "requests", f.api.take())
		registration.Remove()
		if err := f.cache.AddNamespace("one"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect(t, "events of a handler that is gone", r.take())
	})
	c := cache.New(connect(t, newAPI()), cache.Options{})
	if c.AddNamespace("one") == nil || c.RemoveNamespace("one") == nil {
		t.Error("a namespace beside all")
	}
}

func TestWritesToANamespaceBeforeItWasCachedAreSeen(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one"}}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		f.api.late(time.Second)
		f.api.stale = true
		a := withUID("a", "1")
		f.write(f.ctx, a)
		if err := f.cache.AddNamespace("ns"); err != nil {
			t.Fatal(err)
		}
		if err := f.get("ns", "a", &corev1.ConfigMap{}); !errors.Is(err, cache.ErrStale) {
			t.Errorf("got %v from a store that is older than the write", err)
		}
	})
}

// TestReadsAreRightWhileNamespacesComeAndGo reads while namespaces are cached, removed and added again.
func TestReadsAreRightWhileNamespacesComeAndGo(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one", "two"}}, func(f *fixture) {
		f.api.put(configMaps, configMap("one", "a"))
		f.api.put(configMaps, configMap("two", "a"))
		i := f.declare(&corev1.ConfigMap{})
		var workers, readers sync.WaitGroup
		over := make(chan struct{})
		for range 4 {
			workers.Go(func() {
				for range 50 {
					if err := errors.Join(f.cache.RemoveNamespace("one"), f.cache.AddNamespace("one")); err != nil {
						t.Error(err)
					}
				}
			})
			readers.Go(func() {
				for !isOver(over) {
					var got corev1.ConfigMapList
					for what, err := range map[string]error{
						"get":  f.get("one", "a", &corev1.ConfigMap{}),
						"list": f.cache.List(f.ctx, &got, client.InNamespace("one")),
						"all":  f.cache.List(f.ctx, &corev1.ConfigMapList{}),
						"wait": i.Wait(f.ctx),
					} {
						if err != nil && !errors.Is(err, cache.ErrNamespaceRemoved) {
							t.Errorf("%s: %v", what, err)
						} else if what == "list" && err == nil && len(got.Items) != 1 {
							t.Errorf("a list of %d", len(got.Items))
						}
					}
				}
			})
		}
		workers.Wait()
		close(over)
		readers.Wait()
		var r recorder
		if err := i.AddHandler(r.handle).Wait(f.ctx); err != nil {
			t.Error(err)
		}
		expect(t, "events", r.take(), "Added one/a", "Added two/a")
		expect(t, "all", f.list(), "one/a", "two/a")
	})
}

func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestOtherNamespacesHaveAScopeOfTheirOwn caches one namespace with one label selector and all other namespaces with
// another.
func TestOtherNamespacesHaveAScopeOfTheirOwn(t *testing.T) {
	one := client.Scope{Labels: labels.SelectorFromSet(labels.Set{"in": "one"})}
	others := client.Scope{Labels: labels.SelectorFromSet(labels.Set{"in": "others"})}
	options := cache.KindOptions{
		Object: &corev1.ConfigMap{}, ByNamespace: map[string]client.Scope{"one": one, "": others},
	}
	got := fmt.Sprint(options.ScopeOf("").Fields, " ", options.ScopeOf("one").Fields)
	if got != "metadata.namespace!=one <nil>" {
		t.Errorf("fields: %s", got)
	}
	run(t, cache.Options{ByKind: []cache.KindOptions{options}}, func(f *fixture) {
		for ns, in := range map[string]string{"one": "one", "two": "others", "three": "none"} {
			o := configMap(ns, in)
			o.Labels = map[string]string{"in": in}
			f.api.put(configMaps, o)
		}
		i := f.declare(&corev1.ConfigMap{})
		var r recorder
		if err := i.AddHandler(r.handle).Wait(f.ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, "events", r.take(), "Added one/one", "Added two/others")
		expect(t, "all", f.list(), "one/one", "two/others")
		expect(t, "the named one", f.list(client.InNamespace("one")), "one/one")
		expect(t, "another one", f.list(client.InNamespace("two")), "two/others")
		if err := f.get("two", "others", &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		expect(t, "live requests", f.api.take())
	})
}
