// Package synced implements the method HasSyncedChecker for every version of client-go. Versions before v0.36 lack its
// result type, so this package cannot name the type; the compiler infers it.
package synced

import (
	toolscache "k8s.io/client-go/tools/cache"
)

// Syncer reports whether a component has synced. Since v0.36, client-go defines its last two methods as DoneChecker.
type Syncer interface {
	HasSynced() bool
	// Name returns the name for logs.
	Name() string
	// Done returns a channel that is closed when the component has synced.
	Done() <-chan struct{}
}

// Registration returns s as a registration of client-go.
func Registration(s Syncer) toolscache.ResourceEventHandlerRegistration {
	return withChecker(anyVersion{}, s).(toolscache.ResourceEventHandlerRegistration)
}

// withChecker infers the result of HasSyncedChecker from its first argument.
func withChecker[C any](_ interface{ HasSyncedChecker() C }, s Syncer) any { return registration[C]{s} }

type registration[C any] struct{ Syncer }

// HasSyncedChecker returns the checker of the registration.
func (r registration[C]) HasSyncedChecker() C { return r.Syncer.(C) }

// anyVersion has client-go's method. With an older client-go, it has the method of older, which is embedded more
// deeply.
type anyVersion struct {
	toolscache.ResourceEventHandlerRegistration
	embedded
}

type embedded struct{ older }

type older struct{}

// HasSyncedChecker is never called.
func (older) HasSyncedChecker() any { return nil }
