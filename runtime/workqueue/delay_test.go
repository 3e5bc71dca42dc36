package workqueue

import (
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
