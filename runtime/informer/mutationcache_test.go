package informer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// S05
//
// Stronger: the resource version of the store decides whether a write has arrived, so no handler is needed to clean up,
// and an object that was deleted by somebody else does not come back.
func TestWriteIsReadUntilTheStoreHasComeThatFar(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a", "b")
		inf := start(t, s, in(options{}))
		cache := informer.NewMutationCache(inf.Store(), time.Minute)
		at := func(name, want string) {
			t.Helper()
			got := "none"
			if o, ok := cache.Get(keyOf(name)); ok {
				got = o.ResourceVersion
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
		at("a", "11")
		cache.Wrote(thing("a", "uid-1", 13))
		cache.Wrote(thing("a", "uid-1", 12)) // an answer that was overtaken
		at("a", "13")
		cache.Wrote(thing("new", "uid-9", 14))
		at("new", "14")
		s.update("b")
		synctest.Wait()
		at("b", "13")
		at("a", "11") // the store is at 13 and says otherwise
		at("new", "14")
		s.delete("b")
		synctest.Wait()
		at("new", "none")
		cache.Wrote(thing("c", "uid-7", 100))
		cache.Deleted(keyOf("c"))
		at("c", "none")
		cache.Wrote(thing("unknown", "uid", 0)) // a version that cannot be compared
		at("unknown", "none")
	})
}

// S05
func TestWriteThatNeverArrivesIsForgotten(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		cache := informer.NewMutationCache(start(t, newSource(), in(options{})).Store(), time.Minute)
		cache.Wrote(thing("hidden", "uid", 99))
		pass(time.Minute - 1)
		if _, ok := cache.Get(keyOf("hidden")); !ok {
			t.Error("forgotten too early")
		}
		pass(1)
		if _, ok := cache.Get(keyOf("hidden")); ok {
			t.Error("not forgotten")
		}
	})
}

// S05
func TestStoreThatHasNotSyncedHidesNoWrite(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := scoped(t, newCluster("ns/a"), in(options{}), "ns")
		cache := informer.NewMutationCache(s, time.Hour)
		cache.Wrote(thing("a", "uid-1", 12))
		if o, ok := cache.Get(keyOf("a")); !ok || o.ResourceVersion != "12" {
			t.Errorf("got %v", o)
		}
		runScoped(t, s)
		if o, ok := cache.Get(keyOf("a")); !ok || o.ResourceVersion != "12" {
			t.Errorf("over an older state: got %v", o)
		}
	})
}
