package workqueue

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// Q07.
func TestBackoffDoublesUpToTheMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Second, MaxDelay: 10 * time.Second})
		for retries, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
			if got := q.Retries("a"); got != retries {
				t.Errorf("%d retries, want %d", got, retries)
			}
			start := time.Now()
			q.AddRateLimited("a")
			mustGet(t, q, "a")
			q.Done("a")
			if waited := time.Since(start); waited != want*time.Second {
				t.Errorf("retry %d waited %s, want %ds", retries, waited, want)
			}
		}
	})
}

// Q07.
func TestItemsBackOffOnTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Second})
		for range 5 {
			q.AddRateLimited("a")
			mustGet(t, q, "a")
			q.Done("a")
		}
		start := time.Now()
		q.AddRateLimited("b")
		mustGet(t, q, "b")
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("b waited %s", waited)
		}
	})
}

// Q07.
func TestForgetEndsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		for range 5 {
			q.AddRateLimited("a")
		}
		mustGet(t, q, "a")
		q.Done("a")
		q.Forget("a")
		q.Forget("never seen")
		if got := q.Retries("a"); got != 0 {
			t.Errorf("%d retries after Forget", got)
		}
		start := time.Now()
		q.AddRateLimited("a")
		mustGet(t, q, "a")
		if waited := time.Since(start); waited != 5*time.Millisecond {
			t.Errorf("waited %s, want the default base delay", waited)
		}
	})
}

// Q07.
func TestBackoffDoesNotOverflow(t *testing.T) {
	for _, b := range []backoff{newBackoff(0, 0), newBackoff(1, math.MaxInt64), newBackoff(time.Hour, time.Minute)} {
		last := time.Duration(0)
		for failures := range 200 {
			d := b.delay(failures)
			if d < last || d <= 0 || d > b.max {
				t.Errorf("%+v: %d failures give %s after %s", b, failures, d, last)
			}
			last = d
		}
		if last != b.max || b.delay(math.MaxInt) != b.max {
			t.Errorf("%+v ends at %s", b, last)
		}
	}
}

// fail gets the item and reports a failure.
func fail(t *testing.T, q *Queue[string], item string) {
	t.Helper()
	mustGet(t, q, item)
	q.AddRateLimited(item)
	q.Done(item)
}

// wantGetAfter gets the item and checks how long Get blocked.
func wantGetAfter(t *testing.T, q *Queue[string], item string, want time.Duration) {
	t.Helper()
	start := time.Now()
	mustGet(t, q, item)
	if waited := time.Since(start); waited != want {
		t.Errorf("waited %s for %s, want %s", waited, item, want)
	}
}

// Q07: a plain Add during the backoff, such as for the event of the item's own write, does not shorten the backoff.
func TestAddDuringBackoffWaitsForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		fail(t, q, "a")
		time.Sleep(time.Second)
		q.Add("a")
		q.Add("a", "b")
		q.AddAfter("a", time.Second)
		wantItems(t, got(q), "b")
		wantGetAfter(t, q, "a", 59*time.Second)
		q.Done("a")
		time.Sleep(time.Hour)
		wantItems(t, got(q))
	})
}

// Q07: a plain Add between Get and the failure waits for the end of the backoff, like one before Get.
func TestAddBeforeTheFailureWaitsForTheEndOfTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		mustGet(t, q, "a")
		q.Add("a")
		q.AddRateLimited("a")
		q.Add("a")
		q.Done("a")
		wantItems(t, got(q))
		wantGetAfter(t, q, "a", time.Minute)
		q.Done("a")
		time.Sleep(time.Hour)
		wantItems(t, got(q))
	})
}

// Q07.
func TestAddsDuringBackoffDoNotMakeItLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Second})
		q.Add("a")
		mustGet(t, q, "a")
		for range 20 {
			q.AddRateLimited("a")
			q.Add("a")
		}
		q.Done("a")
		if retries := q.Retries("a"); retries != 1 {
			t.Errorf("%d retries, want 1", retries)
		}
		for _, want := range []time.Duration{1, 2, 4} {
			start := time.Now()
			fail(t, q, "a")
			if waited := time.Since(start); waited != want*time.Second {
				t.Errorf("waited %s, want %d s", waited, want)
			}
			q.Add("a")
		}
	})
}

