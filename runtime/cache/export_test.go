package cache

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
