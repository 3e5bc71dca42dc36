package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestDeclaredKindIsReadFromItsInformer(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.declare(&corev1.ConfigMap{})
		got := &corev1.ConfigMap{Data: map[string]string{"left": "over"}}
		if err := f.get("ns", "a", got); err != nil {
			t.Fatal(err)
		}
		if len(got.Data) != 1 || got.Data["key"] != "a" || got.ResourceVersion != "11" || got.Kind != "ConfigMap" ||
			got.APIVersion != "v1" {
			t.Errorf("got %+v", got)
		}
		expect(t, "lists", f.list(), "ns/a")
		expect(t, "requests", f.api.take())
	})
}

func TestReadsFollowTheWatch(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		a := configMap("ns", "a")
		f.api.put(configMaps, a)
		a.Data["key"] = "changed"
		f.api.put(configMaps, a)
		f.api.put(configMaps, configMap("ns", "b"))
		f.api.remove(configMaps, configMap("ns", "b"))
		synctest.Wait()
		got := &corev1.ConfigMap{}
		if err := f.get("ns", "a", got); err != nil || got.Data["key"] != "changed" {
			t.Errorf("got %v, %v", got.Data, err)
		}
		if err := f.get("ns", "b", got); !apierrors.IsNotFound(err) {
			t.Errorf("the deleted one: %v", err)
		}
		expect(t, "list", f.list(), "ns/a")
	})
}

func TestReadObjectsBelongToTheCaller(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.declare(&corev1.ConfigMap{})
		var one corev1.ConfigMap
		var list corev1.ConfigMapList
		if err := errors.Join(f.get("ns", "a", &one), f.cache.List(f.ctx, &list)); err != nil {
			t.Fatal(err)
		}
		one.Data["key"], one.Labels["name"] = "mine", "mine"
		list.Items[0].Data["key"], list.Items[0].Labels["name"] = "mine", "mine"
		var again corev1.ConfigMap
		if err := f.get("ns", "a", &again); err != nil || again.Data["key"] != "a" || again.Labels["name"] != "a" {
			t.Errorf("the cache changed: %v, %v", again, err)
		}
	})
}

func TestUndeclaredKindIsReadLiveAndNotDeclaredByThat(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		for range 2 {
			if err := f.get("ns", "a", &corev1.ConfigMap{}); err != nil {
				t.Fatal(err)
			}
			f.list()
			synctest.Wait()
			expect(t, "requests", f.api.take(), "namespaces/ns/configmaps/a", "configmaps")
		}
		if len(f.api.watches) != 0 {
			t.Error("a read opened a watch")
		}
	})
}

func TestMissingObjectIsNotFoundInTheWordsOfTheServer(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		untouched := configMap("ns", "other")
		err := f.get("ns", "a", untouched)
		if !apierrors.IsNotFound(err) || err.Error() != `configmaps "a" not found` {
			t.Errorf("got %v", err)
		}
		if untouched.Name != "other" {
			t.Error("the object was changed")
		}
	})
}

