// Package watchchannel delivers the events of a watch through a channel, for code that was migrated from
// controller-runtime. New code should read the stream that a client's Watch returns.
package watchchannel

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Open opens a watch of c in the form of apimachinery. Its channel is closed when the watch ends. An error of the
// server is the last event, with type Error and a Status. A broken connection ends the watch without such an event.
// Call Stop, or end ctx, unless the watch is read to its end.
func Open(ctx context.Context, c client.WithWatch, list object.List, opts ...client.ListOption) (watch.Interface, error) {
	stream, err := c.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	w := &watcher{stream: stream, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// watcher implements watch.Interface.
type watcher struct {
	stream  client.Stream[object.Object]
	events  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
}

// Stop implements watch.Interface.
func (w *watcher) Stop() {
	w.stop.Do(func() {
		close(w.stopped)
		_ = w.stream.Close()
	})
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// run sends events until the stream ends. Only run reads the stream.
func (w *watcher) run(ctx context.Context) {
	defer close(w.events)
	defer w.Stop()
	for {
		event, err := w.stream.Next()
		sent := watch.Event{Type: event.Type, Object: event.Object}
		status := apierrors.APIStatus(nil)
		switch {
		case errors.As(err, &status):
			told := status.Status()
			sent = watch.Event{Type: watch.Error, Object: &told}
		case err != nil:
			return
		case event.Type == watch.Bookmark:
			continue // bookmarks have no object and were not requested
		}
		select {
		case w.events <- sent:
		case <-w.stopped:
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
