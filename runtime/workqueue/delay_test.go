package workqueue

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

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