func TestNamespaceOfAClusterScopedKindIsDropped(t *testing.T) {
	for _, opts := range []cache.Options{{}, {Namespaces: []string{"ns"}}} {
		run(t, opts, func(f *fixture) {
			f.api.put(namespaces, namespace("a"))
			f.declare(&corev1.Namespace{})
			var got corev1.Namespace
			if err := f.get("ns", "a", &got); err != nil || got.Name != "a" {
				t.Errorf("got %v, %v", got, err)
			}
			if err := f.get("ns", "b", &got); !apierrors.IsNotFound(err) {
				t.Errorf("got %v", err)
			}
			if view, err := cache.View(f.ctx, f.cache, object.Key{Namespace: "x", Name: "a"}, &corev1.Namespace{}); err != nil ||
				view.Name != "a" {
				t.Errorf("got %v, %v", view, err)
			}
			var list corev1.NamespaceList
			if err := f.cache.List(f.ctx, &list, client.InNamespace("x")); err != nil || len(list.Items) != 1 {
				t.Errorf("got %v, %v", list, err)
			}
			for each, err := range cache.Each(f.ctx, f.cache, &corev1.Namespace{}, client.InNamespace("x")) {
				if err != nil || each.Name != "a" {
					t.Errorf("got %v, %v", each, err)
				}
			}
			index, err := cache.NewIndex(f.cache, &corev1.Namespace{},
				func(o *corev1.Namespace) []string { return []string{o.Name} })
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for each, err := range index.Get(f.ctx, "a", client.InNamespace("x")) {
				if found++; err != nil || each.Name != "a" {
					t.Errorf("got %v, %v", each, err)
				}
			}
			for each, err := range index.Range(f.ctx, "a", "b", client.InNamespace("x")) {
				if found++; err != nil || each.Name != "a" {
					t.Errorf("got %v, %v", each, err)
				}
			}
			if found != 2 {
				t.Errorf("the index has %d", found)
			}
			expect(t, "requests", f.api.take())
		})
	}
}

func TestMaskedObjectIsNotWrittenAsAWhole(t *testing.T) {
	transform := func(o object.Object) (object.Object, error) { o.SetManagedFields(nil); return o, nil }
	for _, opts := range []cache.KindOptions{{}, {Scope: client.Scope{KeepManagedFields: true}}, {Transform: transform}} {
		opts.Object, opts.Mask = &corev1.ConfigMap{}, []string{"metadata"}
		run(t, cache.Options{ByKind: []cache.KindOptions{opts}}, func(f *fixture) {
			f.api.put(configMaps, configMap("ns", "a"))
			f.declare(&corev1.ConfigMap{})
			c := client.NewClient(f.cache, f.live)
			var got, whole corev1.ConfigMap
			if err := c.Get(f.ctx, object.Key{Namespace: "ns", Name: "a"}, &got); err != nil {
				t.Fatal(err)
			}
			var list corev1.ConfigMapList
			if err := c.List(f.ctx, &list); err != nil {
				t.Fatal(err)
			}
			view, err := cache.View(f.ctx, f.cache, object.Key{Namespace: "ns", Name: "a"}, &corev1.ConfigMap{})
			if err != nil {
				t.Fatal(err)
			}
			for what, o := range map[string]object.Object{"got": got.DeepCopy(), "listed": list.Items[0].DeepCopy(),
				"viewed": view.DeepCopy()} {
				o.SetLabels(map[string]string{"changed": "yes"})
				var masked *client.MaskedError
				if err := c.Update(f.ctx, o); !errors.As(err, &masked) || len(masked.Mask) != 1 || masked.Mask[0] != "metadata" {
					t.Errorf("%s: got %v", what, err)
				}
				if err := c.Status().Update(f.ctx, o); !errors.As(err, &masked) {
					t.Errorf("status of what was %s: got %v", what, err)
				}
			}
			if err := c.Get(f.ctx, object.Key{Namespace: "ns", Name: "a"}, &whole, client.Live); err != nil ||
				object.Mask(&whole) != nil {
				t.Errorf("got %v, %v", object.Mask(&whole), err)
			}
		})
	}
}

func TestKeyThatCanNameNothingIsNotNotFound(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		f.declare(&corev1.Namespace{})
		for what, err := range map[string]error{
			"no namespace": f.get("", "a", &corev1.ConfigMap{}),
			"no name":      f.get("ns", "", &corev1.ConfigMap{}),
		} {
			if err == nil || apierrors.IsNotFound(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
		expect(t, "requests", f.api.take())
	})
}

