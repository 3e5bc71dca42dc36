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

// eventWriter writes events after the first recorder has been created.
type eventWriter struct {
	*onDemand
	broadcaster *events.Broadcaster // nil before the first recorder; guarded by the owner's mutex
}

func newEventWriter(name string) *eventWriter { return &eventWriter{onDemand: newOnDemand(name)} }

// recorderLocked returns a recorder, and starts the writer of its events.
func (w *eventWriter) recorderLocked(controller string, opts func() events.Options) *events.Recorder {
	if w.broadcaster == nil {
		w.broadcaster = events.New(opts())
		w.start <- w.broadcaster
	}
	return w.broadcaster.Recorder(controller)
}

// onDemand is a runnable whose implementation may be set after it has started. With it, only the methods that return
// recorders refer to the code for events, so programs without events do not link that code.
type onDemand struct {
	name  string
	start chan Runnable // buffer of size one
}

// Name returns the name.
func (o *onDemand) Name() string { return o.name }

// Run waits for the runnable and runs it. A runnable that was set before the end of ctx is run even after ctx has
// ended, so that it can finish.
func (o *onDemand) Run(ctx context.Context) error {
	select {
	case r := <-o.start:
		return r.Run(ctx)
	case <-ctx.Done():
	}
	select {
	case r := <-o.start:
		return r.Run(ctx)
	default:
		return nil
	}
}

func newOnDemand(name string) *onDemand {
	return &onDemand{name: name, start: make(chan Runnable, 1)}
}
