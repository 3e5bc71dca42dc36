package manager

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Collection is what a function that sets up a manager sees of it when what it adds is collected, see
// [Manager.Collect].
type Collection struct {
	// Enabled says by their names which controllers the builders of the package controller make; they leave out the
	// others, and declare nothing for them. Nil is all.
	Enabled func(name string) bool
	// Live is the client that the manager has then. Nil is that of the manager.
	Live *client.REST
	// Workers is the number of workers of controllers that say none. Zero is that of the manager.
	Workers int
	// Owner is who sets up. What it sets up beside runnables (webhooks, conversions, pages, checks) takes the place
	// of what an earlier build of it has set up, and checks that it does not set up any more are gone. For nobody
	// what is taken is taken.
	Owner server.Owner
}

// Collect calls setup with a manager that returns from Collect what setup adds, and does not run it: the caller does.
// All other methods are those of m. What setup adds to a [Cluster] is not collected.
func (m *Manager) Collect(as Collection, setup func(controller.Manager) error) ([]Runnable, error) {
	c := &collector{Manager: m, as: as}
	err := setup(c)
	if err == nil {
		m.healthz.DropBefore(as.Owner)
		m.readyz.DropBefore(as.Owner)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added, err
}

// collector is the manager of a function that sets up, see [Manager.Collect].
type collector struct {
	*Manager
	as Collection

	mu    sync.Mutex
	added []Runnable
}

func (c *collector) Add(r Runnable) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, r)
	return nil
}

// Run fails: setup must not run the manager.
func (c *collector) Run(context.Context) error {
	return errors.New("a function that sets up a manager cannot run it")
}

func (c *collector) Client() client.Client {
	if c.as.Live == nil {
		return c.Manager.Client()
	}
	return client.NewClient(cache.Reader{Cache: c.cache, Live: c.as.Live}, c.as.Live)
}

func (c *collector) Live() *client.REST { return cmp.Or(c.as.Live, c.Manager.Live()) }

func (c *collector) Enabled(name string) bool { return c.as.Enabled == nil || c.as.Enabled(name) }

func (c *collector) Owner() server.Owner { return c.as.Owner }

func (c *collector) MaxConcurrentReconciles() int {
	return cmp.Or(max(0, c.as.Workers), c.Manager.MaxConcurrentReconciles())
}

func (c *collector) Concurrency(kind schema.GroupKind) int {
	if c.as.Workers > 0 {
		return 0
	}
	return c.Manager.Concurrency(kind)
}

func (c *collector) Handle(path string, h http.Handler) error {
	return c.pages.Add(c.as.Owner, path, h)
}

func (c *collector) AddHealthz(name string, check func(*http.Request) error) {
	c.healthz.Set(c.as.Owner, name, check)
}

func (c *collector) AddReadyz(name string, check func(*http.Request) error) {
	c.readyz.Set(c.as.Owner, name, check)
}
