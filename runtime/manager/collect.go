package manager

import (
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Collection is what a function that sets up a manager sees of it when what it adds is collected, see [Manager.Collect].
type Collection struct {
	// Enabled says by their names which controllers the builders of the package controller make; they leave out the others, and
	// declare nothing for them. Nil is all.
	Enabled func(name string) bool
	// Live is the client that the manager has then. Nil is that of the manager.
	Live *client.REST
	// Workers is the number of workers of controllers that say none. Zero is that of the manager.
	Workers int
	// Owner is who sets up. What it sets up beside runnables (webhooks, conversions, pages, checks) takes the place of what an
	// earlier build of it has set up, and checks that it does not set up any more are gone. For nobody what is taken is taken.
	Owner server.Owner
}

// collection is what such a function has added.
type collection struct {
	owner   server.Owner
	enabled func(name string) bool // nil is all

	mu    sync.Mutex
	added []Runnable
}

func (c *collection) add(r Runnable) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, r)
}

// Collect calls setup with a manager that is m, save that what is added to it is returned and not run, so that the caller can
// have it run in another way. What setup adds to a [Cluster] is not collected.
func (m *Manager) Collect(as Collection, setup func(*Manager) error) ([]Runnable, error) {
	m = m.root()
	c := &collection{owner: as.Owner, enabled: as.Enabled}
	view := m.view()
	view.collection = c
	if as.Workers > 0 {
		view.opts.MaxConcurrentReconciles, view.opts.GroupKindConcurrency = as.Workers, nil
	}
	if as.Live != nil {
		own := *m.connection
		own.live, own.client = as.Live, client.NewClient(cache.Reader{Cache: m.cache, Live: as.Live}, as.Live)
		view.connection = &own
	}
	err := setup(view)
	if err == nil {
		m.healthz.dropBefore(as.Owner)
		m.readyz.dropBefore(as.Owner)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added, err
}

// Enabled reports whether a controller of that name is wanted: all are, but for what [Manager.Collect] says.
func (m *Manager) Enabled(name string) bool {
	return m.collection == nil || m.collection.enabled == nil || m.collection.enabled(name)
}

// Owner returns who sets up, see [Collection].
func (m *Manager) Owner() (owner server.Owner) {
	if m.collection != nil {
		owner = m.collection.owner
	}
	return owner
}

// root returns the manager that runs what is added.
func (m *Manager) root() *Manager {
	if m.of != nil {
		return m.of
	}
	return m
}

// view returns a manager of which what is added, and all else that is asked of one, goes to m.
func (m *Manager) view() *Manager {
	return &Manager{
		connection: m.connection, opts: m.opts, logger: m.logger, system: m.system, metrics: m.metrics,
		healthz: m.healthz, readyz: m.readyz, pages: m.pages, of: m.root(), collection: m.collection,
	}
}
