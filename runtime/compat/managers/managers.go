// Package managers asks a manager or a cluster for what setup functions migrated from controller-runtime use and
// [controller.Manager] does not have.
//
// A double of a test answers by a method of the same name as the function. New code takes a *manager.Manager where it
// needs one, and reads past the cache with client.Live.
package managers

import (
	"context"
	"fmt"
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

// EventRecorderFor returns a recorder of events in the form core/v1; for a double that has none, of events.k8s.io/v1.
func EventRecorderFor(c controller.Cluster, name string) *events.Recorder {
	if r, ok := c.(interface {
		EventRecorderFor(name string) *events.Recorder
	}); ok {
		return r.EventRecorderFor(name)
	}
	return c.EventRecorder(name)
}
