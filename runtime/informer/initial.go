package informer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// waitingAfter is how often it is logged that a streaming list has not ended.
	waitingAfter = 10 * time.Second
	// silentFor is how many of these periods a streaming list may send nothing before the server is taken for one that
	// ignores the request for one.
	silentFor = 3
)

// readInitial reads stream up to the bookmark that ends the initial events, and returns what exists there as one
// Replaced.
func (r *Reflector[T]) readInitial(ctx context.Context, stream client.Stream[T]) (Delta[T], error) {
	var received atomic.Int64
	silent := r.superviseInitial(ctx, stream, &received)
	initial := r.initial()
	for {
		event, err := stream.Next()
		if err != nil {
			if silent() {
				err = errSilent
			}
			return Delta[T]{}, err
		}
		received.Add(1)
		if event.Type == watch.Bookmark && event.InitialEventsEnd {
			silent()
			all := initial.replaced(event.ResourceVersion)
			r.size = all.count()
			return all, nil
		}
		r.applyInitial(initial, event)
	}
}

// superviseInitial logs that the end of the initial events is waited for, and closes stream when nothing is received
// for too long. The function that it returns ends the supervision and reports whether that happened.
func (r *Reflector[T]) superviseInitial(ctx context.Context, stream client.Stream[T], received *atomic.Int64) func() bool {
	ctx, cancel := context.WithCancel(ctx)
	var supervisor sync.WaitGroup
	silent := false
	supervisor.Go(func() {
		ticker := time.NewTicker(waitingAfter)
		defer ticker.Stop()
		last, idle := int64(0), 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if n := received.Load(); n != last {
				last, idle = n, 0
			} else if idle++; idle == silentFor {
				silent = true
				_ = stream.Close()
				return
			}
			r.log.Warn("still waiting for the end of the initial events", "received", last)
		}
	})
	return func() bool {
		cancel()
		supervisor.Wait()
		return silent
	}
}

// applyInitial brings initial to the state after event.
func (r *Reflector[T]) applyInitial(initial gathering[T], event client.WatchEvent[T]) {
	switch event.Type {
	case watch.Bookmark:
	case watch.Added, watch.Modified:
		r.gatherObject(initial, event.Object, event.Known)
	case watch.Deleted:
		initial.remove(object.KeyOf(event.Object))
	default:
		r.log.Error("unknown type of watch event", "type", event.Type)
	}
}

// initial returns where the events of a streaming list are gathered.
func (r *Reflector[T]) initial() gathering[T] {
	if r.gather != nil {
		return r.gather(r.size)
	}
	return newInitialState[T](r.size)
}

// initialState is what the initial events have come to so far. Mostly they are one state of each object, which then are
// only collected: a map that grew with them would take twice the memory of the one that is made when their number is known.
type initialState[T object.Object] struct {
	order      collected[T]        // all states that arrived, also those that are not the last of their object
	objects    map[object.Key]T    // the last states, from when one was removed; nil before
	unreadable map[object.Key]bool // exist, but have no object because the transform failed
}

// newInitialState returns an empty state with room for that many objects.
func newInitialState[T object.Object](size int) *initialState[T] {
	return &initialState[T]{unreadable: make(map[object.Key]bool), order: collected[T]{room: size}}
}

func (s *initialState[T]) set(key object.Key, obj T, readable bool) {
	if !readable {
		s.remove(key)
		s.unreadable[key] = true
		return
	}
	delete(s.unreadable, key)
	s.order.add(obj)
	if s.objects != nil {
		s.objects[key] = obj
	}
}

func (s *initialState[T]) remove(key object.Key) {
	if s.objects == nil {
		s.objects = s.order.byKey()
	}
	delete(s.objects, key)
	delete(s.unreadable, key)
}

// replaced returns the state as a delta, in the order of arrival. It takes over what s has.
func (s *initialState[T]) replaced(version string) Delta[T] {
	if s.objects == nil {
		s.objects = s.order.byKey()
	}
	d := Delta[T]{Type: Replaced, ResourceVersion: version, byKey: s.objects}
	if s.order.count == len(s.objects) {
		d.Objects = s.order.slice()
	} else {
		d.Objects, d.byKey = s.latest(), nil
	}
	for key := range s.unreadable {
		d.Retained = append(d.Retained, key)
	}
	return d
}

// latest returns the last state of each object, in the order of the first ones. It leaves objects empty.
func (s *initialState[T]) latest() []T {
	latest := make([]T, 0, len(s.objects))
	for obj := range s.order.all {
		key := object.KeyOf(obj)
		if last, ok := s.objects[key]; ok {
			latest = append(latest, last)
			delete(s.objects, key)
		}
	}
	return latest
}

// collectedPart is how many objects are collected in one piece, unless there are fewer.
const collectedPart = 1024

// collected are objects in the order in which they were added, in pieces, so that none is moved when more come.
type collected[T object.Object] struct {
	room  int // of the first piece
	parts [][]T
	count int
}

func (c *collected[T]) add(obj T) {
	last := len(c.parts) - 1
	switch {
	case last < 0:
		c.parts = append(c.parts, make([]T, 0, c.room))
		last = 0
	case len(c.parts[last]) >= max(c.room, collectedPart):
		c.parts, c.room = append(c.parts, make([]T, 0, collectedPart)), 0
		last++
	}
	c.parts[last] = append(c.parts[last], obj)
	c.count++
}

// all yields the objects in order.
func (c *collected[T]) all(yield func(T) bool) {
	for _, part := range c.parts {
		for _, obj := range part {
			if !yield(obj) {
				return
			}
		}
	}
}

// slice returns the objects in one piece.
func (c *collected[T]) slice() []T {
	if len(c.parts) == 1 {
		return c.parts[0]
	}
	return slices.Concat(c.parts...)
}

// byKey returns the last object of each key.
func (c *collected[T]) byKey() map[object.Key]T {
	objects := make(map[object.Key]T, c.count)
	for obj := range c.all {
		objects[object.KeyOf(obj)] = obj
	}
	return objects
}
