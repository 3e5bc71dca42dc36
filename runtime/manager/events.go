package manager

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/events"
)

// EventRecorder returns a recorder for the events of a controller, such as "guestbook". It may be called at any time;
// the first call starts what writes the events, as events.k8s.io/v1. What controllers have recorded by the time they
// end is still written. It panics when the name is not valid, see [events.Broadcaster.Recorder].
//
// Events are written where the objects are that they are about, which takes a right that an operator does not have
// otherwise:
//
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func (m *Manager) EventRecorder(controller string) *events.Recorder {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recording.recorderLocked(controller, func() events.Options {
		return events.Options{Scheme: m.opts.Scheme, Sink: events.NewSink(m.system), Logger: m.logger, Metrics: m.metrics}
	})
}

// EventRecorder returns a recorder for the events about objects of the cluster, which are written there; see
// [Manager.EventRecorder]. What is recorded after [Cluster.Stop] is not written.
func (c *Cluster) EventRecorder(controller string) *events.Recorder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recording.recorderLocked(controller, func() events.Options {
		return events.Options{Scheme: c.Scheme(), Sink: events.NewSink(c.live), Logger: c.Logger()}
	})
}

// eventWriter writes events once there is a recorder.
type eventWriter struct {
	*onDemand
	broadcaster *events.Broadcaster // nil until a recorder is asked for; under the mutex of what has the writer
}

func newEventWriter(name string) *eventWriter { return &eventWriter{onDemand: newOnDemand(name)} }

// recorderLocked returns a recorder, and has what writes its events run.
func (w *eventWriter) recorderLocked(controller string, opts func() events.Options) *events.Recorder {
	if w.broadcaster == nil {
		w.broadcaster = events.New(opts())
		w.start <- w.broadcaster
	}
	return w.broadcaster.Recorder(controller)
}

// onDemand is a runnable that may be known only when it should run already. Programs that do without events do not even
// contain their code: nothing but the methods that return recorders refers to it.
type onDemand struct {
	name  string
	start chan Runnable // has room for one
}

// Name returns the name.
func (o *onDemand) Name() string { return o.name }

// Run waits for the runnable and runs it. One that came before the end of ctx is run even then, so that it can finish.
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
