// Package writes is what a process knows of its own writes: clients record each write in a [Log], caches wait for it before
// they are read, and controllers ask whether a change was one of them.
package writes

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Write is a change that the API server has made for a client of this process, or may have made. Dry runs are none.
type Write struct {
	// GVK is the kind of the changed object, in the version of the request.
	GVK schema.GroupVersionKind
	// Key and UID name the changed object. UID is empty when the server did not return it.
	Key object.Key
	UID types.UID
	// ResourceVersion is the version of the object after the change. It is empty when the server did not return it, as for
	// most deletions.
	ResourceVersion string
	// Before is a version at which an object that is Gone or Ending existed. It is empty if unknown.
	Before string
	// Unknown means that the outcome is unknown: the object may have changed, or may be gone. So it is after a binding or an
	// eviction of a pod, and when the answer was lost.
	Unknown bool
	// Gone means that the object no longer exists.
	Gone bool
	// Ending means that the object is gone or has a deletion timestamp: the server did not return which.
	Ending bool
	// Base is the resource version of the caller's object before the call. It is empty if the object had none. A write that
	// leaves the object at that version has changed nothing.
	Base string
	// Body is the request body, or nil. Subscribers may read it until they return.
	Body []byte
	// Object is the object after the change, as the caller gets it, or nil. Subscribers may read it until they return.
	Object object.Object
}

// Journal is a [Log] without methods, for package client to show to programs.
type Journal struct{ log Log }

// LogOf returns the log behind j, which must not be nil.
func LogOf(j *Journal) *Log { return &j.log }

// JournalOf returns the journal of the writes that can cause the events of source: the result of its method Journal. It
// returns nil if source has no such method.
func JournalOf(source any) *Journal {
	if has, ok := source.(interface{ Journal() *Journal }); ok {
		return has.Journal()
	}
	return nil
}

// Log passes the writes of all clients that share it to caches and controllers. The zero value is ready for use, and all
// methods are safe for concurrent use. It keeps nothing of a write.
type Log struct {
	writes subscribers[func(context.Context, Write)]
	begins subscribers[func(context.Context, Write) (end func())]
}

// subscribers are functions of type F that a log calls. The zero value has none.
type subscribers[F any] struct {
	mu  sync.Mutex // held to replace all
	all atomic.Pointer[[]*F]
}

// add adds a subscriber until cancel is called. The list is replaced and never changed, so that calls need no lock.
func (s *subscribers[F]) add(f F) (cancel func()) {
	added := &f
	s.replace(func(all []*F) []*F { return append(all, added) })
	return func() {
		s.replace(func(all []*F) []*F {
			return slices.DeleteFunc(all, func(one *F) bool { return one == added })
		})
	}
}

// replace sets the list to the result of change, which gets a copy.
func (s *subscribers[F]) replace(change func(all []*F) []*F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := change(slices.Clone(s.list()))
	s.all.Store(&all)
}

// list returns the subscribers in the order in which they were added. It must not be modified.
func (s *subscribers[F]) list() []*F {
	if all := s.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Subscribe calls written for each write until cancel is called, before the call that wrote returns, with the context of that
// call. written must not block. Calls may be concurrent, and one that is under way may end after cancel has returned. The log
// keeps written, and all that it refers to, until then. Canceling twice does nothing.
func (l *Log) Subscribe(written func(ctx context.Context, w Write)) (cancel func()) {
	return l.writes.add(written)
}

// SubscribeBegin calls begun before each write is sent, until cancel is called, and the result of begun when the write has
// been recorded, or has failed: a watch may show a write before it is recorded. Both must not block. The write has only GVK and
// Key, without a name if it is of a whole collection, or if the server generates the name. begun may return nil. Everything
// else is as for Subscribe; the end of a write that has begun is called also after cancel.
func (l *Log) SubscribeBegin(begun func(ctx context.Context, w Write) (end func())) (cancel func()) {
	return l.begins.add(begun)
}

// SubscribeFor is [Log.Subscribe] for as long as owner is reachable, or until cancel is called: the log does not keep owner in
// memory. written gets the owner, and must not refer to it otherwise.
func SubscribeFor[T any](l *Log, owner *T, written func(owner *T, ctx context.Context, w Write)) (cancel func()) {
	reference := weak.Make(owner)
	return untilFreed(owner, l.Subscribe(func(ctx context.Context, w Write) {
		if owner := reference.Value(); owner != nil {
			written(owner, ctx, w)
		}
	}))
}

// SubscribeBeginFor is [Log.SubscribeBegin] as [SubscribeFor] is Subscribe.
func SubscribeBeginFor[T any](l *Log, owner *T, begun func(owner *T, ctx context.Context, w Write) (end func())) (cancel func()) {
	reference := weak.Make(owner)
	return untilFreed(owner, l.SubscribeBegin(func(ctx context.Context, w Write) (end func()) {
		if owner := reference.Value(); owner != nil {
			return begun(owner, ctx, w)
		}
		return nil
	}))
}

// untilFreed calls cancel when owner is freed, unless the function that it returns, which calls it too, comes first.
func untilFreed[T any](owner *T, cancel func()) func() {
	cleanup := runtime.AddCleanup(owner, func(cancel func()) { cancel() }, cancel)
	return func() {
		cleanup.Stop()
		cancel()
	}
}

// Record passes w to the subscribers.
func (l *Log) Record(ctx context.Context, w Write) {
	for _, written := range l.writes.list() {
		(*written)(ctx, w)
	}
}

// Begin reports that w is about to be sent, as SubscribeBegin describes, until end is called: after Record.
func (l *Log) Begin(ctx context.Context, w Write) (end func()) {
	var ends []func()
	for _, begun := range l.begins.list() {
		if ended := (*begun)(ctx, w); ended != nil {
			ends = append(ends, ended)
		}
	}
	return func() {
		for _, ended := range ends {
			ended()
		}
	}
}
