package cache_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// labelled selects the ConfigMap of that name by its label.
func labelled(name string) labels.Selector { return labels.SelectorFromSet(labels.Set{"name": name}) }

func TestSelectorsOfAKindAndOfANamespaceStandOverThoseOfAll(t *testing.T) {
	everything := client.Scope{Labels: labels.Everything()}
	for name, r := range map[string]struct {
		opts cache.Options
		want []string // selected ConfigMaps among a and b in the namespaces one, two and three
	}{
		"all": {cache.Options{DefaultLabels: labelled("a")}, []string{"one/a", "three/a", "two/a"}},
		"namespaces": {cache.Options{ByNamespace: map[string]client.Scope{"one": {Labels: labelled("a")}, "two": {}}},
			[]string{"one/a", "two/a", "two/b"}},
		"namespaces and more": {
			cache.Options{Namespaces: []string{"two"}, DefaultLabels: labelled("b"),
				ByNamespace: map[string]client.Scope{"one": {Labels: labelled("a")}}},
			[]string{"one/a", "two/b"},
		},
		"a namespace with everything": {
			cache.Options{Namespaces: []string{"one", "two"}, DefaultLabels: labelled("b"),
				ByNamespace: map[string]client.Scope{"two": everything}},
			[]string{"one/b", "two/a", "two/b"},
		},
		"the kind": {
			cache.Options{DefaultLabels: labelled("a"), ByKind: []cache.KindOptions{{Object: &corev1.ConfigMap{},
				Scope: client.Scope{Labels: labelled("b")}}}},
			[]string{"one/b", "three/b", "two/b"},
		},
		"the kind over a namespace": {
			cache.Options{ByNamespace: map[string]client.Scope{"one": {Labels: labelled("a")}},
				ByKind: []cache.KindOptions{{Object: &corev1.ConfigMap{}, Scope: client.Scope{Labels: labelled("b")}}}},
			[]string{"one/b"},
		},
		"a namespace of the kind": {
			cache.Options{Namespaces: []string{"three"}, DefaultLabels: labelled("a"), ByKind: []cache.KindOptions{{
				Object: &corev1.ConfigMap{}, Scope: client.Scope{Labels: labelled("b")},
				ByNamespace: map[string]client.Scope{"one": {Labels: labelled("a")}, "two": {}},
			}}},
			[]string{"one/a", "two/b"},
		},
		"one namespace of the kind, and another": {
			cache.Options{Namespaces: []string{"three"}, ByKind: []cache.KindOptions{{
				Object: &corev1.ConfigMap{}, Scope: client.Scope{Namespace: "one", Fields: fields.Everything()},
				Namespaces: []string{"two"},
			}}},
			[]string{"one/a", "one/b", "two/a", "two/b"},
		},
		"fields of namespaces": {
			cache.Options{Namespaces: []string{"three"}, ByNamespace: map[string]client.Scope{
				"one": {Fields: fields.OneTermEqualSelector("metadata.name", "a")},
				"two": {Fields: fields.OneTermEqualSelector("metadata.name", "b"), Labels: labelled("b")},
			}},
			[]string{"one/a", "three/a", "three/b", "two/b"},
		},
		"all namespaces by name": {cache.Options{ByNamespace: map[string]client.Scope{"": {Labels: labelled("a")}}},
			[]string{"one/a", "three/a", "two/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, r.opts, func(f *fixture) {
				for _, ns := range []string{"one", "two", "three"} {
					f.api.put(configMaps, configMap(ns, "a"))
					f.api.put(configMaps, configMap(ns, "b"))
				}
				var seen recorder
				if err := f.declare(&corev1.ConfigMap{}).AddHandler(seen.handle).Wait(f.ctx); err != nil {
					t.Fatal(err)
				}
				expect(t, "list", f.list(), r.want...)
				var events []string
				for _, key := range r.want {
					events = append(events, "Added "+key)
				}
				expect(t, "events", seen.take(), events...)
				expect(t, "requests", f.api.take())
				cached := strings.Join(r.want, " ")
				for _, key := range []object.Key{{Namespace: "one", Name: "a"}, {Namespace: "one", Name: "b"}} {
					err := f.get(key.Namespace, key.Name, &corev1.ConfigMap{})
					if want := strings.Contains(cached, key.String()); want != (err == nil) || !want && !apierrors.IsNotFound(err) {
						t.Errorf("get %s: %v", key, err)
					}
				}
			})
		})
	}
}

func TestAScopeUnderAnotherNamespaceIsAnError(t *testing.T) {
	runIn(t, cache.Options{ByNamespace: map[string]client.Scope{"one": {Namespace: "two"}}}, func(f *fixture) {
		if _, err := f.cache.Informer(&corev1.ConfigMap{}); err == nil ||
			!strings.Contains(err.Error(), "a scope of namespace two for namespace one") {
			t.Errorf("got %v", err)
		}
	})
}

