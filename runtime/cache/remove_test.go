package cache_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func (f *fixture) remove(prototype object.Object) {
	f.Helper()
	if err := f.cache.RemoveInformer(prototype); err != nil {
		f.Fatal(err)
	}
}

func TestRemovedInformers(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.remove(&corev1.ConfigMap{}) // removing an undeclared kind does nothing
		f.api.put(configMaps, configMap("ns", "a"))
		i := f.declare(&corev1.ConfigMap{})
		byKey, err := cache.NewIndex(f.cache, &corev1.ConfigMap{},
			func(c *corev1.ConfigMap) []string { return []string{c.Data["key"]} })
		if err != nil {
			t.Fatal(err)
		}
		if err := f.cache.IndexField(f.ctx, &corev1.ConfigMap{}, "data.key",
			func(o object.Object) []string { return []string{o.(*corev1.ConfigMap).Data["key"]} }); err != nil {
			t.Fatal(err)
		}
		var r recorder
		registration := i.AddHandler(r.handle)
		synctest.Wait()
		expect(t, "events", r.take(), "Added ns/a")
		f.api.take()

		f.remove(&corev1.ConfigMap{})
		f.remove(&corev1.ConfigMap{})
		f.api.put(configMaps, configMap("ns", "b"))
		synctest.Wait()
		expect(t, "events of a handler of an informer that is gone", r.take())
		expect(t, "requests of an informer that is gone", f.api.take())
		expect(t, "a list", slices.Sorted(slices.Values(f.list())), "ns/a", "ns/b") // the fixture's lists are unordered
		if err := f.get("ns", "b", &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		if requests := f.api.take(); len(requests) != 2 {
			t.Errorf("reads make the requests %v", requests)
		}
		for what, err := range map[string]error{
			"a wait":       i.Wait(f.ctx),
			"an index":     errorOf(byKey.Get(f.ctx, "a")),
			"an index, ns": errorOf(byKey.Get(f.ctx, "a", client.InNamespace("ns"))),
		} {
			if !errors.Is(err, cache.ErrInformerRemoved) ||
				!strings.Contains(err.Error(), "ConfigMap: the informer was removed from the cache") {
				t.Errorf("%s: %v", what, err)
			}
		}
		for what, err := range map[string]error{
			"a handler":       registration.Wait(f.ctx),
			"another handler": i.AddHandler(r.handle).Wait(f.ctx),
		} {
			if err != nil && !errors.Is(err, informer.ErrEnded) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := f.cache.Wait(f.ctx); err != nil {
			t.Errorf("the cache waits for what it has not: %v", err)
		}

		again := f.declare(&corev1.ConfigMap{})
		again.AddHandler(r.handle)
		synctest.Wait()
		expect(t, "events of the next one", r.take(), "Added ns/a", "Added ns/b")
		expect(t, "all of the next one", f.list(), "ns/a", "ns/b")
		expect(t, "requests of reads of the next one", f.api.take())
		var list corev1.ConfigMapList
		var notIndexed *cache.NotIndexedError
		if err := f.cache.List(f.ctx, &list, client.MatchingFields{"data.key": "a"}); !errors.As(err, &notIndexed) {
			t.Errorf("an index of an informer that is gone: %v", err)
		}
	})
}

// errorOf returns the error with which an iteration ended.
func errorOf[T any](all func(yield func(T, error) bool)) (err error) {
	for _, err = range all {
	}
	return err
}

// TestAnInformerIsRemovedBeforeItHasSynced removes an informer while readers wait for its sync.
func TestAnInformerIsRemovedBeforeItHasSynced(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.refuse("/api/v1/configmaps", "not now")
		i, err := f.cache.Informer(&corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 3)
		go func() { errs <- i.Wait(f.ctx) }()
		go func() { errs <- f.get("ns", "a", &corev1.ConfigMap{}) }()
		go func() { errs <- f.cache.List(f.ctx, &corev1.ConfigMapList{}) }()
		synctest.Wait()
		f.remove(&corev1.ConfigMap{})
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, cache.ErrInformerRemoved) {
				t.Errorf("a wait has ended with %v", err)
			}
		}
	})
}

