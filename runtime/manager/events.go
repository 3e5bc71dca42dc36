package manager

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/events"
)

// EventRecorder returns a recorder for the events of a controller, such as "guestbook". It may be called at any time.
// The first call starts the event writer, which writes events.k8s.io/v1. The writer stops after the controllers, so
// that it also writes the last events of a controller. EventRecorder panics for an invalid name, see
// [events.Broadcaster.Recorder].
//
// Events are written to the namespace of their objects. This requires a permission that an operator does not have by
// default:
//
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func (m *Manager) EventRecorder(controller string) *events.Recorder {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recording.recorderLocked(controller, func() events.Options {
		return events.Options{Scheme: m.opts.Scheme, Sink: events.NewSink(m.system), Logger: m.logger, Metrics: m.metrics}
	})
}

// EventRecorder returns a recorder for events about objects of the cluster. The events are written to that cluster, see
// [Manager.EventRecorder]. Events that are recorded after [Cluster.Stop] are not written.
func (c *Cluster) EventRecorder(controller string) *events.Recorder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recording.recorderLocked(controller, func() events.Options {
		return events.Options{Scheme: c.Scheme(), Sink: events.NewSink(c.live), Logger: c.Logger()}
	})
}

// eventWriter is a runnable that writes events after the first recorder has been created. Only recorderLocked refers to
// the code for events, so programs without recorders do not link that code.
type eventWriter struct {
	name        string
	start       chan Runnable       // buffer of size one
	broadcaster *events.Broadcaster // nil before the first recorder; guarded by the owner's mutex
}

func newEventWriter(name string) *eventWriter {
	return &eventWriter{name: name, start: make(chan Runnable, 1)}
}

// recorderLocked returns a recorder, and starts the writer of its events.
func (w *eventWriter) recorderLocked(controller string, opts func() events.Options) *events.Recorder {
	if w.broadcaster == nil {
		w.broadcaster = events.New(opts())
		w.start <- w.broadcaster
	}
	return w.broadcaster.Recorder(controller)
}

func (w *eventWriter) Name() string { return w.name }

// Run waits for the first recorder and writes the events. After the end of ctx, it still writes earlier events.
func (w *eventWriter) Run(ctx context.Context) error {
	select {
	case r := <-w.start:
		return r.Run(ctx)
	case <-ctx.Done():
	}
	select {
	case r := <-w.start:
		return r.Run(ctx)
	default:
		return nil
	}
}
