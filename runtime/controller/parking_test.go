package controller

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeWrites are writes that become visible when the test calls seen.
type fakeWrites struct {
	timeout time.Duration
	seen    func()
	already bool
}

func (w *fakeWrites) Timeout() time.Duration { return w.timeout }

func (w *fakeWrites) WhenSeen(seen func()) bool {
	w.seen = seen
	return !w.already
}

// opened returns a parking lot, and a function that checks which requests it has released.
func opened() (*parking[string], func(t *testing.T, want ...string)) {
	var mu sync.Mutex
	var lines []string
	g := newParking(func(request string, priority int) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprint(request, " ", priority))
	})
	return g, func(t *testing.T, want ...string) {
		t.Helper()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(lines, want) {
			t.Errorf("opened for %q, want %q", lines, want)
		}
		lines = nil
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.waiters) > 0 && len(want) > 0 {
			t.Errorf("%d are waiting", len(g.waiters))
		}
	}
}

// askedWith returns a function that gives every request the same priority.
func askedWith(priority int) func(string) int { return func(string) int { return priority } }

func TestParkedRequestGoesWhenItsWritesAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, opened := opened()
		w := &fakeWrites{timeout: time.Second}
		g.deferUntil("a", w)
		for _, priority := range []int{-5, -7, -3} {
			if !g.park("a", askedWith(priority)) {
				t.Error("not parked")
			}
		}
		if g.park("b", askedWith(0)) {
			t.Error("another request is parked")
		}
		opened(t)
		w.seen()
		opened(t, "a -3")
		if g.park("a", askedWith(0)) {
			t.Error("parked for ever")
		}
		time.Sleep(time.Hour)
		opened(t)
	})
}

func TestGateCreatesNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, opened := opened()
		w := &fakeWrites{timeout: time.Second}
		g.deferUntil("a", w)
		w.seen()
		opened(t)
		g.deferUntil("a", &fakeWrites{timeout: time.Second})
		time.Sleep(2 * time.Second)
		opened(t)
		if len(g.waiters) > 0 {
			t.Errorf("%d are waiting", len(g.waiters))
		}
	})
}

func TestRequestIsNotHeldWithoutUnseenWrites(t *testing.T) {
	g, _ := opened()
	g.deferUntil("a", &fakeWrites{})
	g.deferUntil("b", &fakeWrites{timeout: time.Second, already: true})
	if g.park("a", askedWith(0)) || g.park("b", askedWith(0)) || len(g.waiters) > 0 {
		t.Error("waiting")
	}
}

func TestParkedRequestGoesAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, opened := opened()
		w := &fakeWrites{timeout: time.Second}
		g.deferUntil("a", w)
		g.park("a", askedWith(1))
		time.Sleep(time.Second - time.Nanosecond)
		opened(t)
		time.Sleep(time.Nanosecond)
		opened(t, "a 1")
		w.seen()
		opened(t)
	})
}

func TestLaterWritesTakeThePlaceOfEarlierOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, opened := opened()
		first, second := &fakeWrites{timeout: time.Second}, &fakeWrites{timeout: time.Minute}
		g.deferUntil("a", first)
		g.deferUntil("a", second)
		g.park("a", askedWith(0))
		first.seen()
		time.Sleep(2 * time.Second)
		opened(t)
		second.seen()
		opened(t, "a 0")
	})
}

func TestClosedGateStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, opened := opened()
		w := &fakeWrites{timeout: time.Second}
		g.deferUntil("a", w)
		g.park("a", askedWith(0))
		g.close()
		w.seen()
		time.Sleep(time.Hour)
		opened(t)
	})
}
