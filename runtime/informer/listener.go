package informer

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/internal/compact"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// listener calls one handler from one goroutine. Undelivered events wait in an outbox, which compacts them per key. A
// slow handler therefore delays no other handler, and needs memory per object instead of per change.
type listener[T object.Object] struct {
	handler  Handler[T]
	byKey    bool   // see [Informer.AddKeyHandler]
	onSynced func() // called before synced is closed
	onDone   func() // called after done is closed
	synced   chan struct{}
	done     chan struct{} // closed after the last call of the handler
	removed  atomic.Bool   // set before stopped
	stopped  atomic.Bool   // set under mu

	mu      sync.Mutex
	changed sync.Cond // signaled after a push or stop
	pending outbox[T]
}

func newListener[T object.Object](handler Handler[T], onSynced, onDone func()) *listener[T] {
	l := &listener[T]{handler: handler, onSynced: onSynced, onDone: onDone, synced: make(chan struct{}),
		done: make(chan struct{})}
	l.changed.L = &l.mu
	return l
}

// push appends the events of b, followed by the sync mark if initial is set. It returns how many events were folded.
func (l *listener[T]) push(b batch[T], initial bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped.Load() {
		return 0
	}
	if l.byKey {
		b = b.byKey()
	}
	folded := l.pending.push(b, initial)
	l.changed.Signal()
	return folded
}

// run delivers events until stop.
func (l *listener[T]) run() {
	defer l.finish()
	for {
		events, synced, ok := l.take()
		if !ok {
			return
		}
		if synced {
			// onSynced is called before the channel is closed, because receivers of the channel may read what onSynced sets.
			l.onSynced()
			close(l.synced)
			continue
		}
		for _, e := range events {
			// This check is between events, so that Remove takes effect at once and not after a batch.
			if l.stopped.Load() {
				return
			}
			l.handler(e)
		}
	}
}

// finish records that the handler will not be called again.
func (l *listener[T]) finish() {
	close(l.done)
	l.onDone()
}

// take waits for events or the sync mark. It reports false after stop.
func (l *listener[T]) take() (events []Event[T], synced, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending.batches) == 0 && !l.stopped.Load() {
		l.changed.Wait()
	}
	if l.stopped.Load() {
		return nil, false, false
	}
	events, synced = l.pending.take()
	return events, synced, true
}

// stop ends run after the current event. Waiting events are dropped.
func (l *listener[T]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped.Store(true)
	l.pending = outbox[T]{}
	l.changed.Broadcast()
}

// atOnce is the number of events that a listener takes at a time. Events that were taken are delivered unchanged;
// events that still wait can be folded.
const atOnce = 8

// outbox holds the undelivered events of a listener, in the batches that all listeners share, and the sync mark. It
// compacts itself when its bound is exceeded. The mutex of its owner guards it.
type outbox[T object.Object] struct {
	batches []batch[T]
	events  int // number in all batches
	bound   compact.Bound
}

// push appends the events of b, followed by the mark if initial is set. It returns the number of events that compaction
// removed. Events of one batch usually have different keys, so the bound grows with the batch.
func (o *outbox[T]) push(b batch[T], initial bool) int {
	if count := b.len(); count > 0 {
		o.batches = append(o.batches, b.own())
		o.events += count
		o.bound.Grow(2 * count)
		o.bound.Add(bytesOf(b.events))
	}
	if initial {
		o.batches = append(o.batches, batch[T]{})
	}
	if !o.bound.IsPassed(o.events) {
		return 0
	}
	before := o.events
	o.compact()
	o.bound.Leave(o.events, o.bytes())
	return before - o.events
}

func (o *outbox[T]) bytes() (bytes int) {
	for _, b := range o.batches {
		bytes += bytesOf(b.events)
	}
	return bytes
}

func bytesOf[T object.Object](events []Event[T]) (bytes int) {
	for _, e := range events {
		bytes += e.bytes
	}
	return bytes
}

// take removes and returns some events, or the mark.
func (o *outbox[T]) take() (events []Event[T], synced bool) {
	first := &o.batches[0]
	synced = first.len() == 0
	if !synced {
		events = first.take(atOnce)
	}
	o.events -= len(events)
	o.bound.Add(-bytesOf(events))
	if first.len() == 0 {
		// Delivered events must not stay reachable through the array of batches.
		*first = batch[T]{}
		o.batches = o.batches[1:]
	}
	if len(o.batches) == 0 {
		// The array and the bound are released at the end of a burst.
		*o = outbox[T]{}
	}
	return events, synced
}

