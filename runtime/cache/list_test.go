package cache_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestListsComeInTheGoTypeOfTheInformer(t *testing.T) {
	lists := map[string]func() object.List{
		"typed": func() object.List { return &corev1.ConfigMapList{} },
		"metadata": func() object.List {
			return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}}
		},
		"untyped": func() object.List {
			return &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}}
		},
	}
	for name, prototype := range map[string]object.Object{"typed": &corev1.ConfigMap{}, "metadata": metadata(),
		"untyped": untyped()} {
		run(t, cache.Options{}, func(f *fixture) {
			f.api.put(configMaps, configMap("ns", "a"))
			f.declare(prototype)
			for reader, list := range lists {
				l := list()
				if err := f.cache.List(f.ctx, l); err != nil || l.GetResourceVersion() != "11" {
					t.Errorf("%s listed as %s: version %s, %v", name, reader, l.GetResourceVersion(), err)
				}
				if text := fmt.Sprint(l); !strings.Contains(text, "ns") {
					t.Errorf("%s listed as %s: %s", name, reader, text)
				}
				if live := len(f.api.take()) > 0; live != isLive(name, reader) {
					t.Errorf("%s listed as %s: live is %t", name, reader, live)
				}
			}
		})
	}
}

func TestListSelects(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		for _, ns := range []string{"two", "one"} {
			for _, name := range []string{"b", "c", "a"} {
				f.api.put(configMaps, configMap(ns, name))
			}
		}
		f.declare(&corev1.ConfigMap{})
		for _, r := range []struct {
			name string
			opts []client.ListOption
			want []string
		}{
			{"all, in order", nil, []string{"one/a", "one/b", "one/c", "two/a", "two/b", "two/c"}},
			{"a namespace", []client.ListOption{client.InNamespace("two")}, []string{"two/a", "two/b", "two/c"}},
			{"an empty namespace", []client.ListOption{client.InNamespace("three")}, nil},
			{"a label", []client.ListOption{client.MatchingLabels{"name": "b"}}, []string{"one/b", "two/b"}},
			{"a label and a namespace", []client.ListOption{client.MatchingLabels{"name": "b"}, client.InNamespace("one")},
				[]string{"one/b"}},
			{"nothing", []client.ListOption{client.MatchingLabelsSelector{Selector: labels.Nothing()}}, nil},
			{"no field", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.Nothing()},
				client.MatchingFields{"metadata.name": "c"}}, nil},
			{"no field of both", []client.ListOption{client.MatchingFieldsSelector{Selector: fields.AndSelectors(
				fields.Nothing(), fields.OneTermEqualSelector("metadata.name", "c"))}}, nil},
			{"a name", []client.ListOption{client.MatchingFields{"metadata.name": "c"}}, []string{"one/c", "two/c"}},
			{"a name and a namespace", []client.ListOption{client.MatchingFields{"metadata.name": "c",
				"metadata.namespace": "one"}}, []string{"one/c"}},
			{"a limit", []client.ListOption{client.Limit(2)}, []string{"one/a", "one/b"}},
			{"a limit and a label", []client.ListOption{client.Limit(1), client.MatchingLabels{"name": "b"}}, []string{"one/b"}},
			{"a limit that is not reached", []client.ListOption{client.Limit(9), client.InNamespace("one")},
				[]string{"one/a", "one/b", "one/c"}},
		} {
			expect(t, r.name, f.list(r.opts...), r.want...)
		}
		expect(t, "requests", f.api.take())
	})
}

func TestListWithALimitComesInPages(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		for _, key := range []string{"b/1", "a/1", "a/2", "c/1", "a/3"} {
			ns, name, _ := strings.Cut(key, "/")
			f.api.put(configMaps, configMap(ns, name))
		}
		f.declare(&corev1.ConfigMap{})
		var pages []string
		var list corev1.ConfigMapList
		for token := ""; ; token = list.Continue {
			if err := f.cache.List(f.ctx, &list, client.Limit(2), client.Continue(token)); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, strings.Join(namesOf(list), " "))
			if list.Continue == "" {
				break
			}
		}
		expect(t, "pages", pages, "a/1 a/2", "a/3 b/1", "c/1")
		expect(t, "requests", f.api.take())
	})
}

func TestListLeavesNothingOfTheListBefore(t *testing.T) {
	run(t, cache.Options{Namespaces: []string{"one", "two"}}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		list := corev1.ConfigMapList{
			ListMeta: metav1.ListMeta{ResourceVersion: "1", Continue: "token", RemainingItemCount: new(int64(3))},
			Items:    []corev1.ConfigMap{*configMap("left", "over")},
		}
		if err := f.cache.List(f.ctx, &list); err != nil {
			t.Fatal(err)
		}
		if list.ListMeta != (metav1.ListMeta{}) || len(list.Items) != 0 {
			t.Errorf("got %+v", list)
		}
	})
}

func TestKindThatTheServerDoesNotKnowIsAnErrorOfItsReads(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.Pod{})
		f.takes(0, func() {
			if err := f.get("ns", "a", &corev1.Pod{}); !meta.IsNoMatchError(err) {
				t.Errorf("get: %v", err)
			}
			if err := f.cache.List(f.ctx, &corev1.PodList{}); !meta.IsNoMatchError(err) {
				t.Errorf("list: %v", err)
			}
		})
	})
}
