// Package managers has accessors of a manager or cluster that setup functions migrated from controller-runtime use, and
// that [controller.Manager] does not have.
//
// A test double implements an accessor with a method of the same name. New code should accept a *manager.Manager if it
// needs one, and use client.Live for reads without the cache.
package managers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
)

// Run runs m until ctx ends. It fails if m cannot run.
func Run(ctx context.Context, m controller.Manager) error {
	if r, ok := m.(controller.Runnable); ok {
		return r.Run(ctx)
	}
	return fmt.Errorf("%T cannot run", m)
}

// Elected returns a channel that is closed once m leads, or nil for a double without the method.
func Elected(m controller.Manager) <-chan struct{} {
	if e, ok := m.(interface{ Elected() <-chan struct{} }); ok {
		return e.Elected()
	}
	return nil
}

// APIReader returns a reader without a cache.
func APIReader(c controller.Cluster) client.Reader {
	switch c := c.(type) {
	case interface{ APIReader() client.Reader }:
		return c.APIReader()
	case interface{ Live() *client.REST }:
		return c.Live()
	}
	return c.Client()
}

// HTTPClient returns the HTTP client of c's clients, or nil for a double without the method.
func HTTPClient(c controller.Cluster) *http.Client {
	if h, ok := c.(interface{ HTTPClient() *http.Client }); ok {
		return h.HTTPClient()
	}
	return nil
}

// FieldIndexer returns the indexer of c's cache.
func FieldIndexer(c controller.Cluster) cache.FieldIndexer {
	if i, ok := c.(interface{ FieldIndexer() cache.FieldIndexer }); ok {
		return i.FieldIndexer()
	}
	return c.Cache()
}

// EventRecorderFor returns a recorder of core/v1 events, for which operators built with controller-runtime have
// permissions. c runs the writer of the events. For a double that runs nothing it returns the EventRecorder of
// [controller.Cluster].
func EventRecorderFor(c controller.Cluster, name string) *events.Recorder {
	switch c := c.(type) {
	case interface {
		EventRecorderFor(name string) *events.Recorder
	}:
		return c.EventRecorderFor(name)
	case interface {
		controller.Cluster
		Add(r controller.Runnable) error
		Live() *client.REST
		Logger() *slog.Logger
	}:
		b := events.New(events.Options{
			Scheme: c.Scheme(), Sink: events.NewCoreSink(c.Live()), Correlation: events.ByCount, Logger: c.Logger(),
		})
		if err := c.Add(writer{b}); err != nil {
			c.Logger().Error("events are not written", "controller", name, "err", err)
		}
		return b.Recorder(name)
	}
	return c.EventRecorder(name)
}

// writer writes events in every replica.
type writer struct{ *events.Broadcaster }

// NeedLeaderElection returns false.
func (writer) NeedLeaderElection() bool { return false }