func TestSelectorsOfANamespaceAmongAllAreAnError(t *testing.T) {
	of := map[string]client.Scope{"one": {Labels: labelled("a")}}
	for name, opts := range map[string]cache.Options{
		"with all":  {Namespaces: []string{""}, ByNamespace: of},
		"with both": {ByNamespace: map[string]client.Scope{"one": {}, "": {}}},
		"kind with all": {ByKind: []cache.KindOptions{{Object: &corev1.ConfigMap{}, Namespaces: []string{""},
			ByNamespace: of}}},
		"also of no kind": {Namespaces: []string{"two", ""}, ByNamespace: of,
			ByKind: []cache.KindOptions{{Object: &corev1.ConfigMap{}, Namespaces: []string{"one"}}}},
	} {
		runIn(t, opts, func(f *fixture) {
			_, err := f.cache.Informer(&corev1.ConfigMap{})
			if err == nil || !strings.Contains(err.Error(), "ByNamespace has a scope of namespace one") {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

func TestReadsOfAnUnwatchedKindAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.put(configMaps, configMap("one", "a"))
		var text bytes.Buffer
		c := cache.New(connect(t, a), cache.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
		logged := func() int { return strings.Count(text.String(), "nothing watches it") }
		read := func(opts ...client.GetOption) {
			t.Helper()
			if err := c.Get(t.Context(), object.Key{Namespace: "one", Name: "a"}, &corev1.ConfigMap{}, opts...); err != nil {
				t.Error(err)
			}
		}
		read() // a read is served live before the cache runs
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		read(client.Live)
		read(client.NotOlderThan("1"))
		if logged() != 0 {
			t.Errorf("it logged reads that are meant to be live: %s", &text)
		}
		for range 3 {
			read()
			if err := c.List(t.Context(), &corev1.ConfigMapList{}); err != nil {
				t.Error(err)
			}
			for _, err := range cache.Each(t.Context(), c, &corev1.ConfigMap{}) {
				if err != nil {
					t.Error(err)
				}
			}
			if _, err := cache.View(t.Context(), c, object.Key{Namespace: "one", Name: "a"}, &corev1.ConfigMap{}); err != nil {
				t.Error(err)
			}
		}
		if logged() != 1 || !strings.Contains(text.String(), "level=INFO") ||
			!strings.Contains(text.String(), "kind=ConfigMap version=v1") {
			t.Errorf("logged %d times: %s", logged(), &text)
		}
		if err := c.List(t.Context(), &corev1.SecretList{}); err != nil {
			t.Error(err)
		}
		if logged() != 2 {
			t.Errorf("a second kind was not logged: %s", &text)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestObjectThatASelectorHidesIsNamedWhenItCannotBeCreated checks the hint in the error if a program creates an object
// that exists but is not in the cache.
func TestObjectThatASelectorHidesIsNamedWhenItCannotBeCreated(t *testing.T) {
	const hint = `already exists; the cache does not have it, because it caches only objects of kind ConfigMap ` +
		`with labels "app=web": change the object to match, or widen the selector in cache.Options`
	exists := client.Interceptor{
		Create: func(_ context.Context, _ client.Client, o object.Object, _ ...client.CreateOption) error {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, o.GetName())
		},
	}
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	selecting, web := cache.Options{DefaultLabels: selector}, map[string]string{"app": "web"}
	for name, r := range map[string]struct {
		opts    cache.Options
		labels  map[string]string // labels of the existing object
		declare bool
		hidden  bool
	}{
		"the object has lost its label": {selecting, nil, true, true},
		"the object is cached":          {selecting, web, true, false},
		"the cache selects nothing":     {cache.Options{}, nil, true, false},
		"the kind is not cached":        {selecting, nil, false, false},
		"reads of the kind are always live": {
			cache.Options{DefaultLabels: selector, DisableFor: []object.Object{&corev1.ConfigMap{}}}, nil, true, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, r.opts, func(f *fixture) {
				existing := configMap("default", "a")
				existing.Labels = r.labels
				f.api.put(configMaps, existing)
				if r.declare {
					f.declare(&corev1.ConfigMap{})
				}
				for _, reader := range []client.Reader{f.cache, cache.Reader{Cache: f.cache, Live: f.live}} {
					c := client.NewClient(reader, client.Intercept(f.live, exists))
					err := c.Create(f.ctx, configMap("default", "a"))
					if !apierrors.IsAlreadyExists(err) || strings.HasSuffix(err.Error(), hint) != r.hidden {
						f.Errorf("%T: got %v", reader, err)
					}
				}
			})
		})
	}
}
