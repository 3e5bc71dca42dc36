package client

import (
	"context"
	"errors"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
)

// NewWithWatch is like [New], but the client can also watch.
func NewWithWatch(config *rest.Config, options Options) (WithWatch, error) {
	c, err := newClient(config, options)
	if err != nil {
		return nil, err
	}
	return &watching{Client: decorate(c, options), base: c}, nil
}

type watching struct {
	Client
	base *client
}

// Kctrl returns kctrl's client of the server, for code that has been migrated to kctrl's API.
func (w *watching) Kctrl() kclient.WithWatch { return w.base.live }

// Watch implements [WithWatch].
func (w *watching) Watch(ctx context.Context, list ObjectList, opts ...ListOption) (watch.Interface, error) {
	all := new(ListOptions).ApplyOptions(opts)
	ctx, o, err := all.convert(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := w.GroupVersionKindFor(list); err != nil {
		return nil, err
	}
	// Only Raw can set the version from which the watch starts.
	prototype := list.DeepCopyObject().(ObjectList)
	prototype.SetResourceVersion("")
	ctx, cancel := context.WithCancel(ctx)
	stream, err := w.base.live.Watch(ctx, prototype, withoutNothing(o))
	if err != nil {
		cancel()
		return nil, err
	}
	return newStreamWatch(stream, cancel), nil
}

// newStreamWatch returns the events of stream as a watch.Interface. The watch calls stop after Stop, or at the end of
// the stream.
func newStreamWatch(stream kclient.Stream[Object], stop func()) watch.Interface {
	s := &streamWatch{stream: stream, stop: stop, events: make(chan watch.Event), stopped: make(chan struct{})}
	go s.run()
	return s
}

// streamWatch is a watch whose goroutine ends with Stop, or with the stream.
type streamWatch struct {
	stream  kclient.Stream[Object]
	stop    func()
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

// Stop implements watch.Interface.
func (s *streamWatch) Stop() {
	s.once.Do(func() {
		close(s.stopped)
		s.stop()
		_ = s.stream.Close()
	})
}

// ResultChan implements watch.Interface.
func (s *streamWatch) ResultChan() <-chan watch.Event { return s.events }

func (s *streamWatch) run() {
	defer close(s.events)
	defer s.Stop()
	for {
		e, err := s.stream.Next()
		event := watch.Event{Type: e.Type, Object: e.Object}
		switch {
		case err != nil:
			event = watch.Event{Type: watch.Error, Object: statusOf(err)}
		case e.Object == nil: // a bookmark
			metadata := metav1.ObjectMeta{ResourceVersion: e.ResourceVersion}
			event.Object = &metav1.PartialObjectMetadata{ObjectMeta: metadata}
		case isTyped(e.Object):
			e.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
		if event.Object == nil {
			return // the server ended the watch
		}
		select {
		case s.events <- event:
		case <-s.stopped:
			return
		}
		if err != nil {
			return
		}
	}
}

// statusOf returns the status of an error event, or nil for the end of a watch.
func statusOf(err error) runtime.Object {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		answer := status.Status()
		return &answer
	}
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	status := apierrors.NewInternalError(err).Status()
	return &status
}
