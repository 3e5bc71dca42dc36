package cache_test

import (
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestReadsOfAPackedKindAreTheReaders(t *testing.T) {
	runIn(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.declare(&corev1.ConfigMap{})
		byName, err := cache.NewIndex(f.cache, &corev1.ConfigMap{},
			func(o *corev1.ConfigMap) []string { return []string{o.Name} })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		read := map[string]func() *corev1.ConfigMap{
			"View": func() *corev1.ConfigMap {
				o, _ := cache.View(f.ctx, f.cache, object.Key{Namespace: "ns", Name: "a"}, &corev1.ConfigMap{})
				return o
			},
			"Each": func() (o *corev1.ConfigMap) {
				for o = range cache.Each(f.ctx, f.cache, &corev1.ConfigMap{}) {
				}
				return o
			},
			"Index": func() (o *corev1.ConfigMap) {
				for o = range byName.Get(f.ctx, "a") {
				}
				return o
			},
			"Get": func() *corev1.ConfigMap {
				o := &corev1.ConfigMap{}
				_ = f.get("ns", "a", o)
				return o
			},
			"List": func() *corev1.ConfigMap {
				var list corev1.ConfigMapList
				_ = f.cache.List(f.ctx, &list)
				return &list.Items[0]
			},
		}
		for name, get := range read {
			get().Data["mark"] = "seen by its owner"
			if again := get(); len(again.Data) != 1 || again.Data["key"] != "a" {
				t.Errorf("%s: got %v", name, again.Data)
			}
		}
		expect(t, "requests", f.api.take())
	})
}

// unpackable has an unexported field, so the cache cannot pack it.
type unpackable struct {
	corev1.ConfigMap
	hidden int
}

func (u *unpackable) DeepCopyObject() runtime.Object {
	return &unpackable{*u.ConfigMap.DeepCopy(), u.hidden}
}

func TestKindThatCannotBePackedIsKeptUnpacked(t *testing.T) {
	runIn(t, cache.Options{}, func(f *fixture) {
		u := &unpackable{ConfigMap: corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}}
		if _, err := informer.NewPacking[object.Object](u); err == nil {
			t.Error("its Go type can be packed")
		}
		f.live.Scheme().AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("Unpackable"), u)
		if _, err := f.cache.Informer(u); err != nil {
			t.Error(err)
		}
	})
}

// Each and an Index unpack an object only when the iteration reaches it. The loop's body may read the cache.
func TestIterationsOfAPackedKindUnpackOneObjectAtATime(t *testing.T) {
	const count = 500
	runIn(t, cache.Options{}, func(f *fixture) {
		for n := range count {
			f.api.put(configMaps, configMap("ns", fmt.Sprint("a", n)))
		}
		f.declare(&corev1.ConfigMap{})
		all, err := cache.NewIndex(f.cache, &corev1.ConfigMap{}, func(*corev1.ConfigMap) []string { return []string{"all"} })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for name, objects := range map[string]iter.Seq2[*corev1.ConfigMap, error]{
			"Each":  cache.Each(f.ctx, f.cache, &corev1.ConfigMap{}),
			"Index": all.Get(f.ctx, "all"),
		} {
			first := func() {
				for o, err := range objects {
					if err != nil || f.get("ns", o.Name, &corev1.ConfigMap{}) != nil {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
			}
			if allocations := testing.AllocsPerRun(10, first); allocations > count/2 {
				t.Errorf("%s: the first of %d objects takes %.0f allocations", name, count, allocations)
			}
			seen := 0
			for range objects {
				seen++
			}
			if seen != count {
				t.Errorf("%s: %d of %d objects", name, seen, count)
			}
		}
		f.api.take()
	})
}
