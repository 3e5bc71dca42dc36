package cache

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// written makes the stores catch up with w before they are read.
func (c *Cache) written(ctx context.Context, w client.Write) {
	tracked, _ := ctx.Value(trackedKey{}).(*Writes)
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := storedAs(w.GVK.GroupKind())
	for gvk, i := range c.informers {
		if storedAs(gvk.GroupKind()) != kind {
			continue
		}
		for _, part := range i.in(w.Key.Namespace) {
			unseen := part.ledger.note(w)
			tracked.add(part.ledger, unseen, i.patience)
		}
	}
	if c.floors[kind] == nil {
		c.floors[kind] = &floor{}
	}
	c.floors[kind].add(w, c.bounds.unheld)
}

// storedAs returns the kind under which the server keeps the objects of a kind, which it shows in the other group too.
func storedAs(kind schema.GroupKind) schema.GroupKind {
	if kind == (schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}) {
		kind.Group = ""
	}
	return kind
}

// floor is what of a kind was written, for the parts that come later: those of kinds that nobody has declared yet, and of
// namespaces that are added.
type floor struct {
	version string // the last
	// vague are the writes of which the version is not known; lost is that there were more than can be remembered.
	vague []client.Write
	lost  bool
}

func (f *floor) add(w client.Write, most int) {
	f.version = newer(f.version, w.ResourceVersion)
	if !w.Unknown && !w.Gone && !w.Ending {
		return
	}
	if len(f.vague) == most {
		f.vague, f.lost = nil, true
	}
	w.Object, w.ResourceVersion = nil, ""
	f.vague = append(f.vague, w)
}

// lay makes a new ledger one of what was written before.
func (f *floor) lay(l *ledger) {
	if f == nil {
		return
	}
	l.note(client.Write{ResourceVersion: f.version})
	for _, w := range f.vague {
		if l.scope.Namespace == "" || l.scope.Namespace == w.Key.Namespace {
			l.note(w)
		}
	}
	if f.lost {
		l.forgetAll()
	}
}

// newer returns the later of two versions, either of which may be empty.
func newer(a, b string) string {
	if len(a) != len(b) {
		if len(a) > len(b) {
			return a
		}
		return b
	}
	return max(a, b)
}

// Writes are the writes that were made with one context and that the caches have not caught up with when they were made.
// All methods are safe for concurrent use.
type Writes struct {
	mu      sync.Mutex
	unseen  []tracked
	timeout time.Duration
}

// tracked is a write and whose it is.
type tracked struct {
	ledger *ledger
	write  *write
}

type trackedKey struct{}

// TrackWrites returns a context whose writes are collected in writes, by all consistent caches that are told of them.
func TrackWrites(ctx context.Context) (tracking context.Context, writes *Writes) {
	writes = &Writes{}
	return context.WithValue(ctx, trackedKey{}, writes), writes
}

func (w *Writes) add(l *ledger, unseen []*write, timeout time.Duration) {
	if w == nil || len(unseen) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeout = max(w.timeout, timeout)
	for _, u := range unseen {
		w.unseen = append(w.unseen, tracked{l, u})
	}
}

// WhenSeen lets seen be called once, when the caches have caught up with the writes that were made until now. It must not
// block. When they have already, WhenSeen returns false and seen is not called.
func (w *Writes) WhenSeen(seen func()) bool {
	w.mu.Lock()
	unseen := w.unseen
	w.unseen = nil
	w.mu.Unlock()
	return awaitAll(unseen, seen)
}

// awaitAll lets seen be called after the last of unseen. It returns false when there is nothing to wait for.
func awaitAll(unseen []tracked, seen func()) bool {
	for n, u := range unseen {
		next := func() {
			if !awaitAll(unseen[n+1:], seen) {
				seen()
			}
		}
		if u.ledger.await(u.write, &waiter{wake: next}) {
			return true
		}
	}
	return false
}

// Timeout is how long a read would wait for the writes.
func (w *Writes) Timeout() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timeout
}
