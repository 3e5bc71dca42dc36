// Package managers asks a manager or a cluster for what setup functions migrated from controller-runtime use and
// [controller.Manager] does not have.
//
// A double of a test answers by a method of the same name as the function. New code takes a *manager.Manager where it
// needs one, and reads past the cache with client.Live.
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

// Elected returns a channel that is closed once m leads; nil for a double that does not say.
func Elected(m controller.Manager) <-chan struct{} {
	if e, ok := m.(interface{ Elected() <-chan struct{} }); ok {
		return e.Elected()
	}
	return nil
}

// APIReader returns a reader that reads from the API server.
func APIReader(c controller.Cluster) client.Reader {
	switch c := c.(type) {
	case interface{ APIReader() client.Reader }:
		return c.APIReader()
	case interface{ Live() *client.REST }:
		return c.Live()
	}
	return c.Client()
}

// HTTPClient returns the HTTP client of the clients of c; nil for a double that has none.
func HTTPClient(c controller.Cluster) *http.Client {
	if h, ok := c.(interface{ HTTPClient() *http.Client }); ok {
		return h.HTTPClient()
	}
	return nil
}

// FieldIndexer returns what indexes the cache of c by fields.
func FieldIndexer(c controller.Cluster) cache.FieldIndexer {
	if i, ok := c.(interface{ FieldIndexer() cache.FieldIndexer }); ok {
		return i.FieldIndexer()
	}
	return c.Cache()
}

// EventRecorderFor returns a recorder of events in the form core/v1, whose permissions operators built with
// controller-runtime have. c runs what writes them. For a double that runs nothing it is [controller.Cluster]'s.
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
