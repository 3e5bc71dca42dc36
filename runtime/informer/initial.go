package informer

import (
	"context"
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
	initial := newInitialState[T](r.size)
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
			r.size = len(all.Objects)
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
func (r *Reflector[T]) applyInitial(initial *initialState[T], event client.WatchEvent[T]) {
	switch event.Type {
	case watch.Bookmark:
	case watch.Added, watch.Modified:
		key := object.KeyOf(event.Object)
		if event.Known { // it comes from the sink
			initial.set(key, event.Object, true)
			return
		}
		obj, ok := r.transformed(event.Object)
		initial.set(key, obj, ok)
	case watch.Deleted:
		initial.remove(object.KeyOf(event.Object))
	default:
		r.log.Error("unknown type of watch event", "type", event.Type)
	}
}

// initialState is what the initial events have come to so far.
type initialState[T object.Object] struct {
	objects    map[object.Key]T
	unreadable map[object.Key]bool // exist, but have no object because the transform failed
	order      []T                 // all states that arrived, also those that objects does not have any more
}

// newInitialState returns an empty state with room for that many objects.
func newInitialState[T object.Object](size int) *initialState[T] {
	return &initialState[T]{
		objects:    make(map[object.Key]T, size),
		unreadable: make(map[object.Key]bool),
		order:      make([]T, 0, size),
	}
}

func (s *initialState[T]) set(key object.Key, obj T, readable bool) {
	if !readable {
		s.remove(key)
		s.unreadable[key] = true
		return
	}
	delete(s.unreadable, key)
	s.objects[key] = obj
	s.order = append(s.order, obj)
}

func (s *initialState[T]) remove(key object.Key) {
	delete(s.objects, key)
	delete(s.unreadable, key)
}

// replaced returns the state as a delta, in the order of arrival. It takes over what s has.
func (s *initialState[T]) replaced(version string) Delta[T] {
	d := Delta[T]{Type: Replaced, ResourceVersion: version, Objects: s.order, byKey: s.objects}
	if len(s.order) != len(s.objects) {
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
	for _, obj := range s.order {
		key := object.KeyOf(obj)
		if last, ok := s.objects[key]; ok {
			latest = append(latest, last)
			delete(s.objects, key)
		}
	}
	return latest
}
