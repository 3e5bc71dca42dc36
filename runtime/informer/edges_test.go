package informer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// C11
//
// Stronger: there is no tombstone type that a handler could forget. Whatever is known of an object that is gone is in
// Object, so its key, name and UID can always be taken from there.
func TestDeletedObjectIsAlwaysThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("watched", "missed", "unreadable", "recreated")
		inf := start(t, s, options{Transform: marking(map[string]bool{"unreadable@16": true})})
		gone := make(map[string]bool)
		inf.AddHandler(func(e informer.Event[obj]) {
			if e.Key() != keyOf(e.Object.GetName()) || e.Object.UID == "" || e.Object.ResourceVersion == "" {
				t.Errorf("%s has the key %s and the UID %q", describe(e), e.Key(), e.Object.UID)
			}
			if e.Type == informer.Deleted {
				gone[e.Key().Name] = e.FinalStateUnknown
			}
		})
		s.delete("watched")
		s.delete("unreadable")
		synctest.Wait()
		s.create("recreated")
		synctest.Wait()
		s.cut(apierrors.NewResourceExpired("gone"))
		s.delete("missed")
		s.forget()
		pass(2 * time.Second)
		if want := "map[missed:true recreated:true unreadable:true watched:false]"; fmt.Sprint(gone) != want {
			t.Errorf("got %v, want %s", gone, want)
		}
	})
}

// F06
//
// Stronger: a slow consumer never holds up the watch, which the server would end, nor does it cost more memory for each
// event: what waits is compressed per object.
func TestPushDoesNotWaitForTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := informer.NewDeltaFIFO[obj](nil)
		f.Push(delta(informer.Added, "a", "1", 1))
		release, popped := make(chan struct{}), make(chan error)
		go func() { popped <- f.Pop(t.Context(), func(informer.Deltas[obj]) { <-release }) }()
		synctest.Wait()
		for v := range 100000 {
			f.Push(delta(informer.Updated, fmt.Sprint("o", v%10), "2", v))
			if f.Len() > 257 {
				t.Fatalf("%d deltas wait", f.Len())
			}
		}
		close(release)
		if err := <-popped; err != nil {
			t.Error(err)
		}
	})
}
