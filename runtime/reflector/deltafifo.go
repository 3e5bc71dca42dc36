package reflector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/internal/collect"
	"github.com/kctrl-dev/kctrl/runtime/internal/compact"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// DeltaType is what a [Delta] says. It also tells which fields of the delta are set.
type DeltaType int

// The types of deltas.
const (
	// Added: the object is new to the receiver.
	Added DeltaType = iota + 1
	// Updated: the object has another state than before.
	Updated
	// Deleted: the object is gone.
	Deleted
	// Replaced: the objects of a list, or of a streaming list, are the whole state.
	Replaced
	// Sync: the receiver is to deliver all that it has again.
	Sync
	// Bookmark: nothing has changed up to a resource version.
	Bookmark
)

// String returns the name of the constant.
func (t DeltaType) String() string {
	names := [...]string{
		Added: "Added", Updated: "Updated", Deleted: "Deleted", Replaced: "Replaced", Sync: "Sync", Bookmark: "Bookmark",
	}
	if t > 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("DeltaType(%d)", int(t))
}

// Delta is one step from a state of the source to a later one.
type Delta[T object.Object] struct {
	Type DeltaType
	// Key is the key of the object of Added, Updated and Deleted. Push fills it in from Object.
	Key object.Key
	// Object is the new state for Added and Updated, the last one for Deleted.
	Object T
	// FinalStateUnknown marks a Deleted without Object: the receiver has the last state that is known.
	FinalStateUnknown bool
	// Merged says that other deltas of the object were folded into this one.
	Merged bool
	// Objects is, for Replaced, all there is.
	Objects []T
	// Retained are, for Replaced, the keys of objects that exist too but could not be read: what is known of them
	// stays.
	Retained []object.Key
	// SetBack marks a Replaced of a server that was set back to an earlier state, as from a backup: a resource version
	// then says nothing about what the receiver has under it.
	SetBack bool
	// Stored has, for Replaced, the objects in the form of the store of an informer, in place of Objects. It is nil for
	// all other sinks.
	Stored collect.State
	// ResourceVersion is how far the source has come with this delta. It is empty where that is not known.
	ResourceVersion string
	// Bytes is the size of the event on the wire, or 0 if it is not known. The queue is bounded by it too.
	Bytes int
}

// Deltas are successive steps, oldest first.
type Deltas[T object.Object] []Delta[T]

// count returns the number of objects of a Replaced.
func (d Delta[T]) count() int {
	if d.Stored != nil {
		return d.Stored.Len()
	}
	return len(d.Objects)
}

func (d Delta[T]) slot() (object.Key, compact.Slot) {
	switch d.Type {
	case Added, Updated, Deleted:
		return d.Key, compact.Key
	case Replaced:
		return object.Key{}, compact.Barrier
	}
	return object.Key{}, compact.Mark
}

// fold keeps the resource version of the earlier delta: it stands in that one's place, before changes of other objects
// that are still to come.
func (d Delta[T]) fold(next Delta[T]) (Delta[T], compact.Folding) {
	if d.Type == Deleted && next.Type != Deleted {
		// Handlers must hear of the end of the one before they hear of the other.
		return d, compact.Both
	}
	merged := next
	switch {
	case d.Type == Deleted && (next.FinalStateUnknown || !d.FinalStateUnknown):
		// The deletion that knows the last state says more.
		merged = d
	case d.Type == Added && next.Type == Updated:
		// The consumer has not seen the first, so to it the second is new.
		merged.Type = Added
	}
	merged.ResourceVersion, merged.Merged = d.ResourceVersion, true
	return merged, compact.Merged
}

// ErrClosed is returned by [DeltaFIFO.Pop] when the queue is closed and empty.
var ErrClosed = errors.New("delta queue is closed")

// maxBatch is the most deltas that one Pop hands out.
const maxBatch = 1000

// DeltaFIFO carries deltas from one producer to one consumer, in the order in which they arrive: from a reflector,
// which the server would cut off if it waited, to the store.
//
// A list arrives as one Replaced delta and is handed out alone, so the consumer can take over the whole state at once
// and finds the deletions that were missed by comparing. While the consumer keeps up, every delta is delivered. When
// hundreds wait, or megabytes, the deltas of each object are compressed: successive states become the latest one, and
// a deletion followed by a new creation stays two deltas. A later Replaced takes the place of one that still waits. So
// the memory is bounded by the objects, not by the number of changes.
//
// All methods are safe for concurrent use, but only one goroutine may be in Pop.
type DeltaFIFO[T object.Object] struct {
	known  func(object.Key) bool
	synced chan struct{}

	mu       sync.Mutex
	changed  sync.Cond // signalled when something was pushed or the queue was closed
	pending  Deltas[T]
	bound    compact.Bound
	inflight Deltas[T] // taken by Pop, and perhaps not yet in the consumer's state
	closed   bool
}

