package cache

import (
	"runtime"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Selects reports whether a scope selects an object, and whether that is certain.
var Selects = selects

// SetBounds limits how many writes are remembered for each kind that is declared later.
func (c *Cache) SetBounds(unheld, past int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = writes.Limits{Entries: unheld, Past: past}
}

// Open returns the number of writes that the stores have not yet caught up with.
func (i *Informer) Open() (open int) {
	for _, p := range i.in("") {
		open += int(p.tracker.Open())
	}
	return open
}

// HoldTrackers blocks the recording of a kind's writes until release is called.
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

// AwaitWriter returns once a goroutine that records a write holds the lock.
func (c *Cache) AwaitWriter() {
	for c.mu.TryLock() {
		c.mu.Unlock()
		runtime.Gosched()
	}
}

// ScopeOf returns the scope of the kind in a namespace.
func (o KindOptions) ScopeOf(namespace string) client.Scope { return o.scope(namespace, Options{}) }
