// Package blocked lets a handler that waits, for example for an answer of the API server, report the reason in the
// readiness of its controller. A source passes [Reasons] to handlers in the context. They add reasons with [Because].
package blocked

import (
	"context"
	"slices"
	"sync"
)

// Reasons are the reasons why handlers of a source wait. The zero value is empty. It is safe for concurrent use.
type Reasons struct {
	mu  sync.Mutex
	all []*error // in the order in which they were added
}

// Err returns the oldest reason, or nil if no handler waits.
func (r *Reasons) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return nil
	}
	return *r.all[0]
}

type key struct{}

// Into returns a context whose handlers add their reasons to r.
func Into(ctx context.Context, r *Reasons) context.Context { return context.WithValue(ctx, key{}, r) }

// Because adds err to the reasons of ctx, if it has any, until over is called. Further calls of over do nothing.
func Because(ctx context.Context, err error) (over func()) {
	r, _ := ctx.Value(key{}).(*Reasons)
	if r == nil {
		return func() {}
	}
	reason := &err
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, reason)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(other *error) bool { return other == reason })
	}
}
