package workqueue

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// checkInvariants fails the test when the state of q is not what the comments on its fields promise.
func checkInvariants[T comparable](t *testing.T, q *Queue[T]) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := map[T]bool{}
	for i := range q.ready.count {
		item := q.ready.slots[(q.ready.first+i)%len(q.ready.slots)]
		_, dirty := q.dirty[item]
		_, processing := q.processing[item]
		if seen[item] || !dirty || processing {
			t.Errorf("ready item %v: twice %v, dirty %v, processing %v", item, seen[item], dirty, processing)
		}
		seen[item] = true
	}
	for item := range q.dirty {
		if _, processing := q.processing[item]; !seen[item] && !processing {
			t.Errorf("dirty item %v is neither ready nor processing", item)
		}
	}
	var zero T
	for i := q.ready.count; i < len(q.ready.slots); i++ {
		if slot := q.ready.slots[(q.ready.first+i)%len(q.ready.slots)]; slot != zero {
			t.Errorf("free slot holds %v", slot)
		}
	}
	for i, e := range q.waiting.byTime {
		if e.index != i || q.waiting.byItem[e.item] != e {
			t.Errorf("waiting item %v at %d has the index %d", e.item, i, e.index)
		}
	}
	if len(q.waiting.byTime) != len(q.waiting.byItem) || q.closed && len(q.waiting.byTime) > 0 {
		t.Errorf("%d and %d waiting, closed %v", len(q.waiting.byTime), len(q.waiting.byItem), q.closed)
	}
	idle := q.closed && q.ready.count == 0 && len(q.processing) == 0
	select {
	case <-q.idle:
		if !idle {
			t.Error("idle is closed too early")
		}
	default:
		if idle {
			t.Error("idle is not closed")
		}
	}
	for item, n := range q.failures {
		if n <= 0 {
			t.Errorf("%d failures of %v", n, item)
		}
	}
}

// model says in the simplest way what a queue should do.
type model struct {
	ready      []byte
	again      map[byte]bool
	processing map[byte]bool
	waiting    map[byte]time.Time
	failures   map[byte]int
	closed     bool
}

func (m *model) add(item byte) {
	switch {
	case m.closed || slices.Contains(m.ready, item):
	case m.processing[item]:
		m.again[item] = true
	default:
		m.ready = append(m.ready, item)
	}
}

func (m *model) addAfter(item byte, d time.Duration) {
	if m.closed {
		return
	}
	if at, ok := m.waiting[item]; !ok || at.After(time.Now().Add(d)) {
		m.waiting[item] = time.Now().Add(d)
	}
}

// pass adds what is due. Items of one time become ready in an order that the model does not know.
func (m *model) pass() {
	for _, item := range slices.SortedFunc(maps.Keys(m.waiting), func(a, b byte) int { return m.waiting[a].Compare(m.waiting[b]) }) {
		if !m.waiting[item].After(time.Now()) {
			delete(m.waiting, item)
			m.add(item)
		}
	}
}

func (m *model) done(item byte) {
	delete(m.processing, item)
	if m.again[item] {
		delete(m.again, item)
		m.ready = append(m.ready, item)
	}
}

// play does to a queue and to a model what the bytes of script say, and compares them after every step.
func play(t *testing.T, script []byte) {
	q := New[byte](Options{BaseDelay: time.Second, MaxDelay: time.Minute})
	m := &model{again: map[byte]bool{}, processing: map[byte]bool{}, waiting: map[byte]time.Time{}, failures: map[byte]int{}}
	// tick keeps the times of any two delays apart, so that their order is known.
	tick := time.Nanosecond
	for len(script) >= 2 {
		op, item := script[0]%8, script[1]%6
		script = script[2:]
		time.Sleep(tick)
		switch op {
		case 0, 1:
			q.Add(item)
			m.add(item)
		case 2:
			d := time.Duration(item) * 700 * time.Millisecond
			q.AddAfter(item, d)
			if d <= 0 {
				m.add(item)
			} else {
				m.addAfter(item, d)
			}
		case 3:
			q.AddRateLimited(item)
			m.addAfter(item, min(time.Minute, time.Second<<min(m.failures[item], 30)))
			if !m.closed {
				m.failures[item]++
			}
		case 4:
			q.Forget(item)
			delete(m.failures, item)
		case 5:
			if len(m.ready) == 0 {
				continue
			}
			got, ok := q.Get(context.Background())
			if !ok || got != m.ready[0] {
				t.Fatalf("got %d, %v; want %d of %v", got, ok, m.ready[0], m.ready)
			}
			m.ready = m.ready[1:]
			m.processing[got] = true
		case 6:
			q.Done(item)
			m.done(item)
		case 7:
			if item == 5 && len(script) < 8 {
				q.ShutDown()
				m.closed = true
				clear(m.waiting)
			}
			time.Sleep(time.Duration(item) * time.Second)
		}
		synctest.Wait()
		m.pass()
		checkInvariants(t, q)
		if q.Len() != len(m.ready) || q.Retries(item) != m.failures[item] {
			t.Fatalf("%d ready, %d retries of %d; want %v and %d", q.Len(), q.Retries(item), item, m.ready, m.failures[item])
		}
	}
	q.ShutDown()
}

// Q01, Q02, Q04, Q06, Q07.
func FuzzQueueDoesWhatTheModelDoes(f *testing.F) {
	f.Add([]byte{0, 1, 5, 0, 0, 1, 6, 1, 5, 0})
	f.Add([]byte{2, 3, 2, 1, 7, 2, 5, 0, 3, 1, 3, 1, 7, 4, 7, 5})
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		script := make([]byte, 300)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		synctest.Test(t, func(t *testing.T) { play(t, script) })
	})
}

// Q01, Q02, Q04: everything at once, on real threads.
func TestInvariantsHoldUnderConcurrency(t *testing.T) {
	q := New[int](Options{BaseDelay: time.Microsecond, MaxDelay: 100 * time.Microsecond})
	var busy [16]int
	var adding, working sync.WaitGroup
	for worker := range 4 {
		working.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(worker)))
			for item, ok := q.Get(t.Context()); ok; item, ok = q.Get(t.Context()) {
				busy[item]++
				switch random.IntN(4) {
				case 0:
					q.AddRateLimited(item)
				case 1:
					q.Forget(item)
				}
				q.Done(item)
			}
		})
		adding.Go(func() {
			random := rand.New(rand.NewPCG(4, uint64(worker)))
			for i := range 2000 {
				item := random.IntN(len(busy))
				if i%3 == 0 {
					q.AddAfter(item, time.Duration(random.IntN(50))*time.Microsecond)
				} else {
					q.Add(item)
				}
				if i%100 == 0 {
					checkInvariants(t, q)
				}
			}
		})
	}
	adding.Wait()
	if err := q.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	working.Wait()
	checkInvariants(t, q)
}
