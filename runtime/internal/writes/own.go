package writes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// maxOwn is the maximum number of versions that a log keeps. Older versions count as foreign.
	maxOwn = 8192
	// maxCallers is the maximum number of callers that wait for one write in flight. Further callers do not wait.
	maxCallers = 16
	// recordWithin limits the wait for a write in flight, because a foreign change must not wait for a write that hangs.
	recordWithin = time.Second
)

// Writer identifies a controller among the writers of a process. It must not be copied.
type Writer struct{ _ byte } // not empty: writers differ by their addresses

type writerKey struct{}

// Context returns a context whose writes belong to the writer.
func (w *Writer) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, writerKey{}, w)
}

// writerOf returns the writer to which writes with ctx belong, or nil if they belong to the process as a whole.
func writerOf(ctx context.Context) *Writer {
	w, _ := ctx.Value(writerKey{}).(*Writer)
	return w
}

// own holds the writes in flight and the versions that this process made, by writer. The zero value is empty.
type own struct {
	begun atomic.Uint64 // number of writes that have begun; increased while mu is held

	mu       sync.Mutex
	inFlight map[*inFlight]struct{}
	made     recent[version, *Writer]
}

// version identifies a state of an object. The state in which the object no longer exists has no resource version.
type version struct {
	uid             types.UID
	resourceVersion string
	ending          bool // the state may be the end, or the beginning of the deletion
}

// inFlight is a write that is being sent and has not been recorded yet. A watch may show its effect earlier.
type inFlight struct {
	kind    string     // as GroupKind.String returns it
	key     object.Key // without a name for a whole collection or a generated name
	writer  *Writer
	number  uint64 // number of writes that had begun by then
	callers []*caller
}

// caller waits for writes in flight.
type caller struct {
	writes  int // in flight; guarded by own.mu
	timeout *time.Timer
}

// isOf reports whether a write of w counts as one of by. Writes without a writer belong to every controller.
func isOf(w, by *Writer) bool { return w == nil || w == by }

func (f *inFlight) concerns(kind string, key object.Key) bool {
	switch {
	case f.kind != kind:
		return false
	case f.key.Name == "":
		return f.key.Namespace == "" || f.key.Namespace == key.Namespace
	}
	return f.key == key
}

// record records the states that w has certainly made.
func (o *own) record(ctx context.Context, w Write) {
	if w.UID == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.Gone || w.Ending {
		o.made.set(version{uid: w.UID, ending: !w.Gone}, writerOf(ctx), maxOwn)
	}
	if w.Changed {
		o.made.set(version{uid: w.UID, resourceVersion: w.ResourceVersion}, writerOf(ctx), maxOwn)
	}
}

// recent is a map of the keys that were set last. The zero value is empty.
type recent[K comparable, V any] struct {
	values map[K]V
	order  []K // the keys of values; once full, a ring whose oldest is at next
	next   int
}

// set sets the value of key. If there are more than limit keys, it removes the oldest one.
func (r *recent[K, V]) set(key K, value V, limit int) {
	if r.values == nil {
		r.values = map[K]V{}
	}
	if _, known := r.values[key]; !known {
		if len(r.order) < limit {
			r.order = append(r.order, key)
		} else {
			delete(r.values, r.order[r.next])
			r.order[r.next] = key
			r.next = (r.next + 1) % limit
		}
	}
	r.values[key] = value
}

func (o *own) has(v version, by *Writer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, made := o.made.values[v]
	return made && isOf(w, by)
}

// Mine reports whether a write of by, or of no writer, has certainly made the object's resourceVersion. An empty
// resourceVersion refers to the end of the object.
func (l *Log) Mine(by *Writer, uid types.UID, resourceVersion string) bool {
	return l.own.has(version{uid: uid, resourceVersion: resourceVersion}, by)
}

// MineEnding reports whether by, or no writer, deleted the object with a request for several objects. The answer to
// such a request does not distinguish between the end of an object and the beginning of its deletion.
func (l *Log) MineEnding(by *Writer, uid types.UID) bool {
	return l.own.has(version{uid: uid, ending: true}, by)
}

// Begin records that a client is about to send w, of which only GVK and Key are used. The client calls end after
// Record, or after the write has failed. Key has no name if the write is for a whole collection, or if the server
// generates the name.
func (l *Log) Begin(ctx context.Context, w Write) (end func()) {
	o := &l.own
	f := &inFlight{kind: w.GVK.GroupKind().String(), key: w.Key, writer: writerOf(ctx)}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inFlight == nil {
		o.inFlight = map[*inFlight]struct{}{}
	}
	f.number = o.begun.Add(1)
	o.inFlight[f] = struct{}{}
	return func() { o.end(f) }
}

// end runs the callers that wait only for f.
func (o *own) end(f *inFlight) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.inFlight, f)
	for _, c := range f.callers {
		if c.writes--; c.writes == 0 && c.timeout.Stop() {
			c.timeout.Reset(0) // runs in its own goroutine, without the lock
		}
	}
}

// Begun returns the number of writes that have begun.
func (l *Log) Begun() uint64 { return l.own.begun.Load() }

// WhenRecorded reports whether, among the first begun writes, writes of the object by the given writer or by none are
// in flight. If so, it calls recorded once, from another goroutine, when these writes have been recorded or have
// failed, or after at most a second. kind is the result of the String method of a GroupKind.
func (l *Log) WhenRecorded(by *Writer, kind string, key object.Key, begun uint64, recorded func()) bool {
	o := &l.own
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &caller{}
	for f := range o.inFlight {
		if f.number <= begun && isOf(f.writer, by) && f.concerns(kind, key) && len(f.callers) < maxCallers {
			f.callers = append(f.callers, c)
			c.writes++
		}
	}
	if c.writes == 0 {
		return false
	}
	c.timeout = time.AfterFunc(recordWithin, recorded)
	return true
}
