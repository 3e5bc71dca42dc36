package workqueue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Q04.
func TestAddAfterShutDownDoesNothing(t *testing.T) {
	q := New[string](Options{})
	q.ShutDown()
	q.Add("a")
	q.AddAfter("b", 0)
	q.AddRateLimited("c")
	if q.Len() != 0 || q.table.count != 0 || q.Retries("c") != 0 {
		t.Errorf("%d items are ready of %d", q.Len(), q.table.count)
	}
}

// Q04.
func TestGettersGetWhatIsReadyAfterShutDown(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "b")
	mustGet(t, q, "a")
	q.Add("a")
	q.ShutDown()
	mustGet(t, q, "b")
	if item, ok := q.Get(t.Context()); ok {
		t.Errorf("got %q", item)
	}
	q.Done("a")
	mustGet(t, q, "a")
	q.Done("a")
	q.Done("b")
	if item, ok := q.Get(t.Context()); ok {
		t.Errorf("got %q from an empty queue", item)
	}
}

// Q04.
func TestShutDownWakesAllGetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		var getting sync.WaitGroup
		for range 5 {
			getting.Go(func() {
				if item, ok := q.Get(t.Context()); ok {
					t.Errorf("got %q", item)
				}
			})
		}
		synctest.Wait()
		q.ShutDown()
		q.ShutDown()
		getting.Wait()
	})
}

// Q04.
func TestShutDownDropsWaitingItemsAndStopsTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.AddAfter("a", time.Minute)
		q.ShutDown()
		if q.timer.Stop() {
			t.Error("the timer was running")
		}
		time.Sleep(time.Hour)
		if q.Len() != 0 {
			t.Error("a waiting item became ready after ShutDown")
		}
	})
}

// Q04.
func TestDrainOfAnIdleQueueReturnsAtOnce(t *testing.T) {
	q := New[string](Options{})
	q.Add("a")
	got(q)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := q.Drain(ended); err != nil {
			t.Error(err)
		}
	}
}

// Q04: an item that was added while it was processing is ready between its Done and the next Get.
func TestDrainWaitsForItemsBetweenDoneAndGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.Add("a", "b")
		mustGet(t, q, "a")
		q.Add("a")
		drained := make(chan error, 1)
		go func() { drained <- q.Drain(t.Context()) }()
		for _, step := range []func(){
			func() {},
			func() { q.Done("a") },
			func() { mustGet(t, q, "b") },
			func() { q.Done("b") },
			func() { mustGet(t, q, "a") },
		} {
			step()
			synctest.Wait()
			select {
			case err := <-drained:
				t.Fatalf("Drain returned %v with %d items ready and %d processing", err, q.Len(), q.processings)
			default:
			}
		}
		q.Done("a")
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// Q04.
func TestDrainGivesUpWithItsContextAndSaysWhatIsLeft(t *testing.T) {
	q := New[string](Options{})
	q.Add("a", "b", "c")
	mustGet(t, q, "a")
	cause := errors.New("second signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	err := q.Drain(ctx)
	want := "drain work queue: 2 items ready, 1 processing: second signal"
	if !errors.Is(err, cause) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Q04.
func TestDrainWithWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](Options{})
		var working sync.WaitGroup
		done := make([]int, 100)
		for range 4 {
			working.Go(func() {
				for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
					time.Sleep(time.Duration(item) * time.Second)
					done[item]++
					q.Done(item)
				}
			})
		}
		for i := range done {
			q.Add(i)
		}
		if err := q.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		working.Wait()
		for i, n := range done {
			if n != 1 {
				t.Errorf("item %d was processed %d times", i, n)
			}
		}
	})
}
