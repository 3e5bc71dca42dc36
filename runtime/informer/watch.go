package informer

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// minWatch is the shortest time after which the server is asked to end a watch; the longest is twice that.
	minWatch = 5 * time.Minute
	// shortWatch is how long a watch must last, or send something, to count as one.
	shortWatch = time.Second
)

// errShortWatch reports a server, or something before it, that accepts watches and ends them at once.
var errShortWatch = errors.New("the watch ended within a second and without an event")

// watch reads changes from where s is until the stream ends.
func (r *Reflector[T]) watch(ctx context.Context, s state[T]) (state[T], error) {
	stream := s.stream
	s.stream = nil
	if stream == nil {
		var err error
		stream, err = r.source.Watch(ctx, watchOptions(s.version))
		if err != nil {
			if !isRefusal(err) {
				s = s.relist()
			}
			return s, r.failed("watch", err)
		}
	}
	defer stream.Close()
	defer closeWith(ctx, stream)()
	r.healthy()
	start := time.Now()
	events, err := r.follow(stream, &s.version)
	short := events == 0 && time.Since(start) < shortWatch
	switch {
	case ctx.Err() != nil:
		return s, nil
	case short && isBroken(err):
		return s.relist(), r.failed("watch", errors.Join(errShortWatch, unlessEOF(err)))
	case errors.Is(err, io.EOF):
		return s, nil
	case isBroken(err), isRefusal(err):
		return s, r.failed("watch", err)
	}
	return s.relist(), r.failed("watch", err)
}

// follow pushes what stream sends until it ends, and returns how many events that were, and why it ended. It keeps
// version at the last event.
func (r *Reflector[T]) follow(stream client.Stream[T], version *string) (int, error) {
	// A watch from no version begins with what exists, in any order: only what comes after that says how far it is.
	replaying := *version == "" || *version == "0"
	for events := 0; ; events++ {
		event, err := stream.Next()
		if err != nil {
			return events, err
		}
		if event.ResourceVersion == "" {
			return events, errNoVersion
		}
		replaying = replaying && event.Type == watch.Added
		delta, ok := r.delta(event)
		if !ok {
			continue
		}
		if replaying {
			delta.ResourceVersion = ""
		} else {
			*version = delta.ResourceVersion
		}
		r.sink.Push(delta)
	}
}

// delta returns what event means for the sink. It reports false for an event of a type that it does not know, and for
// a new state that cannot be transformed.
func (r *Reflector[T]) delta(event client.WatchEvent[T]) (Delta[T], bool) {
	d := Delta[T]{ResourceVersion: event.ResourceVersion}
	switch event.Type {
	case watch.Bookmark:
		d.Type = Bookmark
		return d, true
	case watch.Added:
		d.Type = Added
	case watch.Modified:
		d.Type = Updated
	case watch.Deleted:
		d.Type = Deleted
	default:
		r.log.Error("unknown type of watch event", "type", event.Type)
		return d, false
	}
	d.Key = object.KeyOf(event.Object)
	obj, ok := r.transformed(event.Object)
	switch {
	case ok:
		d.Object = obj
	case d.Type == Deleted:
		d.FinalStateUnknown = true
	default:
		return Delta[T]{Type: Bookmark, ResourceVersion: d.ResourceVersion}, true
	}
	return d, true
}

// watchOptions asks for the changes since version. Bookmarks keep a quiet watch from falling behind what the server
// remembers.
func watchOptions(version string) metav1.ListOptions {
	seconds := int64((minWatch + rand.N(minWatch)) / time.Second)
	return metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
}

// closeWith closes stream when ctx ends, until the function that it returns is called. That waits for a Close that has
// begun.
func closeWith[T object.Object](ctx context.Context, stream client.Stream[T]) (detach func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = stream.Close()
	})
	return func() {
		if !stop() {
			<-closed
		}
	}
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
