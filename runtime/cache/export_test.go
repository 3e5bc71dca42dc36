package cache

import (
	"runtime"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Selects is what a cache takes a write for that it has to catch up with, or not.
var Selects = selects

// SetBounds makes the kinds that are declared from now on remember so much, instead of what is enough in life.
func (c *Cache) SetBounds(unheld, past int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bounds = bounds{unheld: unheld, past: past}
}

// Open returns how many writes the stores have not caught up with.
func (i *Informer) Open() (open int) {
	for _, p := range i.in("") {
		open += int(p.ledger.open.Load())
	}
	return open
}

// HoldLedgers lets no write of a kind be noted until release is called.
func (c *Cache) HoldLedgers(gvk schema.GroupVersionKind) (release func()) {
	parts := c.declared(gvk).in("")
	for _, p := range parts {
		p.ledger.mu.Lock()
	}
	return func() {
		for _, p := range parts {
			p.ledger.mu.Unlock()
		}
	}
}

// AwaitWriter returns when a write is being noted.
func (c *Cache) AwaitWriter() {
	for c.mu.TryLock() {
		c.mu.Unlock()
		runtime.Gosched()
	}
}
