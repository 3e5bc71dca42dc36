package workqueue

import (
	"cmp"
	"container/heap"
	"iter"
	"time"
)

// schedule holds items, each once, by the time at which they are due.
type schedule[T comparable] struct {
	// byTime is a heap with the earliest entry first.
	byTime entries[T]
	// byItem has the entries of byTime by their item.
	byItem map[T]*entry[T]
	// added counts the calls of add, and orders entries of one time.
	added uint64
}

type entry[T comparable] struct {
	item  T
	at    time.Time
	order uint64
	// index is that of the entry in the heap.
	index int
}

func newSchedule[T comparable]() schedule[T] {
	return schedule[T]{byItem: map[T]*entry[T]{}}
}

// add schedules the item, or moves it forward if it was scheduled for later. It reports whether the item is now the
// earliest and was moved there.
func (s *schedule[T]) add(item T, at time.Time) bool {
	e, ok := s.byItem[item]
	switch {
	case !ok:
		s.added++
		e = &entry[T]{item: item, at: at, order: s.added}
		s.byItem[item] = e
		heap.Push(&s.byTime, e)
	case at.Before(e.at):
		e.at = at
		heap.Fix(&s.byTime, e.index)
	default:
		return false
	}
	return e.index == 0
}

// earliest returns the time of the first entry.
func (s *schedule[T]) earliest() (time.Time, bool) {
	if len(s.byTime) == 0 {
		return time.Time{}, false
	}
	return s.byTime[0].at, true
}

// due removes and yields the items that are due at now, in the order of their times.
func (s *schedule[T]) due(now time.Time) iter.Seq[T] {
	return func(yield func(T) bool) {
		for len(s.byTime) > 0 && !s.byTime[0].at.After(now) {
			e := heap.Pop(&s.byTime).(*entry[T])
			delete(s.byItem, e.item)
			if !yield(e.item) {
				return
			}
		}
	}
}

func (s *schedule[T]) clear() {
	s.byTime = nil
	clear(s.byItem)
}

// entries implements heap.Interface.
type entries[T comparable] []*entry[T]

func (h entries[T]) Len() int { return len(h) }

func (h entries[T]) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].order, h[j].order)) < 0
}

func (h entries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entries[T]) Push(x any) {
	e := x.(*entry[T])
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *entries[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
