package cache_test

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// recorder is a handler that records its events, as "Added ns/a".
type recorder struct {
	mu       sync.Mutex
	received []string
}

func (r *recorder) handle(e informer.Event[object.Object]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, e.Type.String()+" "+object.KeyOf(e.Object).String())
}

// take returns the events since the last call, sorted.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	received := r.received
	r.received = nil
	slices.Sort(received)
	return received
}

func TestKindHasOneInformer(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		one, two := f.declare(&corev1.ConfigMap{}), f.declare(&corev1.ConfigMap{})
		if one != two || len(f.api.watches) != 1 {
			t.Errorf("%d watches", len(f.api.watches))
		}
		if one.GVK() != corev1.SchemeGroupVersion.WithKind("ConfigMap") {
			t.Errorf("of the kind %s", one.GVK())
		}
	})
}

func TestKindCannotBeCachedInTwoGoTypes(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		i := f.declare(&corev1.ConfigMap{})
		i.AddHandler(func(informer.Event[object.Object]) {})
		_, err := f.cache.Informer(untyped())
		if err == nil || !strings.Contains(err.Error(), "ConfigMap is cached as *v1.ConfigMap and cannot be cached as "+
			"*unstructured.Unstructured too") {
			t.Errorf("got %v", err)
		}
		f.declare(&corev1.ConfigMap{})
	})
}

func TestAnInformerOfAKindIsThatOfItsGoType(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		byType := f.declare(&corev1.ConfigMap{})
		if byKind, err := f.cache.InformerForKind(corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil ||
			byKind != byType {
			t.Errorf("%v; the informer of the kind is %p, want %p", err, byKind, byType)
		}
		for _, kind := range []string{"Unknown", "ListOptions"} {
			if _, err := f.cache.InformerForKind(corev1.SchemeGroupVersion.WithKind(kind)); err == nil {
				t.Errorf("there is an informer of %s", kind)
			}
		}
	})
}

func TestNilPrototypeIsAnError(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		if _, err := f.cache.Informer((*corev1.ConfigMap)(nil)); err == nil {
			t.Error("a nil pointer: no error")
		}
		if _, err := f.cache.Informer(nil); err == nil {
			t.Error("nil: no error")
		}
	})
}

func TestInformersDeclaredBeforeAndDuringRunAreStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		c := cache.New(connect(t, a), cache.Options{Logger: slog.New(slog.DiscardHandler)})
		before, err := c.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(a.watches) != 0 {
			t.Error("New or Informer started an informer")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		if err := before.Wait(ctx); err != nil {
			t.Error(err)
		}
		during, err := c.Informer(&corev1.Secret{})
		if err == nil {
			err = during.Wait(ctx)
		}
		if err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait() // the fake's goroutines remain; the bubble fails if they do not end
	})
}

func TestSecondRunIsAnError(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		if err := f.cache.Run(f.ctx); !errors.Is(err, life.ErrAlreadyRun) {
			t.Errorf("got %v", err)
		}
	})
}

func TestKindDeclaredAfterRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		c := cache.New(connect(t, a), cache.Options{})
		known, err := c.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if again, err := c.Informer(&corev1.ConfigMap{}); again != known || err != nil {
			t.Errorf("a kind that was declared before: %v", err)
		}
		if _, err := c.Informer(&corev1.Secret{}); !errors.Is(err, cache.ErrEnded) || len(a.watches) != 0 {
			t.Errorf("got %v and %d watches", err, len(a.watches))
		}
		if err := known.Wait(t.Context()); !errors.Is(err, cache.ErrEnded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRunReturnsAfterTheLastHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.put(configMaps, configMap("ns", "a"))
		c := cache.New(connect(t, a), cache.Options{})
		i, err := c.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		returned := false
		i.AddHandler(func(informer.Event[object.Object]) {
			<-time.After(time.Hour)
			returned = true
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := c.Run(ctx); err != nil || !returned || time.Since(start) != time.Hour {
			t.Errorf("returned after %v with %v; the handler has returned: %t", time.Since(start), err, returned)
		}
	})
}

func TestHandlerReceivesObjectsAndChangesUntilRemoved(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		i := f.declare(&corev1.ConfigMap{})
		var r recorder
		registration := i.AddHandler(r.handle)
		if err := registration.Wait(f.ctx); err != nil {
			t.Fatal(err)
		}
		expect(t, "what exists", r.take(), "Added ns/a")
		f.api.put(configMaps, configMap("ns", "b"))
		f.api.put(configMaps, configMap("ns", "a"))
		f.api.remove(configMaps, configMap("ns", "b"))
		synctest.Wait()
		expect(t, "changes", r.take(), "Added ns/b", "Deleted ns/b", "Updated ns/a")
		registration.Remove()
		f.api.put(configMaps, configMap("ns", "c"))
		synctest.Wait()
		expect(t, "after Remove", r.take())
	})
}