// compact folds the events of each key.
func (o *outbox[T]) compact() {
	all := make([]notice[T], 0, o.events+1)
	for _, b := range o.batches {
		if b.len() == 0 {
			all = append(all, notice[T]{synced: true})
			continue
		}
		for e := range b.all() {
			all = append(all, notice[T]{event: e})
		}
	}
	*o = outbox[T]{}
	for _, one := range compact.Fold(all, notice[T].slot, notice[T].fold) {
		last := len(o.batches) - 1
		if one.synced || last < 0 || o.batches[last].len() == 0 {
			// The mark keeps its position relative to earlier events.
			o.batches = append(o.batches, batch[T]{})
			last++
		}
		if !one.synced {
			o.batches[last].events = append(o.batches[last].events, one.event)
			o.events++
		}
	}
}

// notice is an event, or the sync mark.
type notice[T object.Object] struct {
	event  Event[T]
	synced bool
}

func (n notice[T]) slot() (object.Key, compact.Slot) {
	if n.synced {
		return object.Key{}, compact.Mark
	}
	return object.KeyOf(n.event.Object), compact.Key
}

// fold combines n with next, the following event of the same key, which starts in the state in which n ended. Until a
// handler has received Added, it does not have the object, so Added followed by Deleted cancels out.
func (n notice[T]) fold(next notice[T]) (notice[T], compact.Folding) {
	switch {
	case n.event.Type == Deleted && next.event.Type == Deleted:
		return n, compact.Merged
	case n.event.Type == Deleted:
		return n, compact.Both
	case next.event.Type != Deleted:
		// Old keeps the value of the first event, which is the state that the handler has.
		n.event.Object, n.event.Merged, n.event.bytes = next.event.Object, true, next.event.bytes
		return n, compact.Merged
	case n.event.Type == Added:
		// The handler has not seen the object, and does not need to see it.
		return n, compact.None
	}
	next.event.Merged = true
	return next, compact.Merged
}

// batch is a group of events, shared and immutable, that arrived together. An empty batch is a listener's sync mark.
type batch[T object.Object] struct {
	events []Event[T]
	packed *packedEvents[T] // further events; may be nil
}

func (b batch[T]) len() int {
	if b.packed == nil {
		return len(b.events)
	}
	return len(b.events) + len(b.packed.packed)
}

// markInitial marks the events of a first list.
func (b batch[T]) markInitial() {
	for n := range b.events {
		b.events[n].Initial = b.events[n].Type == Added
	}
	if b.packed != nil {
		b.packed.example.Initial = b.packed.example.Type == Added
	}
}

// own returns a copy of b from which the caller can take events.
func (b batch[T]) own() batch[T] {
	if b.packed != nil {
		packed := *b.packed
		b.packed = &packed
	}
	return b
}

// take removes and returns at most the given number of events. The caller must own the batch.
func (b *batch[T]) take(most int) []Event[T] {
	if b.packed != nil && len(b.events) == 0 {
		return b.packed.take(most)
	}
	count := min(len(b.events), most)
	events := b.events[:count:count]
	b.events = b.events[count:]
	return events
}

// byKey returns b for a handler that reads only the keys of unchanged objects.
func (b batch[T]) byKey() batch[T] {
	if b.packed == nil || !b.packed.example.Initial && b.packed.example.Type != Updated {
		return b
	}
	b = b.own()
	b.packed.byKey = true
	return b
}

// all iterates over the events. It unpacks the objects one by one.
func (b batch[T]) all() iter.Seq[Event[T]] {
	return func(yield func(Event[T]) bool) {
		for _, e := range b.events {
			if !yield(e) {
				return
			}
		}
		if b.packed == nil {
			return
		}
		for _, packed := range b.packed.packed {
			if !yield(b.packed.event(packed)) {
				return
			}
		}
	}
}

func (b batch[T]) objects() iter.Seq[T] {
	return func(yield func(T) bool) {
		for e := range b.all() {
			if !yield(e.Object) {
				return
			}
		}
	}
}
