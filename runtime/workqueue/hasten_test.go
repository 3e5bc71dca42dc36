package workqueue

import (
	"cmp"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var hasten = AddOptions{Hasten: true}

// Q07: of several changes during a backoff the first makes an attempt at once, and the next one each second.
func TestChangesInterruptABackoffOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		fail(t, q, "a")
		time.Sleep(10 * time.Second)
		q.AddWith(hasten, "a")
		wantGetAfter(t, q, "a", 0)
		q.AddWith(hasten, "a") // while it is processing
		q.AddRateLimited("a")
		q.AddWith(hasten, "a")
		q.Done("a")
		q.AddWith(hasten, "a")
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

// Q07: a change that comes after Get and before the failure is not known to the attempt that fails.
func TestChangeDuringTheFailingAttemptMakesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.Add("a")
		mustGet(t, q, "a")
		q.AddWith(hasten, "a")
		q.AddRateLimited("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 0)
		q.Done("a")
		time.Sleep(time.Hour)
		wantItems(t, got(q))
	})
}

// Q07: a change that is collected for a while, and one that meets no backoff.
func TestChangeCanBeDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{BaseDelay: time.Minute})
		q.AddWith(hasten, "a")
		wantGetAfter(t, q, "a", 0)
		q.AddWith(AddOptions{Hasten: true, After: time.Second}, "a")
		q.Done("a")
		wantGetAfter(t, q, "a", time.Second)
		q.AddRateLimited("a")
		q.Done("a")
		q.AddWith(AddOptions{Hasten: true, After: 5 * time.Second}, "a")
		wantGetAfter(t, q, "a", 5*time.Second)
		q.AddWith(AddOptions{Hasten: true, After: time.Hour}, "a")
		q.AddRateLimited("a")
		q.Done("a")
		wantGetAfter(t, q, "a", 55*time.Second)
	})
}

// Q07: an item that always fails, and is hastened and added at random, while it is processing too, is got exactly when
// its backoff ends or a change asks for it: no change is lost, none is answered twice, and the delays grow as if there
// were none.
func TestBackoffWithRandomChangesFollowsTheRule(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { runChanges(t, rand.New(rand.NewPCG(seed, 7))) })
	}
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
	var asked time.Duration // when the first change came since the last Get, zero for none
	go func() {
		most := time.Duration(1+others.IntN(30)) * 100 * time.Millisecond
		for t.Context().Err() == nil && now() < time.Hour {
			pause(others, most)
			mu.Lock()
			if others.IntN(2) == 0 {
				q.AddWith(hasten, "a")
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
