package workqueue

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// These tests check the rules Q01 to Q09 of the conformance list: Q01 deduplication, Q02 one worker per item, Q03 an
// add of a dirty item, Q04 shutdown and drain, Q05 collection, Q06 delays, Q07 backoff, Q08 metrics, Q09 priorities.

// got returns all items that are ready, in order, and marks each of them as done.
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

// Q02: the race detector reports if two workers use one slot of busy at the same time.
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

// If a getter's context ends after the getter was woken, it must wake another getter.
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
				if q.processing.count == 0 {
					t.Error("the item is ready, and a getter sleeps")
				}
				q.ShutDown()
			}
		})
	}
}

// Q06.
func TestDelayedItemIsReadyWhenTheDelayHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		start := time.Now()
		q.AddAfter("a", time.Hour)
		if q.Len() != 0 {
			t.Error("a waiting item is ready")
		}
		mustGet(t, q, "a")
		if waited := time.Since(start); waited != time.Hour {
			t.Errorf("waited %s", waited)
		}
	})
}

// Q06.
func TestDelayThatIsNotPositiveAddsAtOnce(t *testing.T) {
	q := New[string](Options{})
	q.AddAfter("a", 0)
	q.AddAfter("b", -time.Second)
	wantItems(t, got(q), "a", "b")
}

// Q06.
func TestOfTwoDelaysTheEarlierCounts(t *testing.T) {
	for name, delays := range map[string][]time.Duration{
		"later first":   {time.Hour, time.Minute},
		"earlier first": {time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[string](Options{})
				start := time.Now()
				for _, d := range delays {
					q.AddAfter("a", d)
				}
				mustGet(t, q, "a")
				if waited := time.Since(start); waited != time.Minute {
					t.Errorf("waited %s", waited)
				}
				q.Done("a")
				time.Sleep(2 * time.Hour)
				wantItems(t, got(q))
			})
		})
	}
}

// Q06.
func TestWaitingItemsBecomeReadyInTheOrderOfTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.AddAfter("third", 3*time.Minute)
		q.AddAfter("first", time.Minute)
		q.AddAfter("second", 2*time.Minute)
		q.AddAfter("also third", 3*time.Minute)
		time.Sleep(time.Hour)
		wantItems(t, got(q), "first", "second", "third", "also third")
	})
}

// Q06.
func TestAddDoesNotTakeBackADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.AddAfter("a", time.Minute)
		q.Add("a")
		wantItems(t, got(q), "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		wantItems(t, got(q), "a")
	})
}

// Q06.
func TestDelayThatPassesDuringProcessingRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		q.Add("a")
		mustGet(t, q, "a")
		q.AddAfter("a", time.Minute)
		time.Sleep(time.Hour)
		if q.Len() != 0 {
			t.Error("an item that is processing is ready")
		}
		q.Done("a")
		wantItems(t, got(q), "a")
	})
}

var interrupt = AddOptions{Interrupt: InterruptLimited}

// Q07: the first change during a backoff causes an attempt at once. Further changes cause at most one attempt per
// second.
func TestChangesInterruptABackoffOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		fail(t, q, "a")
		time.Sleep(10 * time.Second)
		q.AddWith(interrupt, "a")
		wantGetAfter(t, q, "a", 0)
		q.AddWith(interrupt, "a") // while the item is being processed
		q.AddRateLimited("a")
		q.AddWith(interrupt, "a")
		q.Done("a")
		q.AddWith(interrupt, "a")
		wantItems(t, got(q))
		wantGetAfter(t, q, "a", time.Second)
		q.AddRateLimited("a")
		q.Done("a")
		if retries := q.Retries("a"); retries != 1 {
			t.Errorf("%d retries, want 1", retries)
		}
		wantGetAfter(t, q, "a", 49*time.Second)
		q.AddRateLimited("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 2*time.Minute)
	})
}