func TestRegistrationWaitEndsWithItsContext(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.refuse("/api/v1/configmaps", "no")
		registration := f.declare(&corev1.ConfigMap{}).AddHandler(new(recorder).handle)
		ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
		defer cancel()
		if err := registration.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestManagedFieldsAreDroppedUnlessTheyAreWanted(t *testing.T) {
	for _, keep := range []bool{false, true} {
		run(t, cache.Options{KeepManagedFields: keep}, func(f *fixture) {
			o := configMap("ns", "a")
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kctrl"}}
			f.api.put(configMaps, o)
			f.declare(&corev1.ConfigMap{})
			var got corev1.ConfigMap
			if err := f.get("ns", "a", &got); err != nil || (len(got.ManagedFields) == 1) != keep {
				t.Errorf("keep %t: got %v, %v", keep, got.ManagedFields, err)
			}
		})
	}
}

func TestOnlyTheMaskOfAKindIsCached(t *testing.T) {
	masked := func(mask string) cache.Options {
		return cache.Options{ByKind: []cache.KindOptions{{Object: &corev1.ConfigMap{},
			Scope: client.Scope{Mask: []string{mask}}}}}
	}
	run(t, masked("metadata.labels"), func(f *fixture) {
		o := configMap("ns", "a")
		o.Labels, o.Data = map[string]string{"keep": "me"}, map[string]string{"drop": "me"}
		o.Annotations = o.Data
		f.api.put(configMaps, o)
		f.declare(&corev1.ConfigMap{})
		var got corev1.ConfigMap
		if err := f.get("ns", "a", &got); err != nil || got.Labels["keep"] != "me" || got.Data != nil ||
			got.Annotations != nil || got.ResourceVersion == "" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	of := client.Scope{Mask: []string{"metadata.labels"}}
	for name, opts := range map[string]cache.Options{
		"of the kind": {Namespaces: []string{"whole"}, ByKind: []cache.KindOptions{{
			Object: &corev1.ConfigMap{}, Scope: client.Scope{Namespace: "whole"}, ByNamespace: map[string]client.Scope{"ns": of},
		}}},
		"of all kinds": {Namespaces: []string{"whole"}, ByNamespace: map[string]client.Scope{"ns": of}},
		"of all kinds, and unpacked": {Namespaces: []string{"whole"}, Unpacked: true,
			ByNamespace: map[string]client.Scope{"ns": of}},
		"transformed": {ByNamespace: map[string]client.Scope{"ns": of, "whole": {Namespace: "whole"}},
			ByKind: []cache.KindOptions{{
				Object: &corev1.ConfigMap{}, Transform: func(o object.Object) (object.Object, error) {
					return o.DeepCopyObject().(object.Object), nil
				},
			}}},
	} {
		run(t, opts, func(f *fixture) {
			f.api.put(configMaps, configMap("ns", "a"))
			f.api.put(configMaps, configMap("whole", "a"))
			f.declare(&corev1.ConfigMap{})
			var part, whole corev1.ConfigMap
			if err := errors.Join(f.get("ns", "a", &part), f.get("whole", "a", &whole)); err != nil || part.Data != nil ||
				object.Mask(&part) == nil || whole.Data == nil || object.Mask(&whole) != nil {
				t.Errorf("a mask of one namespace, %s: got %v and %v, %v", name, part, whole, err)
			}
		})
	}
	run(t, masked("dataa"), func(f *fixture) {
		if _, err := f.cache.Informer(&corev1.ConfigMap{}); err == nil ||
			!strings.Contains(err.Error(), "has no field dataa") {
			t.Errorf("got %v", err)
		}
	})
}

func TestResyncDeliversEverythingAgain(t *testing.T) {
	run(t, cache.Options{Resync: time.Hour}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		var r recorder
		f.declare(&corev1.ConfigMap{}).AddHandler(r.handle)
		synctest.Wait()
		expect(t, "at the start", r.take(), "Added ns/a")
		<-time.After(time.Hour + time.Second)
		expect(t, "an hour later", r.take(), "Updated ns/a")
	})
}

func TestErrIsNilAgainWhenTheInformerIsInStep(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.refuse("/api/v1/configmaps", "no")
		i := f.declare(&corev1.ConfigMap{})
		if i.Err() == nil {
			t.Error("no error while it may not list")
		}
		f.api.refuse("/api/v1/configmaps", "")
		if err := i.Wait(f.ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := i.Err(); err != nil {
			t.Errorf("got %v", err)
		}
	})
}
