package reflector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/internal/collect"
	"github.com/kctrl-dev/kctrl/runtime/internal/compact"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// DeltaType is the type of a [Delta]. It determines which other fields of the delta are set.
type DeltaType int

// Types of deltas.
const (
	// Added means that the object is new to the receiver.
	Added DeltaType = iota + 1
	// Updated means that the object has a new state.
	Updated
	// Deleted means that the object no longer exists.
	Deleted
	// Replaced means that the objects of a list, or of a streaming list, are the complete state of the source.
	Replaced
	// Sync requests that the receiver deliver all its objects again.
	Sync
	// Bookmark means that nothing has changed up to a resource version.
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

// Delta is a change from one state of the source to a later one.
type Delta[T object.Object] struct {
	Type DeltaType
	// Key is the key of the object, for Added, Updated and Deleted. Push sets it from Object.
	Key object.Key
	// Object is the new state for Added and Updated, and the last state for Deleted.
	Object T
	// FinalStateUnknown marks a Deleted delta without Object. The receiver has the last known state.
	FinalStateUnknown bool
	// Merged means that other deltas of the same object were folded into this one.
	Merged bool
	// Objects are all objects, for Replaced.
	Objects []T
	// Retained are keys of existing objects that could not be decoded, for Replaced. Their known state is kept.
	Retained []object.Key
	// SetBack marks a Replaced delta from a server that was reset to an earlier state, for example from a backup. Equal
	// resource versions then do not imply equal states.
	SetBack bool
	// Stored takes the place of Objects for Replaced if the sink is an informer: it has the objects in the form of the
	// informer's store. It is nil for other sinks.
	Stored collect.State
	// ResourceVersion is the version of the source after this delta. It is empty if it is unknown.
	ResourceVersion string
	// Bytes is the size of the event on the wire, or 0 if it is unknown. It counts toward the byte limit of the queue.
	Bytes int
}

// Deltas are successive changes, oldest first.
type Deltas[T object.Object] []Delta[T]

func (d Delta[T]) slot() (object.Key, compact.Slot) {
	switch d.Type {
	case Added, Updated, Deleted:
		return d.Key, compact.Key
	case Replaced:
		return object.Key{}, compact.Barrier
	}
	return object.Key{}, compact.Mark
}

// fold combines d with next, the following delta of the same object. The result takes the position of d, which is
// before pending changes of other objects, so it keeps the resource version of d.
func (d Delta[T]) fold(next Delta[T]) (Delta[T], compact.Folding) {
	if d.Type == Deleted && next.Type != Deleted {
		// Handlers must receive the end of the old object before the beginning of the new one.
		return d, compact.Both
	}
	merged := next
	switch {
	case d.Type == Deleted && (next.FinalStateUnknown || !d.FinalStateUnknown):
		// The deletion with the last state is kept, because it carries more information.
		merged = d
	case d.Type == Added && next.Type == Updated:
		// The consumer has not seen the first delta, so the object is still new to it.
		merged.Type = Added
	}
	merged.ResourceVersion, merged.Merged = d.ResourceVersion, true
	return merged, compact.Merged
}

// ErrClosed is returned by [DeltaFIFO.Pop] when the queue is closed and empty.
var ErrClosed = errors.New("delta queue is closed")

// maxBatch is the maximum number of deltas that one Pop delivers.
const maxBatch = 1000

// DeltaFIFO passes deltas from one producer to one consumer in order. It decouples a reflector, which the server would
// disconnect if it waited, from a slower store.
//
// A list arrives as one Replaced delta and is delivered alone. The consumer can therefore apply the complete state at
// once, and find missed deletions by comparison. When hundreds of deltas, or megabytes, wait, the queue folds the
// deltas of each object: successive states become the latest state, while a deletion and a new creation remain two
// deltas. A later Replaced supersedes one that still waits.
//
// A DeltaFIFO is safe for concurrent use, but only one goroutine may be in Pop.
type DeltaFIFO[T object.Object] struct {
	known  func(object.Key) bool
	synced chan struct{}

	mu       sync.Mutex
	changed  sync.Cond // signaled after a push or Close
	pending  Deltas[T]
	bound    compact.Bound
	inflight Deltas[T] // taken by Pop, and possibly not yet applied by the consumer
	closed   bool
}

// NewDeltaFIFO returns an empty queue. known reports whether the consumer has an object with that key. The queue calls
// known while it is locked, so known must not call the queue. Folding uses known to drop deletions of objects that the
// consumer has never seen. If known is nil, every deletion is kept.
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
		// A new Replaced supersedes a waiting one and the deltas after it. Earlier deltas, and the deletions that they
		// report, are kept.
		if i := f.indexLocked(Replaced); i >= 0 {
			d.SetBack = d.SetBack || f.pending[i].SetBack
			f.bound.Add(-bytesOf(f.pending[i:]))
			f.pending = slices.Delete(f.pending, i, len(f.pending))
		}
	case Sync:
		// The waiting Sync already delivers the complete state when its turn comes.
		if f.indexLocked(Sync) >= 0 {
			return
		}
	case Bookmark:
		if n := len(f.pending); n > 0 {
			// Otherwise bookmarks of a kind without changes would fill the queue of a slow consumer.
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

// Pop waits for deltas and calls process with the next ones: either a single Replaced or Sync, or up to a thousand
// other deltas. It holds no lock while process runs. Pop returns the error of ctx if ctx ends first, and [ErrClosed]
// when the queue is closed and empty.
func (f *DeltaFIFO[T]) Pop(ctx context.Context, process func(Deltas[T])) error {
	defer f.wakeAtEnd(ctx)()
	return f.pop(ctx, process)
}

// Run calls [DeltaFIFO.Pop] until Pop returns an error, and returns that error.
func (f *DeltaFIFO[T]) Run(ctx context.Context, process func(Deltas[T])) error {
	defer f.wakeAtEnd(ctx)()
	for {
		if err := f.pop(ctx, process); err != nil {
			return err
		}
	}
}

// wakeAtEnd wakes a waiting pop when ctx ends, until stop is called.
func (f *DeltaFIFO[T]) wakeAtEnd(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changed.Broadcast()
	})
}

