package workqueue

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The rules are those of the conformance list: Q01 dedup, Q02 one worker per item, Q03 an add of a dirty item, Q04
// shutdown and drain, Q05 collection, Q06 delays, Q07 backoff, Q08 metrics, Q09 priorities.

// got returns the items that can be got now, each of them Done at once, in their order.
func got(q *Queue[string]) []string {
	var items []string
	for q.Len() > 0 {
		item, _ := q.Get(context.Background())
		q.Done(item)
		items = append(items, item)
	}
	return items
}

func mustGet(t *testing.T, q *Queue[string], want string) {
	t.Helper()
	if item, ok := q.Get(t.Context()); !ok || item != want {
		t.Fatalf("Get returned %q, %v; want %q", item, ok, want)
	}
}

func wantItems(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got the items %q, want %q", got, want)
	}
}

// Q01.
func TestItemsAreGotInTheOrderOfTheirAdds(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "b")
	q.Add("c")
	wantItems(t, got(q), "a", "b", "c")
}

// Q01.
func TestItemAddedTwiceIsGotOnce(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "a")
	q.Add("a")
	if q.Len() != 1 {
		t.Errorf("Len is %d", q.Len())
	}
	wantItems(t, got(q), "a")
}

// Q03.
func TestAddOfAReadyItemKeepsItsPlace(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "b", "a")
	wantItems(t, got(q), "a", "b")
}

// Q02.
func TestAddDuringProcessingRunsAgain(t *testing.T) {
	q := New[string](Options{})
	q.Add("a")
	mustGet(t, q, "a")
	q.Add("a")
	q.Add("a")
	if q.Len() != 0 {
		t.Error("an item that is processing is ready")
	}
	q.Done("a")
	wantItems(t, got(q), "a")
}

// Q02.
func TestItemAddedBeforeDoneWaitsBehindReadyItems(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "b")
	mustGet(t, q, "a")
	q.Add("a")
	q.Done("a")
	wantItems(t, got(q), "b", "a")
}

// Q02.
func TestDoneWithoutGetDoesNothing(t *testing.T) {
	q := New[string](Options{})
	q.Add("a")
	q.Done("a")
	q.Done("b")
	wantItems(t, got(q), "a")
}

// Q02: run with -race, which sees two workers in one slot of busy.
func TestNoTwoWorkersHaveOneItem(t *testing.T) {
	q := New[int](Options{})
	const items, adds, workers = 8, 2000, 6
	var busy [items]int
	var done atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
				busy[item]++
				done.Add(1)
				q.Done(item)
			}
		})
	}
	var adding sync.WaitGroup
	for start := range 4 {
		adding.Go(func() {
			for i := range adds {
				q.Add((start + i) % items)
			}
		})
	}
	adding.Wait()
	if err := q.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	working.Wait()
	total := 0
	for _, n := range busy {
		total += n
	}
	if total != int(done.Load()) || total < items {
		t.Errorf("%d items were processed, and %d counted", done.Load(), total)
	}
}

// Q01.
func TestGetBlocksUntilAnItemIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		start := time.Now()
		time.AfterFunc(time.Hour, func() { q.Add("a") })
		mustGet(t, q, "a")
		if took := time.Since(start); took != time.Hour {
			t.Errorf("Get took %s", took)
		}
	})
}

// Q01.
func TestEveryBlockedGetterIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](Options{})
		const getters = 10
		var count atomic.Int64
		var getting sync.WaitGroup
		for range getters {
			getting.Go(func() {
				if _, ok := q.Get(t.Context()); ok {
					count.Add(1)
				}
			})
		}
		synctest.Wait()
		for i := range getters {
			q.Add(i)
		}
		getting.Wait()
		if count.Load() != getters {
			t.Errorf("%d of %d getters got an item", count.Load(), getters)
		}
	})
}

func TestGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if _, ok := q.Get(ctx); ok || time.Since(start) != time.Minute {
			t.Errorf("Get returned %v after %s", ok, time.Since(start))
		}
		q.Add("a")
		if item, ok := q.Get(ctx); ok {
			t.Errorf("Get returned %q for a context that has ended", item)
		}
		wantItems(t, got(q), "a")
	})
}

// A getter that goes away must not take with it the wake-up that was meant for another one.
func TestGetterThatEndsPassesTheItemOn(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			q := New[string](Options{})
			leaving, leave := context.WithCancel(t.Context())
			go q.Get(leaving)
			result := make(chan string, 1)
			go func() {
				item, _ := q.Get(t.Context())
				result <- item
			}()
			synctest.Wait()
			go leave()
			go q.Add("a")
			synctest.Wait()
			select {
			case <-result:
			default:
				if q.processings == 0 {
					t.Error("the item is ready, and a getter sleeps")
				}
				q.ShutDown()
			}
		})
	}
}
