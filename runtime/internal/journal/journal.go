// Package journal is what clients, caches and controllers of a process tell each other of its writes: a client tells of each
// that the server has carried out, or may have, and a cache waits for it before it is read. Programs see none of it: to them
// a [Journal] is something that clients may share.
package journal

import (
	"context"
	"sync"

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
	mu     sync.RWMutex
	writes []func(context.Context, Write) // who wants to know of each that was made
	begins []func(context.Context, Write) (end func())
}

// Subscribe lets told be called for each write from now on, before the call that wrote returns, with the context of that
// call. It must not block. Calls may be concurrent.
func Subscribe(j *Journal, told func(ctx context.Context, w Write)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.writes = append(j.writes, told)
}

// SubscribeBegin lets begun be called before each write is sent from now on, and what it returns when the write has been told,
// or has failed: a watch may show a write before it is told. Both must not block, and calls may be concurrent. Of the write
// GVK and Key are known, without a name if it is of a whole collection, or if the server is to choose one. Nil is nothing to
// be called at the end.
func SubscribeBegin(j *Journal, begun func(ctx context.Context, w Write) (end func())) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begins = append(j.begins, begun)
}

// Tell passes w on to who has subscribed.
func Tell(ctx context.Context, j *Journal, w Write) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	for _, tell := range j.writes {
		tell(ctx, w)
	}
}

// Begin says that w is about to be sent, as [SubscribeBegin] has it, until the function that it returns is called: after Tell.
func Begin(ctx context.Context, j *Journal, w Write) (end func()) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	var ends []func()
	for _, begin := range j.begins {
		if ended := begin(ctx, w); ended != nil {
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
