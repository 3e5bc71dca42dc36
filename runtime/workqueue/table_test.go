package workqueue

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// Q05.
func TestItemsThatAreDoneAreCollected(t *testing.T) {
	type item [64]byte
	q := New[*item](Options{})
	var pointers []weak.Pointer[item]
	for i := range 10 {
		it := &item{}
		pointers = append(pointers, weak.Make(it))
		q.AddWith(AddOptions{Priority: i}, it)
		q.AddAfter(it, 1)
		q.AddRateLimited(it)
		q.Forget(it)
	}
	q.ShutDown()
	for it, ok := q.Get(context.Background()); ok; it, ok = q.Get(context.Background()) {
		q.Done(it)
	}
	runtime.GC()
	for i, p := range pointers {
		if p.Value() != nil {
			t.Errorf("item %d is still there", i)
		}
	}
	runtime.KeepAlive(q)
}

// heapInUse returns the number of bytes in live objects.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Q05.
func TestMemoryIsGivenBackAfterABurst(t *testing.T) {
	const items = 100_000
	for name, add := range map[string]func(q *Queue[int], item int){
		"ready":   func(q *Queue[int], item int) { q.Add(item) },
		"waiting": func(q *Queue[int], item int) { q.AddAfter(item, time.Duration(item%1000+1)*time.Second) },
		"failed":  func(q *Queue[int], item int) { q.AddRateLimited(item) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[int](Options{MaxDelay: time.Hour})
				before := heapInUse()
				for item := range items {
					add(q, item)
				}
				burst := heapInUse() - before
				for range items {
					item, _ := q.Get(t.Context())
					q.Done(item)
				}
				time.Sleep(2 * time.Hour) // until the failures expire
				synctest.Wait()
				if left := heapInUse() - before; left > burst/20 || q.table.count != 0 {
					t.Errorf("of %d bytes %d are left, and %d entries", burst, left, q.table.count)
				}
				runtime.KeepAlive(q)
			})
		})
	}
}

func TestQueueHasNoGoroutineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		q := New[int](Options{Name: "crons"})
		for item := range 10_000 {
			q.AddWith(AddOptions{After: time.Duration(item) * time.Second, RateLimited: item%2 == 0}, item)
		}
		if now := runtime.NumGoroutine(); now > before {
			t.Errorf("%d goroutines, and %d before", now, before)
		}
		for range 100 { // the bubble ends only after all of them have returned
			go q.Get(t.Context())
		}
		time.Sleep(10 * time.Second)
		q.ShutDown()
	})
}

func TestItemsWithTheSameHashAreDistinct(t *testing.T) {
	const items = 2000
	q := New[int](Options{})
	q.table.hash = func(item int) uint64 { return uint64(item % 3) }
	for round := range 3 {
		for item := range items {
			q.Add(item)
			q.Add(item)
		}
		if q.Len() != items || q.table.count != items {
			t.Fatalf("round %d: %d of %d items are ready of %d", round, q.Len(), items, q.table.count)
		}
		for item := range items {
			if got, ok := q.Get(t.Context()); !ok || got != item {
				t.Fatalf("round %d: got %d, want %d", round, got, item)
			}
			q.Done(item)
			if q.table.find(item) != nil {
				t.Fatalf("round %d: %d is still there", round, item)
			}
		}
	}
	if q.table.count != 0 {
		t.Errorf("%d entries are left", q.table.count)
	}
	for item := range 10 {
		q.AddRateLimited(item)
	}
	for item := range 20 {
		if failed := q.Retries(item) == 1; failed != (item < 10) {
			t.Errorf("%d has failed: %t", item, failed)
		}
	}
}

func TestItemThatWaitsNowAndThenTakesNoNewMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](Options{})
		once := func() {
			q.AddAfter(1, time.Second)
			item, _ := q.Get(t.Context())
			q.Done(item)
		}
		once()
		if allocations := testing.AllocsPerRun(100, once); allocations > 0 {
			t.Errorf("%v allocations", allocations)
		}
	})
}

func TestItemThatIsNotItselfDoesNoHarm(t *testing.T) {
	q := New[float64](Options{})
	for range 100 {
		q.Add(math.NaN())
		q.AddAfter(math.NaN(), time.Hour)
		q.AddRateLimited(math.NaN())
	}
	item, ok := q.Get(t.Context())
	if !ok || item == item {
		t.Errorf("got %v, %t", item, ok)
	}
	q.Done(item)
	q.Forget(item)
	q.ShutDown()
}

// entries is the table or an alternative implementation of it.
type entries[T comparable] interface {
	at(item T) *entry[T]
	find(item T) *entry[T]
	remove(e *entry[T])
}

// mapTable is a table that uses a Go map, which stores each item a second time as a key.
type mapTable[T comparable] struct {
	entries map[T]*entry[T]
	free    []*entry[T]
	none    *delay
}

func (m *mapTable[T]) at(item T) *entry[T] {
	if e := m.entries[item]; e != nil {
		return e
	}
	var e *entry[T]
	if last := len(m.free) - 1; last >= 0 {
		e, m.free = m.free[last], m.free[:last]
	} else {
		e = &entry[T]{}
	}
	e.item, e.delay = item, m.none
	m.entries[item] = e
	return e
}

func (m *mapTable[T]) find(item T) *entry[T] { return m.entries[item] }

func (m *mapTable[T]) remove(e *entry[T]) {
	delete(m.entries, e.item)
	*e = entry[T]{}
	if len(m.free) < maxFree {
		m.free = append(m.free, e)
	}
}

type benchItem struct{ namespace, name string }

func benchItems() (items []benchItem) {
	for n := range 100_000 {
		items = append(items, benchItem{fmt.Sprint("namespace-", n%50), fmt.Sprint("guestbook-", n)})
	}
	return items
}

// tables contains the implementations to compare.
var tables = map[string]func() entries[benchItem]{
	"table": func() entries[benchItem] {
		t := newTable[benchItem]()
		return &t
	},
	"map": func() entries[benchItem] {
		return &mapTable[benchItem]{entries: map[benchItem]*entry[benchItem]{}, none: &delay{}}
	},
}

// BenchmarkTable measures adding a request to a table of a hundred, finding it after it was processed, and removing it.
func BenchmarkTable(b *testing.B) {
	items := benchItems()
	for name, build := range tables {
		b.Run(name, func(b *testing.B) {
			t := build()
			for _, item := range items[:100] {
				t.at(item)
			}
			for n := 0; b.Loop(); n++ {
				t.remove(t.find(items[n%len(items)]))
				t.at(items[(n+100)%len(items)])
			}
		})
	}
}

// TestTableHoldsItemsInLessThanAMap fails if a Go map needs little more memory than the table. The table would then no
// longer be needed.
func TestTableHoldsItemsInLessThanAMap(t *testing.T) {
	items, took := benchItems(), map[string]int64{}
	for name, build := range tables {
		before, table := heapInUse(), build()
		for _, item := range items {
			table.at(item)
		}
		took[name] = (heapInUse() - before) / int64(len(items))
		runtime.KeepAlive(table)
	}
	runtime.KeepAlive(items)
	if took["table"] > took["map"]*4/5 {
		t.Errorf("an item takes %d bytes in the table, and %d in a map", took["table"], took["map"])
	}
}
