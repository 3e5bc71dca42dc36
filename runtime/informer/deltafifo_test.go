package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/informer"
)

func thing(name, uid string, version int) obj {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: strconv.Itoa(version),
	}}
}

// delta returns a delta of thing(name, uid, version) that arrives at that version.
func delta(kind informer.EventType, name, uid string, version int) informer.Delta[obj] {
	return informer.Delta[obj]{Type: kind, Object: thing(name, uid, version), ResourceVersion: strconv.Itoa(version)}
}

func replaced(version int, objects ...obj) informer.Delta[obj] {
	return informer.Delta[obj]{Type: informer.Replaced, Objects: objects, ResourceVersion: strconv.Itoa(version)}
}

// popped returns the batches that wait in f, in short: "Updated a/1@12" is object a of UID 1 in version 12.
func popped(t *testing.T, f *informer.DeltaFIFO[obj]) [][]string {
	t.Helper()
	var batches [][]string
	for f.Len() > 0 {
		err := f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
			var batch []string
			for _, d := range deltas {
				batch = append(batch, short(d))
			}
			batches = append(batches, batch)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return batches
}

func short(d informer.Delta[obj]) string {
	switch {
	case d.FinalStateUnknown:
		return fmt.Sprintf("%v %s?", d.Type, d.Key.Name)
	case d.Object == nil:
		return fmt.Sprintf("%v:%s", d.Type, d.ResourceVersion)
	}
	return fmt.Sprintf("%v %s/%s@%s", d.Type, d.Object.Name, d.Object.UID, d.Object.ResourceVersion)
}

func expectBatches(t *testing.T, got [][]string, want ...[]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// D01, F01
func TestDeltasComeOutInTheOrderInWhichTheyWentIn(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Push(delta(informer.Added, "b", "2", 2))
	f.Push(delta(informer.Updated, "a", "1", 3))
	f.Push(delta(informer.Deleted, "b", "2", 4))
	expectBatches(t, popped(t, f), []string{"Added a/1@1", "Added b/2@2", "Updated a/1@3", "Deleted b/2@4"})
}

// D03, F02, F03
//
// Stronger: a list is always one delta, never a row of deletions and additions, so the store goes from one whole state
// to the next.
func TestReplacedIsHandedOutAloneAndWhole(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Push(replaced(5, thing("a", "1", 2), thing("b", "2", 3)))
	f.Push(delta(informer.Updated, "a", "1", 6))
	expectBatches(t, popped(t, f), []string{"Added a/1@1"}, []string{"Replaced:5"}, []string{"Updated a/1@6"})
}

// D03
func TestLaterReplacedTakesThePlaceOfOneThatWaits(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Deleted, "a", "1", 1))
	for v := range 1000 {
		f.Push(replaced(v, thing("b", "2", 3)))
		f.Push(delta(informer.Updated, "b", "2", v))
	}
	f.Push(replaced(2000))
	expectBatches(t, popped(t, f), []string{"Deleted a/1@1"}, []string{"Replaced:2000"})
}

// F04
//
// Stronger: an object may be in a batch more than once, since the deltas of a batch are applied one after the other; so
// a busy object does not cut batches short.
func TestBatchHasAtMostAThousandDeltas(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for i := range 2500 {
		f.Push(delta(informer.Added, fmt.Sprint("o", i), "1", i))
	}
	batches := popped(t, f)
	if len(batches) != 3 || len(batches[0]) != 1000 || len(batches[1]) != 1000 || len(batches[2]) != 500 {
		t.Errorf("got %d batches", len(batches))
	}
}

// D05, F03
//
// Stronger: a resync waits as one entry, and is made from the store when its turn comes, so it cannot carry a state
// that is older than the store.
func TestOneSyncWaitsAtATime(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for range 3 {
		f.Push(informer.Delta[obj]{Type: informer.Sync})
		f.Push(delta(informer.Updated, "a", "1", 1))
	}
	expectBatches(t, popped(t, f), []string{"Sync:"}, []string{"Updated a/1@1", "Updated a/1@1", "Updated a/1@1"})
}

// F08
func TestBookmarkMovesTheVersionOfWhatWaits(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	bookmark := func(version string) {
		f.Push(informer.Delta[obj]{Type: informer.Bookmark, ResourceVersion: version})
	}
	bookmark("5")
	bookmark("6")
	expectBatches(t, popped(t, f), []string{"Bookmark:6"})
	f.Push(delta(informer.Added, "a", "1", 7))
	bookmark("9")
	_ = f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
		if len(deltas) != 1 || deltas[0].ResourceVersion != "9" {
			t.Errorf("got %+v, want one delta at version 9", deltas)
		}
	})
}

// D06, F05
func TestQueueIsSyncedWhenTheFirstReplacedHasBeenProcessed(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	synced := func() bool {
		select {
		case <-f.Synced():
			return true
		default:
			return false
		}
	}
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Push(replaced(5))
	for _, want := range []bool{false, true} {
		_ = f.Pop(t.Context(), func(informer.Deltas[obj]) {
			if synced() {
				t.Error("synced during processing")
			}
		})
		if synced() != want {
			t.Errorf("synced %v, want %v", synced(), want)
		}
	}
}

// D07
func TestPopEndsWithTheQueueOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := informer.NewDeltaFIFO[obj](nil)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		pop := func() { result <- f.Pop(ctx, func(informer.Deltas[obj]) {}) }
		go pop()
		synctest.Wait()
		f.Push(delta(informer.Added, "a", "1", 1))
		if err := <-result; err != nil {
			t.Errorf("got %v after a push", err)
		}
		go pop()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v after cancel", err)
		}
		ctx = t.Context()
		go pop()
		synctest.Wait()
		f.Close()
		f.Close()
		if err := <-result; !errors.Is(err, informer.ErrClosed) {
			t.Errorf("got %v after close", err)
		}
		f.Push(delta(informer.Added, "a", "1", 1))
		if f.Len() != 0 {
			t.Error("a closed queue took a delta")
		}
	})
}

// D07
func TestClosedQueueHandsOutWhatWaits(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Close()
	expectBatches(t, popped(t, f), []string{"Added a/1@1"})
}

// D08
//
// Stronger: the key is in the delta, so there is no tombstone type that a key function would have to know.
func TestDeletionWithoutAnObjectKeepsItsKey(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(informer.Delta[obj]{Type: informer.Deleted, Key: keyOf("a"), FinalStateUnknown: true})
	expectBatches(t, popped(t, f), []string{"Deleted a?"})
}
