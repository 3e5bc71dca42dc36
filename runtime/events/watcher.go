package events

import (
	"slices"
	"sync/atomic"
)

// Watcher receives all events of a [Broadcaster] as they are recorded, repetitions too, each with the count 1.
type Watcher struct {
	// C has the events. It is never closed.
	C <-chan Event

	events      chan Event
	dropped     atomic.Int64
	broadcaster *Broadcaster
}

// Watch returns a watcher that holds up to size events which have not been received. It needs no Run. A watcher that
// is full misses events; nobody waits for it. It must be stopped when it is not used any more.
func (b *Broadcaster) Watch(size int) *Watcher {
	events := make(chan Event, size)
	w := &Watcher{C: events, events: events, broadcaster: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = append(slices.Clone(b.watchers), w)
	return w
}

// Stop ends the watch. Events that are in C already stay there. Calling it again does nothing.
func (w *Watcher) Stop() {
	b := w.broadcaster
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = slices.DeleteFunc(slices.Clone(b.watchers), func(other *Watcher) bool { return other == w })
}

// Dropped returns how many events the watcher missed because it was full.
func (w *Watcher) Dropped() int { return int(w.dropped.Load()) }

func (w *Watcher) send(e Event) {
	select {
	case w.events <- e:
	default:
		w.dropped.Add(1)
	}
}