// Q07.
func TestDelayDoesNotEndABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.AddAfter("a", time.Second)
		q.AddRateLimited("a")
		wantGetAfter(t, q, "a", time.Minute)
		q.Done("a")
		q.AddWith(AddOptions{RateLimited: true, After: time.Hour}, "a")
		wantGetAfter(t, q, "a", time.Hour)
	})
}

// Q07.
func TestAddWithoutFailureIsImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		wantGetAfter(t, q, "a", 0)
		q.AddRateLimited("a")
		q.Forget("a")
		q.Add("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 0)
	})
}

// Q07.
func TestInterruptAlwaysIsImmediateAndKeepsTheFailures(t *testing.T) {
	always := AddOptions{Interrupt: InterruptAlways}
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		fail(t, q, "a")
		q.AddWith(always, "a")
		wantGetAfter(t, q, "a", 0)
		if retries := q.Retries("a"); retries != 1 {
			t.Errorf("%d retries, want 1", retries)
		}
		time.Sleep(time.Second)
		q.AddRateLimited("a") // an early failure does not change the backoff
		q.Done("a")
		wantGetAfter(t, q, "a", 59*time.Second)
		q.AddWith(always, "a")
		q.AddRateLimited("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 0)
		q.Done("a")
		time.Sleep(24 * time.Hour)
		wantItems(t, got(q)) // the forced attempt was also the retry
	})
}

// Q07.
func TestDelayCanInterruptTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Hour})
		q.AddRateLimited("a")
		q.AddWith(AddOptions{Interrupt: InterruptAlways, After: time.Minute}, "a")
		wantGetAfter(t, q, "a", time.Minute)
	})
}

// Q05, Q07: the failures of an item for which Forget is never called expire.
func TestFailuresOfAnItemThatIsNotQueuedExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Second, MaxDelay: time.Minute})
		q.AddRateLimited("a")
		mustGet(t, q, "a")
		q.Done("a")
		time.Sleep(30 * time.Second)
		if retries := q.Retries("a"); retries != 1 {
			t.Errorf("%d retries, want 1", retries)
		}
		q.Add("a") // the item is in use again, so its failures expire later
		mustGet(t, q, "a")
		time.Sleep(time.Hour)
		q.Done("a")
		time.Sleep(time.Minute - 1)
		if retries := q.Retries("a"); retries != 1 {
			t.Errorf("%d retries, want 1", retries)
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		if q.table.count != 0 || q.Retries("a") != 0 {
			t.Errorf("%d entries are left", q.table.count)
		}
	})
}

func TestGivenBackoffReplacesTheQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Second})
		start := time.Now()
		got := func(want time.Duration) {
			t.Helper()
			mustGet(t, q, "a")
			q.Done("a")
			if waited := time.Since(start); waited != want {
				t.Errorf("waited %s, want %s", waited, want)
			}
			start = time.Now()
		}
		q.AddWith(AddOptions{RateLimited: true, Backoff: time.Minute}, "a")
		q.Add("a")
		got(time.Minute)
		q.AddWith(AddOptions{RateLimited: true, Backoff: time.Millisecond}, "a")
		q.AddWith(AddOptions{RateLimited: true, Backoff: time.Hour}, "a") // the earlier backoff has not ended yet
		got(time.Millisecond)
		if q.Retries("a") != 2 {
			t.Errorf("%d failures", q.Retries("a"))
		}
		q.AddRateLimited("a")
		got(4 * time.Second)
		q.AddWith(AddOptions{RateLimited: true, Backoff: time.Second, After: time.Minute}, "a")
		got(time.Minute)
		q.Forget("a")
		q.AddWith(AddOptions{Backoff: time.Minute}, "a") // without a failure no backoff applies
		got(0)
	})
}
