package informer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// D01, D02: the deltas of a busy object, while the consumer stands still.
//
// Stronger: compression begins only when hundreds of deltas wait; until then everything is delivered, as F01 wants.
func TestDeltasOfAnObjectAreCompressedWhenManyWait(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Updated, "quiet", "0", 1))
	f.Push(delta(informer.Deleted, "a", "1", 2))
	for v := range 10000 {
		f.Push(delta(informer.Updated, "a", "2", 3+v))
	}
	if f.Len() > 300 {
		t.Fatalf("%d deltas wait", f.Len())
	}
	var all []string
	for _, batch := range popped(t, f) {
		all = append(all, batch...)
	}
	if all[0] != "Updated quiet/0@1" || all[1] != "Deleted a/1@2" || all[len(all)-1] != "Updated a/2@10002" {
		t.Errorf("got %q, ..., %q", all[:3], all[len(all)-1])
	}
}

// D02
func TestOfTwoDeletionsTheOneWithTheFinalStateIsKept(t *testing.T) {
	unknown := informer.Delta[obj]{Type: informer.Deleted, Key: keyOf("a"), FinalStateUnknown: true}
	known := delta(informer.Deleted, "a", "1", 2)
	for _, order := range [][]informer.Delta[obj]{{unknown, known}, {known, unknown}} {
		f := informer.NewDeltaFIFO[obj](nil)
		f.Push(order[0])
		f.Push(order[1])
		for v := range 255 {
			f.Push(delta(informer.Updated, "b", "2", 3+v))
		}
		expectBatches(t, popped(t, f), []string{"Deleted a/1@2", "Updated b/2@257"})
	}
}

// F08
func TestCompressedBacklogEndsAtItsLastVersion(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for v := range 257 {
		f.Push(delta(informer.Updated, string("ab"[v%2]), "1", v))
	}
	_ = f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
		if len(deltas) != 2 || deltas[0].ResourceVersion != "0" || deltas[1].ResourceVersion != "256" {
			t.Errorf("got %+v, want two deltas, at the versions 0 and 256", deltas)
		}
	})
}

// D04, F07
//
// Stronger: a deletion is delivered even of an unknown object, and dropped only under load and when the consumer never
// saw the object.
func TestMemoryIsBoundedByObjectsThatTheConsumerKnowsOrThatExist(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](func(key object.Key) bool { return key == keyOf("known") })
	f.Push(replaced(0))
	_ = f.Pop(t.Context(), func(informer.Deltas[obj]) {})
	f.Push(delta(informer.Deleted, "known", "0", 0))
	for v := range 10000 {
		name := fmt.Sprint("short-lived-", v)
		f.Push(delta(informer.Added, name, "1", 2*v))
		f.Push(delta(informer.Deleted, name, "1", 2*v+1))
	}
	if f.Len() > 300 {
		t.Errorf("%d deltas wait", f.Len())
	}
	version := ""
	for f.Len() > 0 {
		_ = f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
			if version == "" && deltas[0].Key != keyOf("known") {
				t.Error("the deletion of a known object was dropped")
			}
			version = deltas[len(deltas)-1].ResourceVersion
		})
	}
	if version != "19999" {
		t.Errorf("the queue ends at version %s", version)
	}
}

// D04: what is being processed may become known at any moment.
func TestDeletionOfAnObjectInProcessIsKept(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](func(object.Key) bool { return false })
	f.Push(delta(informer.Added, "a", "1", 1))
	_ = f.Pop(t.Context(), func(informer.Deltas[obj]) {
		f.Push(delta(informer.Deleted, "a", "1", 2))
		for v := range 1000 {
			f.Push(delta(informer.Updated, "b", "2", 3+v))
		}
	})
	if first := popped(t, f)[0][0]; first != "Deleted a/1@2" {
		t.Errorf("got %s first", first)
	}
}

func TestQueueForgetsThatItWasLong(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for v := range 5000 {
		f.Push(delta(informer.Added, fmt.Sprint("o", v), "1", v))
	}
	popped(t, f)
	for v := range 5000 {
		f.Push(delta(informer.Updated, "a", "1", v))
	}
	if f.Len() > 300 {
		t.Errorf("%d deltas wait", f.Len())
	}
}

// F08, C09: a resync that waits takes over the version of what comes behind it.
func TestVersionOfABookmarkBehindAResyncReachesTheStore(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a")
		hold, held := make(chan struct{}), false
		inf := build(s, in(options{Resync: time.Minute, Applied: func(version string, events []informer.Event[obj]) {
			if len(events) > 0 && events[0].Type == informer.Updated && !held {
				held = true
				<-hold
			}
		}}))
		run(t, inf)
		synctest.Wait()
		s.update("a") // is being applied, while a resync and then a bookmark come
		time.Sleep(time.Minute)
		s.send(bookmark("99"))
		synctest.Wait()
		close(hold)
		synctest.Wait()
		if version := inf.Store().ResourceVersion(); version != "99" {
			t.Errorf("the store is at %s", version)
		}
	})
}