// TestAReadThatWaitsForAWriteEndsWithItsInformer removes an informer whose store never reaches the write.
func TestAReadThatWaitsForAWriteEndsWithItsInformer(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		f.api.late(time.Hour)
		f.api.stale = true
		f.write(f.ctx, withUID("a", "1"))
		failed := make(chan error)
		go func() { failed <- f.get("ns", "a", &corev1.ConfigMap{}) }()
		synctest.Wait()
		f.remove(&corev1.ConfigMap{})
		if err := <-failed; !errors.Is(err, cache.ErrInformerRemoved) {
			t.Errorf("a read has ended with %v", err)
		}
	})
}

func TestAnInformerIsRemovedByItsHandler(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.api.put(configMaps, configMap("ns", "a"))
		f.api.put(configMaps, configMap("ns", "b"))
		var calls int
		f.declare(&corev1.ConfigMap{}).AddHandler(func(informer.Event[object.Object]) {
			calls++
			if err := f.cache.RemoveInformer(&corev1.ConfigMap{}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if calls != 1 {
			t.Errorf("a handler that has removed its informer is called %d times", calls)
		}
	})
}

// TestWritesBeforeAnInformerComesAgainAreSeen checks that the reads of a new informer wait for writes that were made
// before it existed.
func TestWritesBeforeAnInformerComesAgainAreSeen(t *testing.T) {
	run(t, cache.Options{}, func(f *fixture) {
		f.declare(&corev1.ConfigMap{})
		f.remove(&corev1.ConfigMap{})
		f.api.late(time.Second)
		f.api.stale = true
		f.write(f.ctx, withUID("a", "1"))
		if _, err := f.cache.Informer(&corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		if err := f.get("ns", "a", &corev1.ConfigMap{}); !errors.Is(err, cache.ErrStale) {
			t.Errorf("got %v from a store that is older than the write", err)
		}
	})
}

// TestReadsAreRightWhileInformersComeAndGo reads a kind while it is declared and removed. No read may miss objects.
func TestReadsAreRightWhileInformersComeAndGo(t *testing.T) {
	for _, opts := range []cache.Options{{}, {Namespaces: []string{"one", "two"}}} {
		run(t, opts, func(f *fixture) {
			f.api.put(configMaps, configMap("one", "a"))
			f.api.put(configMaps, configMap("two", "a"))
			var workers, readers sync.WaitGroup
			over := make(chan struct{})
			for range 4 {
				workers.Go(func() {
					for range 20 { // the race detector itself sometimes fails after more
						i, err := f.cache.Informer(&corev1.ConfigMap{})
						if err == nil {
							i.AddHandler(func(informer.Event[object.Object]) {})
							err = f.cache.RemoveInformer(&corev1.ConfigMap{})
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
				readers.Go(func() {
					for !isOver(over) {
						var one, all corev1.ConfigMapList
						errs := []error{
							f.get("one", "a", &corev1.ConfigMap{}), f.cache.List(f.ctx, &one, client.InNamespace("one")),
							f.cache.List(f.ctx, &all), f.cache.Wait(f.ctx),
						}
						if n := slices.IndexFunc(errs, func(err error) bool {
							return err != nil &&
								!errors.Is(err, cache.ErrInformerRemoved)
						}); n >= 0 {
							t.Errorf("read %d: %v", n, errs[n])
						}
						if errs[1] == nil && len(one.Items) != 1 || errs[2] == nil && len(all.Items) != 2 {
							t.Errorf("lists of %d and %d", len(one.Items), len(all.Items))
						}
					}
				})
			}
			workers.Wait()
			close(over)
			readers.Wait()
		})
	}
}
