package manager

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/internal/standin"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Connection is what a [Manager] and a [Cluster] have of their API servers, for what takes either of them.
type Connection interface {
	Client() client.Client
	APIReader() client.Reader
	Live() *client.REST
	Cache() *cache.Cache
	Scheme() *runtime.Scheme
	RESTMapper() meta.RESTMapper
	Config() *rest.Config
	HTTPClient() *http.Client
	EventRecorder(controller string) *events.Recorder
	EventRecorderFor(controller string) *events.Recorder
}

var (
	_ Connection = (*Manager)(nil)
	_ Connection = (*Cluster)(nil)
)

// Of returns a manager that asks standIn for what this has methods for, under the names that controller-runtime has for them, each time
// that it is asked itself: GetClient, GetAPIReader, GetCache, GetFieldIndexer, GetScheme, GetRESTMapper, GetConfig, GetHTTPClient,
// GetLogger, GetEventRecorder, GetEventRecorderFor and GetControllerOptions, which gives [Options]; Add, Elected, Start, AddHealthzCheck,
// AddReadyzCheck and AddMetricsServerExtraHandler. standIn has those that it wants to answer:
//
//	type fakeManager struct {
//		*manager.Manager // nil
//		client client.Client
//	}
//
//	func (m *fakeManager) GetClient() client.Client { return m.client }
//
// It is for tests, in which a type of their own stands for the manager, and for types that give a manager another client or logger. For the
// rest there is the *Manager or [Connection] that standIn embeds; without, it is a manager whose API server is an error, and which nothing runs. A
// [Collection] made of it does not ask standIn. Of a *Manager returns it.
func Of(standIn any) *Manager {
	if m, ok := standIn.(*Manager); ok {
		return m
	}
	if m := embeddedIn(standIn); m != nil {
		return m.standingIn(standIn, true)
	}
	m, err := New(standin.Config(standIn), Options{Webhook: WebhookOptions{Address: Off}})
	if err != nil {
		panic(fmt.Errorf("manager of %T: %w", standIn, err)) // options of our own are ones that work
	}
	if c, ok := embeddedConnection(standIn); ok {
		m = m.standingIn(connected{c}, false)
		return m.standingIn(standIn, true)
	}
	return m.standingIn(standIn, false)
}

// embeddedIn returns the manager that a stand-in embeds, or nil.
func embeddedIn(standIn any) *Manager {
	if standin.IsNil(standIn) {
		return nil
	}
	if s, ok := standIn.(interface{ embedded() *Manager }); ok {
		return s.embedded()
	}
	return nil
}

// embeddedConnection returns the connection that a stand-in embeds which embeds no manager.
func embeddedConnection(standIn any) (c Connection, ok bool) {
	if _, ok := standIn.(interface{ embedded() *Manager }); ok || standin.IsNil(standIn) {
		return nil, false
	}
	c, ok = standIn.(Connection)
	return c, ok
}

// embedded returns m, for those that embed it.
func (m *Manager) embedded() *Manager { return m }

// StandIn returns what [Of] was given for m, and nil for all other managers.
func (m *Manager) StandIn() any {
	if m.standIn == nil {
		return nil
	}
	return m.standIn.of
}

// standIn is what is asked before a connection. Methods that it has are looked for when they are wanted: those of mocks may fail a test
// when they are called.
type standIn struct {
	of    any
	under *standIn // of the manager that of embeds, nil if that is no stand-in
	// cache is that of the manager which of embeds, or else one that has the kinds of the scheme, and none of their objects.
	cache func() *cache.Cache
}

// answering returns what stands in for a connection, if that has the methods of T.
func answering[T any](c *connection) (methods T, ok bool) {
	for s := c.standIn; s != nil; s = s.under {
		if methods, ok := s.of.(T); ok {
			return methods, true
		}
	}
	return methods, false
}

// standingIn returns a view of m which asks a stand-in first; isOwn says that this embeds m, and otherwise m has no API server.
func (m *Manager) standingIn(of any, isOwn bool) *Manager {
	view := m.view()
	connection := *m.connection
	view.connection = &connection
	s := &standIn{of: of, under: m.standIn}
	connection.standIn = s
	switch {
	case !isOwn:
		s.cache = sync.OnceValue(func() *cache.Cache { return m.emptyCache(connection.Scheme(), connection.RESTMapper()) })
	case m.standIn != nil:
		s.cache = m.standIn.cache
	default:
		s.cache = m.Cache
	}
	return view
}

// emptyCache returns a cache in front of the API server of m for the kinds of a scheme.
func (m *Manager) emptyCache(scheme *runtime.Scheme, mapper meta.RESTMapper) *cache.Cache {
	live, err := client.New(m.config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return m.cache // as there is no scheme
	}
	return cache.New(live, m.cacheOptions())
}

// standInCache returns the cache of a stand-in, with the field indexer that this has: that may be another one.
func (c *connection) standInCache() *cache.Cache {
	var found *cache.Cache
	if s, ok := answering[interface{ GetCache() *cache.Cache }](c); ok {
		found = s.GetCache()
	}
	if found == nil {
		found = c.standIn.cache()
	}
	if s, ok := answering[interface{ GetFieldIndexer() cache.FieldIndexer }](c); ok {
		if indexer := s.GetFieldIndexer(); indexer != nil {
			return cache.Of(indexedBy{found, indexer})
		}
	}
	return found
}

// connected is a connection as a stand-in.
type connected struct{ to Connection }

// GetClient is what [Of] asks for, as all of these are.
func (c connected) GetClient() client.Client       { return c.to.Client() }
func (c connected) GetAPIReader() client.Reader    { return c.to.APIReader() }
func (c connected) GetCache() *cache.Cache         { return c.to.Cache() }
func (c connected) GetScheme() *runtime.Scheme     { return c.to.Scheme() }
func (c connected) GetRESTMapper() meta.RESTMapper { return c.to.RESTMapper() }
func (c connected) GetConfig() *rest.Config        { return c.to.Config() }
func (c connected) GetHTTPClient() *http.Client    { return c.to.HTTPClient() }
func (c connected) GetEventRecorder(controller string) *events.Recorder {
	return c.to.EventRecorder(controller)
}
func (c connected) GetEventRecorderFor(controller string) *events.Recorder {
	return c.to.EventRecorderFor(controller)
}

// indexedBy is a cache whose fields are indexed by something else.
type indexedBy struct {
	*cache.Cache
	indexer cache.FieldIndexer
}

// IndexField implements cache.FieldIndexer.
func (c indexedBy) IndexField(ctx context.Context, prototype object.Object, field string, values cache.IndexerFunc) error {
	return c.indexer.IndexField(ctx, prototype, field, values)
}