// pop is Pop for callers that have called wakeAtEnd.
func (f *DeltaFIFO[T]) pop(ctx context.Context, process func(Deltas[T])) error {
	batch, err := f.take(ctx)
	if err != nil {
		return err
	}
	process(batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	// Only from here on does known reflect the batch.
	f.inflight = nil
	if batch[0].Type == Replaced && !life.IsClosed(f.synced) {
		close(f.synced)
	}
	return nil
}

// Synced returns a channel that is closed when process has returned for the first Replaced, a complete state.
func (f *DeltaFIFO[T]) Synced() <-chan struct{} { return f.synced }

// Len returns the number of waiting deltas.
func (f *DeltaFIFO[T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending)
}

// Close makes Push do nothing, and makes Pop return ErrClosed once the queue is empty. Further calls do nothing.
func (f *DeltaFIFO[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

func (f *DeltaFIFO[T]) take(ctx context.Context) (Deltas[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.pending) == 0 && !f.closed && ctx.Err() == nil {
		f.changed.Wait()
	}
	// The context is checked before waiting deltas, because the caller no longer waits for them.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(f.pending) == 0 {
		return nil, ErrClosed
	}
	if n := f.batchLocked(); n < len(f.pending) {
		f.inflight = slices.Clone(f.pending[:n]) // waiting deltas stay in that array
		f.bound.Add(-bytesOf(f.inflight))
		clear(f.pending[:n])
		f.pending = f.pending[n:]
	} else {
		f.inflight, f.pending, f.bound = f.pending, nil, compact.Bound{}
	}
	return f.inflight, nil
}

// batchLocked returns the number of deltas in the next batch. A Replaced or Sync is a batch of its own; any other batch
// ends before the next Replaced or Sync.
func (f *DeltaFIFO[T]) batchLocked() int {
	alone := slices.IndexFunc(f.pending, func(d Delta[T]) bool { return d.Type == Replaced || d.Type == Sync })
	if alone < 0 {
		alone = len(f.pending)
	}
	return max(1, min(alone, maxBatch))
}

func (f *DeltaFIFO[T]) indexLocked(t DeltaType) int {
	return slices.IndexFunc(f.pending, func(d Delta[T]) bool { return d.Type == t })
}

// compactLocked folds the waiting deltas as far as possible. The last delta keeps the last version.
func (f *DeltaFIFO[T]) compactLocked() {
	version := lastVersion(f.pending)
	f.pending = f.withoutUnseenLocked(compact.Fold(f.pending, Delta[T].slot, Delta[T].fold))
	if len(f.pending) == 0 {
		// All deltas canceled each other out, but the consumer must receive the version.
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

// withoutUnseenLocked drops each deletion of an object that the consumer will not have when the deletion is delivered.
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
			// If an Added waits, the consumer will have the object.
			if d.Type == Deleted && !first[d.Key] && !known(d.Key) {
				continue
			}
			first[d.Key] = true
		}
		kept = append(kept, d)
	}
	// Otherwise the array would keep the dropped deltas alive.
	clear(pending[len(kept):])
	return kept
}

// knownLocked returns a function that reports which objects the consumer has before the first pending delta. While a
// batch is being processed, its keys count as known.
func (f *DeltaFIFO[T]) knownLocked() func(object.Key) bool {
	inflight := make(map[object.Key]bool, len(f.inflight))
	for _, d := range f.inflight {
		if d.Type == Replaced {
			// The consumer is between two states. An extra deletion does no harm, but a missing one would.
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
	for _, key := range replaced.Retained {
		keys[key] = true
	}
	return func(key object.Key) bool { return keys[key] || replaced.Stored != nil && replaced.Stored.Has(key) }
}
