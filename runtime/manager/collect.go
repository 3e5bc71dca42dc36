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

// Collection configures the manager that a setup function receives from [Manager.Collect].
type Collection struct {
	// Enabled reports whether the named controller is built. The builders of package controller skip other controllers and
	// declare no kinds for them. Nil means that all controllers are built.
	Enabled func(name string) bool
	// Live is the live client of the manager that setup receives. Nil means the live client of m.
	Live *client.REST
	// Workers is the default number of workers of controllers. Zero means the default of m.
	Workers int
	// Owner identifies the setup in repeated calls of Collect. The webhooks, conversions, pages and checks that setup adds
	// replace the additions of earlier calls with the same Owner, and checks that it no longer adds are removed. Without
	// an Owner, a duplicate is an error.
	Owner server.Owner
}

// Collect calls setup with a manager that does not run the runnables that setup adds; it returns them, and the caller
// must run them. All other methods of that manager are the methods of m. Runnables that setup adds to a [Cluster] are
// not returned, and m runs them.
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

// collector is the manager of a setup function, see [Manager.Collect].
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

// Run returns an error, because setup must not run the manager.
func (c *collector) Run(context.Context) error {
	return errors.New("a function that sets up a manager cannot run it")
}

func (c *collector) Client() client.Client {
	if c.as.Live == nil {
		return c.Manager.Client()
	}
	return client.NewClient(cache.Reader{Cache: c.cache, Live: c.as.Live}, c.as.Live)
}

func (c *collector) Live() *client.REST       { return cmp.Or(c.as.Live, c.Manager.Live()) }
func (c *collector) Enabled(name string) bool { return c.as.Enabled == nil || c.as.Enabled(name) }
func (c *collector) Owner() server.Owner      { return c.as.Owner }

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
	c.healthz.Add(c.as.Owner, name, check)
}

func (c *collector) AddReadyz(name string, check func(*http.Request) error) {
	c.readyz.Add(c.as.Owner, name, check)
}
