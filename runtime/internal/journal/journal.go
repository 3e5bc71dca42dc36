// Package journal is what clients, caches and controllers of a process tell each other of its writes: a client tells of each
// that the server has carried out, or may have, and a cache waits for it before it is read. Programs see none of it: to them
// a [Journal] is something that clients may share.
package journal

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
	// Key and UID name the changed object. UID is empty when the server did not say.
	Key object.Key
	UID types.UID
	// ResourceVersion is that of the object after the change. It is empty when the server did not say, as it does not
	// for most deletions.
	ResourceVersion string
	// Before is a version at which an object that is Gone or Ending was there. It is empty if that is not known.
	Before string
	// Unknown says that the object may have changed, or may be gone: the server did not say what has become of it, as after a
	// binding or an eviction of a pod, or its answer was lost.
	Unknown bool
	// Gone says that the object does not exist any more.
	Gone bool
	// Ending says that the object is gone, or has a deletion timestamp: the server did not say which.
	Ending bool
	// Base is the resource version that the caller's object had before the call, if it had one. A write that leaves the
	// object at that version has changed nothing.
	Base string
	// Body is what was sent, or nil. It may be read until the function that is told of the write returns.
	Body []byte
	// Object is the object after the change, as the caller gets it, or nil. It may be read until the function that is
	// told of the write returns.
	Object object.Object
}

// Journal tells caches and controllers of the writes of all clients that share it. The zero value is ready for use, and it is
// safe for concurrent use. It keeps nothing of a write.
//
// What it does are functions of this package and not its methods, since package client shows it to programs.
type Journal struct {
	writes subscribers[func(context.Context, Write)]
	begins subscribers[func(context.Context, Write) (end func())]
}

// subscribers are functions of type F that a journal calls. The zero value has none.
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
// call. written must not block. Calls may be concurrent, and one that is under way may end after cancel has returned. The
// journal keeps written, and all that it refers to, until then. Canceling twice does nothing.
func Subscribe(j *Journal, written func(ctx context.Context, w Write)) (cancel func()) {
	return j.writes.add(written)
}

// SubscribeBegin calls begun before each write is sent, until cancel is called, and what begun returns when the write has been
// told, or has failed: a watch may show a write before it is told. Both must not block. Of the write GVK and Key are known,
// without a name if it is of a whole collection, or if the server is to choose one. begun may return nil. Everything else is as
// for [Subscribe]; the end of a write that has begun is called also after cancel.
func SubscribeBegin(j *Journal, begun func(ctx context.Context, w Write) (end func())) (cancel func()) {
	return j.begins.add(begun)
}

// SubscribeFor is [Subscribe] for as long as owner is reachable, or until cancel is called: the journal does not keep owner in
// memory. written gets the owner, and must not refer to it otherwise.
func SubscribeFor[T any](j *Journal, owner *T, written func(owner *T, ctx context.Context, w Write)) (cancel func()) {
	reference := weak.Make(owner)
	return untilFreed(owner, Subscribe(j, func(ctx context.Context, w Write) {
		if owner := reference.Value(); owner != nil {
			written(owner, ctx, w)
		}
	}))
}

// SubscribeBeginFor is [SubscribeBegin] as [SubscribeFor] is Subscribe.
func SubscribeBeginFor[T any](j *Journal, owner *T, begun func(owner *T, ctx context.Context, w Write) (end func())) (cancel func()) {
	reference := weak.Make(owner)
	return untilFreed(owner, SubscribeBegin(j, func(ctx context.Context, w Write) (end func()) {
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

// Tell passes w on to the subscribers.
func Tell(ctx context.Context, j *Journal, w Write) {
	for _, written := range j.writes.list() {
		(*written)(ctx, w)
	}
}

// Begin says that w is about to be sent, as [SubscribeBegin] has it, until the function that it returns is called: after Tell.
func Begin(ctx context.Context, j *Journal, w Write) (end func()) {
	var ends []func()
	for _, begun := range j.begins.list() {
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

// Of returns the journal of the writes that the events of source may come of, or nil if it knows of none: that of its method
// Journal.
func Of(source any) *Journal {
	if told, ok := source.(interface{ Journal() *Journal }); ok {
		return told.Journal()
	}
	return nil
}
