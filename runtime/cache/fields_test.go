package cache_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func dataOf(key string) cache.IndexerFunc {
	return func(o object.Object) []string {
		if value, ok := o.(*corev1.ConfigMap).Data[key]; ok {
			return []string{value}
		}
		return nil
	}
}

func TestListSelectsByIndexedFields(t *testing.T) {
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "untyped": untyped()} {
		run(t, cache.Options{}, func(f *fixture) {
			f.declare(prototype)
			for _, field := range []string{"key", "color"} {
				if err := f.cache.IndexField(f.ctx, &corev1.ConfigMap{}, "data."+field, dataOf(field)); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.cache.IndexField(f.ctx, &corev1.ConfigMap{}, "data.key", dataOf("key")); err == nil {
				t.Error("indexed twice")
			}
			for _, ns := range []string{"one", "two"} {
				for n, key := range []string{"a", "b", "c"} {
					o := configMap(ns, key)
					o.Data["color"] = []string{"red", "blue"}[n%2]
					f.api.put(configMaps, o)
				}
			}
			synctest.Wait()
			for _, c := range []struct {
				fields client.MatchingFields
				opts   []client.ListOption
				want   []string
			}{
				{client.MatchingFields{"data.key": "b"}, nil, []string{"one/b", "two/b"}},
				{client.MatchingFields{"data.color": "red"}, []client.ListOption{client.InNamespace("two")},
					[]string{"two/a", "two/c"}},
				{client.MatchingFields{"data.color": "red", "data.key": "c"}, nil, []string{"one/c", "two/c"}},
				{client.MatchingFields{"data.color": "blue", "data.key": "c"}, nil, nil},
				{client.MatchingFields{"data.color": "red", "metadata.name": "a"}, nil, []string{"one/a", "two/a"}},
				{client.MatchingFields{"data.color": "red", "metadata.namespace": "one"}, []client.ListOption{client.Limit(1)},
					[]string{"one/a"}},
				{client.MatchingFields{"data.color": "red"}, []client.ListOption{client.MatchingLabels{"name": "c"}},
					[]string{"one/c", "two/c"}},
			} {
				expect(t, name+fmt.Sprint(c.fields), f.list(append(c.opts, c.fields)...), c.want...)
			}
			err := f.cache.List(f.ctx, &corev1.ConfigMapList{}, client.MatchingFields{"data.other": "x"})
			notIndexed, ok := errors.AsType[*cache.NotIndexedError](err)
			if !ok || notIndexed.Field != "data.other" || !strings.Contains(err.Error(),
				`IndexField(ctx, &ConfigMap{}, "data.other"`) {
				t.Errorf("got %v", err)
			}
			expect(t, "requests", f.api.take())
		})
	}
}

func TestCachedObjectsHaveTheirKind(t *testing.T) {
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "untyped": untyped()} {
		run(t, cache.Options{}, func(f *fixture) {
			bare := configMap("ns", "a")
			if name == "typed" {
				bare.APIVersion, bare.Kind = "", ""
			}
			f.api.put(configMaps, bare)
			i := f.declare(prototype)
			check := func(what string, o object.Object) {
				if got := o.GetObjectKind().GroupVersionKind(); got != configMapKind {
					t.Errorf("%s %s: got %v", name, what, got)
				}
			}
			var got corev1.ConfigMap
			var list corev1.ConfigMapList
			if err := errors.Join(f.get("ns", "a", &got), f.cache.List(f.ctx, &list)); err != nil {
				t.Fatal(err)
			}
			check("get", &got)
			check("item", &list.Items[0])
			view, err := cache.View(f.ctx, f.cache, object.KeyOf(bare), &corev1.ConfigMap{})
			if err != nil {
				t.Fatal(err)
			}
			check("view", view)
			for o := range cache.Each(f.ctx, f.cache, metadata()) {
				check("metadata", o)
			}
			var received object.Object
			i.AddHandler(func(e informer.Event[object.Object]) { received = e.Object })
			synctest.Wait()
			check("event", received)
		})
	}
}