// NewDeltaFIFO returns an empty queue. known reports whether the consumer has an object with that key; it is called
// with the queue locked, so it must not call the queue. With it, the deletion of an object that has come and gone
// without the consumer having seen it is dropped when deltas are compressed; a nil known keeps every deletion.
func NewDeltaFIFO[T object.Object](known func(object.Key) bool) *DeltaFIFO[T] {
	if known == nil {
		known = func(object.Key) bool { return true }
	}
	f := &DeltaFIFO[T]{known: known, synced: make(chan struct{})}
	f.changed.L = &f.mu
	return f
}

// Push appends d. It never blocks. After Close it does nothing.
func (f *DeltaFIFO[T]) Push(d Delta[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	switch d.Type {
	case Replaced:
		d.SetBack = f.supersedeLocked() || d.SetBack
	case Sync:
		// One that waits delivers what is there by then, which is what another would.
		if f.indexLocked(Sync) >= 0 {
			return
		}
	case Bookmark:
		if n := len(f.pending); n > 0 {
			// A quiet kind would else fill the queue of a slow consumer with nothing but bookmarks.
			f.pending[n-1].ResourceVersion = d.ResourceVersion
			return
		}
	default:
		if !d.FinalStateUnknown {
			d.Key = object.KeyOf(d.Object)
		}
	}
	f.pending = append(f.pending, d)
	f.bound.Add(d.Bytes)
	if f.bound.IsPassed(len(f.pending)) {
		f.compactLocked()
	}
	f.changed.Signal()
}

// Pop waits for deltas and calls process with the next ones: either a single Replaced or Sync, or up to a thousand of
// the others. No lock is held while process runs. Pop returns the error of ctx when it ends first, and ErrClosed when
// the queue is closed and everything was handed out.
func (f *DeltaFIFO[T]) Pop(ctx context.Context, process func(Deltas[T])) error {
	defer f.wakeAtEnd(ctx)()
	return f.pop(ctx, process)
}

// Run calls [DeltaFIFO.Pop] until that returns an error, and returns the error.
func (f *DeltaFIFO[T]) Run(ctx context.Context, process func(Deltas[T])) error {
	defer f.wakeAtEnd(ctx)()
	for {
		if err := f.pop(ctx, process); err != nil {
			return err
		}
	}
}

// wakeAtEnd makes a waiting pop look at ctx when that ends, until the function that it returns is called.
func (f *DeltaFIFO[T]) wakeAtEnd(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed.Broadcast()
	})
}

