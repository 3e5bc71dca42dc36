package cache

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// written records w in the trackers of its kind, for all API versions of the kind.
func (s *Cache) written(ctx context.Context, w writes.Write) {
	tracked := writes.TrackedIn(ctx)
	s.mu.RLock()
	defer s.mu.RUnlock()
	kind := writes.StoredAs(w.GVK.GroupKind())
	for gvk, i := range s.informers {
		if writes.StoredAs(gvk.GroupKind()) != kind {
			continue
		}
		for _, part := range i.in(w.Key.Namespace) {
			for _, entry := range part.tracker.Record(w) {
				tracked.Add(i.patience, func(seen func()) bool {
					_, waits := part.tracker.Await(entry, seen)
					return waits
				})
			}
		}
	}
}

// selector returns the function that reports whether scope selects an object, or nil if scope selects all objects.
func selector(scope client.Scope) func(object.Object) (selected, certain bool) {
	if scope.Labels == nil && scope.Fields == nil {
		return nil
	}
	return func(o object.Object) (selected, certain bool) { return selects(scope, o) }
}
