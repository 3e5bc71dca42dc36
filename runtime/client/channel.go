package client

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// WatchChannel opens a watch of c, see [WithWatch], as apimachinery has it: its events come by a channel, which is closed when the watch
// ends. An error that the server sends is the last event, of type Error and with a Status; of a connection that broke nothing
// is told. Stop must be called, or ctx end, for a watch that is not read to its end.
func WatchChannel(ctx context.Context, c WithWatch, list object.List, opts ...ListOption) (watch.Interface, error) {
	stream, err := c.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	w := &watchChannel{stream: stream, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// watchChannel is a watch.Interface.
type watchChannel struct {
	stream  Stream[object.Object]
	events  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
}

// Stop implements watch.Interface.
func (w *watchChannel) Stop() {
	w.stop.Do(func() {
		close(w.stopped)
		_ = w.stream.Close()
	})
}

// ResultChan implements watch.Interface.
func (w *watchChannel) ResultChan() <-chan watch.Event { return w.events }

// run sends events until the stream is over. It is the only reader of the stream.
func (w *watchChannel) run(ctx context.Context) {
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
