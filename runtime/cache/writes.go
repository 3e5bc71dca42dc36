package cache

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
)

// written makes the stores catch up with w before they are read.
func (s *state) written(ctx context.Context, w writes.Write) {
	tracked := writes.TrackedIn(ctx)
	kind := storedAs(w.GVK.GroupKind())
	floor := s.floor(kind)
	s.mu.RLock()
	defer s.mu.RUnlock()
	for gvk, i := range s.informers {
		if storedAs(gvk.GroupKind()) != kind {
			continue
		}
		for _, part := range i.in(w.Key.Namespace) {
			for _, unseen := range part.ledger.note(w) {
				tracked.Add(i.patience, func(seen func()) bool { return part.ledger.await(unseen, &waiter{wake: seen}) })
			}
		}
	}
	floor.add(w, s.bounds.unheld)
}

// floor returns the floor of a kind as the server keeps it, and makes it for the first write.
func (s *state) floor(kind schema.GroupKind) *floor {
	s.mu.RLock()
	known := s.floors[kind]
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.floors[kind] == nil {
		s.floors[kind] = &floor{}
	}
	return s.floors[kind]
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
	mu      sync.Mutex
	version string // the last
	// vague are the writes of which the version is not known; lost is that there were more than can be remembered.
	vague []writes.Write
	lost  bool
}

func (f *floor) add(w writes.Write, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = newer(f.version, w.ResourceVersion)
	if f.lost || !w.Unknown && !w.Gone && !w.Ending {
		return
	}
	if len(f.vague) == most {
		// Bounded for kinds that are written for ever and never declared.
		f.vague, f.lost = nil, true
		return
	}
	// Nothing that a ledger does not look at, such as what was sent: that may be a megabyte.
	f.vague = append(f.vague, writes.Write{
		GVK: w.GVK, Key: w.Key, UID: w.UID, Gone: w.Gone, Ending: w.Ending, Before: w.Before, Unknown: w.Unknown,
	})
}

// lay makes a new ledger one of what was written before.
func (f *floor) lay(l *ledger) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.note(writes.Write{ResourceVersion: f.version})
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
	// Versions are numbers without leading zeros: the longer is the later.
	if len(a) != len(b) {
		if len(a) > len(b) {
			return a
		}
		return b
	}
	return max(a, b)
}
