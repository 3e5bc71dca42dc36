package workqueue

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func withPriority(p int) AddOptions { return AddOptions{Priority: p} }

// Q09.
func TestHigherPriorityIsGotFirst(t *testing.T) {
	q := New[string](Options{})
	q.AddWith(withPriority(-100), "low", "also low")
	q.Add("normal")
	q.AddWith(withPriority(3), "high")
	q.Add("also normal")
	q.AddWith(withPriority(3), "also high")
	wantItems(t, got(q), "high", "also high", "normal", "also normal", "low", "also low")
}

// Q03, Q09.
func TestLaterHigherPriorityRaisesAReadyItem(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "b", "c", "d")
	q.AddWith(withPriority(1), "c")
	q.AddWith(withPriority(2), "d", "b")
	q.AddWith(withPriority(2), "d")
	if q.Len() != 4 {
		t.Errorf("%d items are ready", q.Len())
	}
	wantItems(t, got(q), "d", "b", "c", "a")
}

// Q03, Q09.
func TestLaterLowerPriorityChangesNothing(t *testing.T) {
	q := New[string](Options{})
	q.AddWith(withPriority(2), "a")
	q.AddWith(withPriority(1), "b")
	q.AddWith(withPriority(-5), "a")
	q.Add("a")
	wantItems(t, got(q), "a", "b")
}

// Q09.
func TestWaitingItemKeepsTheHighestOfItsPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.AddWith(AddOptions{After: time.Minute, Priority: 1}, "a", "b")
		q.AddWith(AddOptions{After: time.Hour, Priority: 9}, "b")
		q.AddWith(AddOptions{After: time.Hour, Priority: -9}, "b")
		q.AddRateLimited("c")
		q.AddWith(withPriority(5), "c")
		time.Sleep(2 * time.Minute)
		wantItems(t, got(q), "c", "b", "a")
	})
}

// Q06, Q09: if an item is added while it also waits for a delay, Get returns it twice, each time with its own priority.
func TestDelayAndAddHaveTheirOwnPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.AddWith(AddOptions{After: time.Minute, Priority: 7}, "a")
		for _, want := range []int{-3, 7, 0} {
			if want == 0 {
				q.Add("a")
			} else if want < 0 {
				q.AddWith(withPriority(want), "a")
			}
			mustGet(t, q, "a")
			if p := q.Priority("a"); p != want {
				t.Errorf("got with priority %d, want %d", p, want)
			}
			q.Done("a")
			if p := q.Priority("a"); p != 0 {
				t.Errorf("priority %d after Done", p)
			}
		}
	})
}

// Q02, Q09.
func TestPriorityOfAnAddDuringProcessingIsThatOfTheNextGet(t *testing.T) {
	q := New[string](Options{})
	q.AddWith(withPriority(8), "a")
	mustGet(t, q, "a")
	q.AddWith(withPriority(-4), "a")
	q.AddWith(withPriority(-2), "a")
	q.AddWith(withPriority(-3), "a")
	if p := q.Priority("a"); p != 8 {
		t.Errorf("got with priority %d, want 8", p)
	}
	q.Add("b")
	q.Done("a")
	mustGet(t, q, "b")
	mustGet(t, q, "a")
	if p := q.Priority("a"); p != -2 {
		t.Errorf("got with priority %d, want -2", p)
	}
}

// Q09: even an endless stream of items with a high priority delays an item with a low priority by at most the bound.
func TestItemOfLowPriorityIsGotWithinTheBound(t *testing.T) {
	for _, test := range []struct {
		aging     time.Duration
		low, high int
		want      time.Duration
	}{
		{aging: 0, low: -100, high: 0, want: 100 * time.Second},
		{aging: 100 * time.Millisecond, low: 0, high: 50, want: 5 * time.Second},
		{aging: time.Minute, low: -1, high: 1, want: 2 * time.Minute},
		{aging: time.Millisecond, low: math.MinInt, high: math.MaxInt, want: 2 * time.Second},
		{aging: -1, low: 3, high: 4, want: time.Second},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[int](Options{Aging: test.aging})
				q.AddWith(withPriority(test.low), -1)
				start := time.Now()
				for next := range 1_000_000 {
					q.AddWith(withPriority(test.high), next)
					item, _ := q.Get(t.Context())
					q.Done(item)
					if item == -1 {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				if waited := time.Since(start); waited != test.want {
					t.Errorf("waited %s, want %s", waited, test.want)
				}
			})
		})
	}
}

// Q09.
func TestRaiseNeverMovesAnItemBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{Aging: time.Second})
		q.Add("old")
		time.Sleep(time.Minute)
		q.AddWith(withPriority(30), "young")
		q.AddWith(withPriority(30), "old") // its age of a minute counts for more
		mustGet(t, q, "old")
		if p := q.Priority("old"); p != 30 {
			t.Errorf("got with priority %d, want 30", p)
		}
		mustGet(t, q, "young")
	})
}

// Q09: the longest possible aging does not overflow.
func TestPriorityCountsWithTheLongestAging(t *testing.T) {
	q := New[string](Options{Aging: math.MaxInt64})
	q.AddWith(withPriority(math.MinInt), "lowest")
	q.AddWith(withPriority(-MaxPriority+1), "lower")
	q.AddWith(withPriority(math.MaxInt), "highest")
	q.AddWith(withPriority(MaxPriority), "as high")
	q.Add("normal")
	wantItems(t, got(q), "highest", "as high", "normal", "lower", "lowest")
}

// Q01: a batch is added in one step.
func TestWholeBatchIsAddedBeforeAnyOfItIsGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		first := make(chan string)
		go func() {
			item, _ := q.Get(t.Context())
			first <- item
		}()
		synctest.Wait()
		q.AddWith(withPriority(1), "a", "b", "a")
		if item := <-first; item != "a" {
			t.Errorf("got %q", item)
		}
		wantItems(t, got(q), "b")
		q.Add()
		wantItems(t, got(q))
	})
}