// pop is Pop for one who has called wakeAtEnd.
func (f *DeltaFIFO[T]) pop(ctx context.Context, process func(Deltas[T])) error {
	batch, err := f.take(ctx)
	if err != nil {
		return err
	}
	process(batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	// Only now has the consumer what known asks for.
	f.inflight = nil
	if batch[0].Type == Replaced {
		f.closeSyncedLocked()
	}
	return nil
}

// Synced is closed when process has returned for the first Replaced: the consumer then has a whole state.
func (f *DeltaFIFO[T]) Synced() <-chan struct{} { return f.synced }

// Len returns the number of deltas that wait.
func (f *DeltaFIFO[T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending)
}

// Close makes Push do nothing, and Pop return ErrClosed once nothing waits any more. Closing twice is fine.
func (f *DeltaFIFO[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

func (f *DeltaFIFO[T]) closeSyncedLocked() {
	select {
	case <-f.synced:
	default:
		close(f.synced)
	}
}

func (f *DeltaFIFO[T]) take(ctx context.Context) (Deltas[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.pending) == 0 && !f.closed && ctx.Err() == nil {
		f.changed.Wait()
	}
	// Ahead of what waits: nobody would wait for that any more.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(f.pending) == 0 {
		return nil, ErrClosed
	}
	if n := f.batchLocked(); n < len(f.pending) {
		f.inflight = slices.Clone(f.pending[:n]) // what waits goes on in that array
		f.bound.Add(-bytesOf(f.inflight))
		clear(f.pending[:n])
		f.pending = f.pending[n:]
	} else {
		f.inflight, f.pending, f.bound = f.pending, nil, compact.Bound{}
	}
	return f.inflight, nil
}

// batchLocked returns how many deltas go together: those before the next Replaced or Sync, or that one alone.
func (f *DeltaFIFO[T]) batchLocked() int {
	alone := slices.IndexFunc(f.pending, func(d Delta[T]) bool { return d.Type == Replaced || d.Type == Sync })
	switch alone {
	case -1:
		return min(len(f.pending), maxBatch)
	case 0:
		return 1
	}
	return min(alone, maxBatch)
}

func (f *DeltaFIFO[T]) indexLocked(t DeltaType) int {
	return slices.IndexFunc(f.pending, func(d Delta[T]) bool { return d.Type == t })
}

// supersedeLocked drops a Replaced that still waits and what came after it: the new one says what has become of all
// that. What came before stays, with the edges it holds. It reports whether what was dropped was SetBack.
func (f *DeltaFIFO[T]) supersedeLocked() (setBack bool) {
	if i := f.indexLocked(Replaced); i >= 0 {
		setBack = f.pending[i].SetBack
		f.bound.Add(-bytesOf(f.pending[i:]))
		f.pending = slices.Delete(f.pending, i, len(f.pending))
	}
	return setBack
}

// compactLocked makes what waits as short as it can be. The version of the last delta stays that of all that waits:
// when the last one is applied, so is everything.
func (f *DeltaFIFO[T]) compactLocked() {
	version := lastVersion(f.pending)
	f.pending = f.withoutUnseenLocked(compact.Fold(f.pending, Delta[T].slot, Delta[T].fold))
	if len(f.pending) == 0 {
		// All came to nothing, but the consumer is to learn how far that is.
		f.pending = append(f.pending, Delta[T]{Type: Bookmark})
	}
	f.pending[len(f.pending)-1].ResourceVersion = version
	f.bound.Leave(len(f.pending), bytesOf(f.pending))
}

func bytesOf[T object.Object](deltas []Delta[T]) (bytes int) {
	for _, d := range deltas {
		bytes += d.Bytes
	}
	return bytes
}

func lastVersion[T object.Object](pending []Delta[T]) string {
	for i := len(pending) - 1; i >= 0; i-- {
		if v := pending[i].ResourceVersion; v != "" {
			return v
		}
	}
	return ""
}

// withoutUnseenLocked drops each deletion of an object that the consumer will not know when it gets there.
func (f *DeltaFIFO[T]) withoutUnseenLocked(pending []Delta[T]) []Delta[T] {
	known := f.knownLocked()
	first := make(map[object.Key]bool) // the keys seen since the start or the last Replaced
	kept := pending[:0]
	for _, d := range pending {
		switch d.Type {
		case Replaced:
			known = knownAfter(d)
			clear(first)
		case Added, Updated, Deleted:
			// Behind an Added that waits the deletion is of an object that will be known.
			if d.Type == Deleted && !first[d.Key] && !known(d.Key) {
				continue
			}
			first[d.Key] = true
		}
		kept = append(kept, d)
	}
	// What was dropped would else be kept alive by the array.
	clear(pending[len(kept):])
	return kept
}

// knownLocked returns what the consumer knows before the first pending delta. While a batch is being processed its
// keys count as known.
func (f *DeltaFIFO[T]) knownLocked() func(object.Key) bool {
	inflight := make(map[object.Key]bool, len(f.inflight))
	for _, d := range f.inflight {
		if d.Type == Replaced {
			// What the consumer has by now is between two states: a deletion too many does no harm, one too few would.
			return func(object.Key) bool { return true }
		}
		inflight[d.Key] = true
	}
	return func(key object.Key) bool { return inflight[key] || f.known(key) }
}

func knownAfter[T object.Object](replaced Delta[T]) func(object.Key) bool {
	keys := make(map[object.Key]bool, len(replaced.Objects)+len(replaced.Retained))
	for _, obj := range replaced.Objects {
		keys[object.KeyOf(obj)] = true
	}
	if replaced.Stored != nil {
		for key := range replaced.Stored.Keys() {
			keys[key] = true
		}
	}
	for _, key := range replaced.Retained {
		keys[key] = true
	}
	return func(key object.Key) bool { return keys[key] }
}
