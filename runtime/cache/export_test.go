package cache

import (
	"runtime"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Selects reports whether a cache waits for a write.
var Selects = selects

// SetBounds limits how many writes later declared kinds remember, instead of the defaults.
func (c *Cache) SetBounds(unheld, past int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = writes.Limits{Entries: unheld, Past: past}
}

// Open returns how many writes the stores have not caught up with.
func (i *Informer) Open() (open int) {
	for _, p := range i.in("") {
		open += int(p.tracker.Open())
	}
	return open
}

// HoldTrackers keeps the writes of a kind from being recorded until release is called.
func (c *Cache) HoldTrackers(gvk schema.GroupVersionKind) (release func()) {
	held, end := make(chan struct{}), make(chan struct{})
	parts := c.declared(gvk).in("")
	for _, p := range parts {
		go p.tracker.Applied("", func(func(object.Object, bool) bool) {
			held <- struct{}{}
			<-end
		})
	}
	for range parts {
		<-held
	}
	return func() { close(end) }
}

// AwaitWriter returns when a write is being recorded.
func (c *Cache) AwaitWriter() {
	for c.mu.TryLock() {
		c.mu.Unlock()
		runtime.Gosched()
	}
}

// ScopeOf returns the scope of the kind in a namespace.
func (o KindOptions) ScopeOf(namespace string) client.Scope { return o.scope(namespace, Options{}) }