func TestGoTypesThatCannotBeMadeOfTheCachedOneAreReadLive(t *testing.T) {
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "metadata": metadata(),
		"untyped": untyped()} {
		run(t, cache.Options{}, func(f *fixture) {
			f.api.put(configMaps, configMap("ns", "a"))
			f.declare(prototype)
			for reader, o := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "metadata": metadata(),
				"untyped": untyped()} {
				if err := f.get("ns", "a", o); err != nil || o.GetName() != "a" {
					t.Errorf("%s read as %s: %v", name, reader, err)
				}
				if live := len(f.api.take()) > 0; live != isLive(name, reader) {
					t.Errorf("%s read as %s: live is %t", name, reader, live)
				}
			}
		})
	}
}

// isLive reports whether a read of type reader goes to the server while an informer caches the kind as type cached.
func isLive(cached, reader string) bool {
	return reader != cached && reader != "metadata" && (reader != "typed" || cached != "untyped")
}

func TestUncachedKindsAreReadLive(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.declare(&corev1.ConfigMap{})
		f.list(client.MatchingFields{"data.key": "a"}, client.Live)
		expect(t, "another field", f.api.take(), "configmaps?fieldSelector=data.key%3Da")
		f.list(client.Continue("token"))
		expect(t, "a token of the server", f.api.take(), "configmaps?continue=token")
		f.list(client.NotOlderThan("11"))
		expect(t, "a list of a version", f.api.take(), "configmaps?resourceVersion=11&resourceVersionMatch=NotOlderThan")
		if err := f.get("ns", "a", &corev1.ConfigMap{}, client.NotOlderThan("11")); err != nil {
			t.Error(err)
		}
		expect(t, "an object of a version", f.api.take(), "namespaces/ns/configmaps/a?resourceVersion=11")
	})
}

func TestWaitIsForAllKindsThatAreDeclared(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		if err := f.cache.Wait(f.ctx); err != nil {
			t.Fatal(err)
		}
		f.api.refuse("/api/v1/secrets", "no")
		f.declare(&corev1.Secret{})
		ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
		defer cancel()
		if err := f.cache.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReadWaitsUntilTheInformerHasSynced(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.api.refuse("/api/v1/configmaps", "not yet")
		f.declare(&corev1.ConfigMap{})
		time.AfterFunc(time.Minute, func() { f.api.refuse("/api/v1/configmaps", "") })
		start := time.Now()
		if err := f.get("ns", "a", &corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestTimedOutReadReportsWhyTheInformerIsNotSynced(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.refuse("/api/v1/configmaps", "you may not list configmaps")
		i := f.declare(&corev1.ConfigMap{})
		ctx, cancel := context.WithTimeoutCause(f.ctx, time.Minute, errors.New("the user went away"))
		defer cancel()
		for what, err := range map[string]error{
			"get":  f.cache.Get(ctx, object.Key{Namespace: "ns", Name: "a"}, &corev1.ConfigMap{}),
			"list": f.cache.List(ctx, &corev1.ConfigMapList{}),
			"wait": i.Wait(ctx),
		} {
			if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v", what, err)
				continue
			}
			for _, part := range []string{"configmaps has not synced", "the user went away", "you may not list configmaps"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q is not in %q", what, part, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: more than one line: %q", what, err)
			}
		}
	})
}

func TestKindThatTheSchemeDoesNotKnowIsAnError(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		if err := f.get("ns", "a", &metav1.PartialObjectMetadata{}); err == nil {
			t.Error("get: no error")
		}
		if err := f.cache.List(f.ctx, &metav1.PartialObjectMetadataList{}); err == nil {
			t.Error("list: no error")
		}
		if _, err := f.cache.Informer(&metav1.PartialObjectMetadata{}); err == nil {
			t.Error("informer: no error")
		}
	})
}

func TestContradictingOptionsAreAnError(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		if err := f.get("ns", "a", &corev1.ConfigMap{}, client.NotOlderThan("1"), client.NotOlderThan("2")); err == nil {
			t.Error("get: no error")
		}
		if err := f.cache.List(f.ctx, &corev1.ConfigMapList{}, client.Limit(1), client.Limit(2)); err == nil {
			t.Error("list: no error")
		}
	})
}