// Q07: a failing attempt may have missed a change that occurs between Get and the failure.
func TestChangeDuringTheFailingAttemptMakesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		mustGet(t, q, "a")
		q.AddWith(interrupt, "a")
		q.AddRateLimited("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 0)
		q.Done("a")
		time.Sleep(time.Hour)
		wantItems(t, got(q))
	})
}

// Q07: a change can wait for a delay, and can occur when no backoff is running.
func TestChangeCanBeDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.AddWith(interrupt, "a")
		wantGetAfter(t, q, "a", 0)
		q.AddWith(AddOptions{Interrupt: InterruptLimited, After: time.Second}, "a")
		q.Done("a")
		wantGetAfter(t, q, "a", time.Second)
		q.AddRateLimited("a")
		q.Done("a")
		q.AddWith(AddOptions{Interrupt: InterruptLimited, After: 5 * time.Second}, "a")
		wantGetAfter(t, q, "a", 5*time.Second)
		q.AddWith(AddOptions{Interrupt: InterruptLimited, After: time.Hour}, "a")
		q.AddRateLimited("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 55*time.Second)
	})
}

// Q07: an item always fails, and is interrupted and added at random, also while it is being processed. Get returns it
// exactly when its backoff ends or when a change requires it: no change is lost, none causes two attempts, and the
// delays grow as if there were no changes.
func TestBackoffWithRandomChangesFollowsTheRule(t *testing.T) {
	seeds.Each(t, 20, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { runChanges(t, rand.New(rand.NewPCG(seed, 7))) })
	})
}

func runChanges(t *testing.T, random *rand.Rand) {
	const base, limit = 100 * time.Millisecond, 20 * time.Second
	q := New[string](Options{BaseDelay: base, MaxDelay: limit})
	start := time.Now()
	now := func() time.Duration { return time.Since(start) }
	pause := func(random *rand.Rand, most time.Duration) {
		time.Sleep(time.Duration(1 + random.Int64N(int64(most))))
	}
	others := rand.New(rand.NewPCG(random.Uint64(), 1))
	var mu sync.Mutex
	var asked time.Duration // time of the first change since the last Get; 0 means none
	go func() {
		most := time.Duration(1+others.IntN(30)) * 100 * time.Millisecond
		for t.Context().Err() == nil && now() < time.Hour {
			pause(others, most)
			mu.Lock()
			if others.IntN(2) == 0 {
				q.AddWith(interrupt, "a")
				asked = cmp.Or(asked, now())
			} else {
				q.Add("a")
			}
			mu.Unlock()
		}
	}()
	var floor, extra, done time.Duration
	q.AddRateLimited("a")
	floor = base
	for failures := 1; failures < 20 || now() < 10*time.Minute; {
		mustGet(t, q, "a")
		mu.Lock()
		want := floor
		if asked != 0 {
			want = max(asked, done)
			if extra != 0 {
				want = max(want, extra+time.Second)
			}
			want = min(want, max(floor, done))
		}
		asked = 0
		mu.Unlock()
		if now() != max(want, done) {
			t.Fatalf("got it at %v, want %v: floor %v, extra %v, done %v", now(), want, floor, extra, done)
		}
		if now() < floor {
			extra = now()
		}
		pause(random, 300*time.Millisecond)
		q.AddRateLimited("a")
		if now() >= floor {
			floor = now() + newBackoff(base, limit).delay(failures)
			failures++
		}
		if retries := q.Retries("a"); retries != failures {
			t.Fatalf("%d retries, want %d", retries, failures)
		}
		q.Done("a")
		done = now()
	}
	q.ShutDown()
	time.Sleep(time.Hour)
}

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

// Q04: an item that was added while it was processed is ready between Done and the next Get, so Drain must wait for it.
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
				t.Fatalf("Drain returned %v with %d items ready and %d processing", err, q.Len(), q.processing.count)
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
func TestDrainEndsWithItsContextAndReportsTheRest(t *testing.T) {
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
