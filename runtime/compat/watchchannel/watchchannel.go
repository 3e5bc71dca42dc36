// Package watchchannel has the events of a watch come by a channel, for code that was migrated from controller-runtime.
// New code reads the stream that the Watch of a client returns.
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

// Open opens a watch of c as a watch of apimachinery. Its channel is closed when the watch ends. An error of the server
// is the last event, with the type Error and a Status; a broken connection ends the watch without one. Call Stop, or end
// ctx, if the watch is not read to its end.
func Open(ctx context.Context, c client.WithWatch, list object.List, opts ...client.ListOption) (watch.Interface, error) {
	stream, err := c.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	w := &watcher{stream: stream, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// watcher is a watch.Interface.
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

// run sends events until the stream is over. It is the only reader of the stream.
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
			continue // which has no object, and was not asked for
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
