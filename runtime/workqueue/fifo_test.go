package workqueue

import (
	"context"
	"runtime"
	"testing"
	"weak"
)

func TestFifoKeepsOrderWhileItGrowsAndShrinks(t *testing.T) {
	var f fifo[int]
	pushed, popped := 0, 0
	for round := range 200 {
		for range round % 97 {
			pushed++
			f.push(pushed)
		}
		for range min(f.len(), (round*7)%89) {
			popped++
			if got := f.pop(); got != popped {
				t.Fatalf("popped %d, want %d", got, popped)
			}
		}
		if f.len() != pushed-popped {
			t.Fatalf("len is %d, want %d", f.len(), pushed-popped)
		}
	}
}

func TestFifoGivesMemoryBack(t *testing.T) {
	var f fifo[int]
	for i := range 1 << 16 {
		f.push(i)
	}
	for f.len() > 0 {
		f.pop()
	}
	if len(f.slots) > minCapacity {
		t.Errorf("%d slots in an empty fifo", len(f.slots))
	}
}

// Q05.
func TestItemsThatAreDoneAreCollected(t *testing.T) {
	type item [64]byte
	q := New[*item](Options{})
	var pointers []weak.Pointer[item]
	for range 10 {
		it := &item{}
		pointers = append(pointers, weak.Make(it))
		q.Add(it)
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
