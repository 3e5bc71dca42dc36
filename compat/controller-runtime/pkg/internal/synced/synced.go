// Package synced gives handlers the method HasSyncedChecker with every version of client-go. Its result has a type that
// versions before v0.36 lack, so no code can name it; the compiler infers it.
package synced

import (
	toolscache "k8s.io/client-go/tools/cache"
)

// Syncer has synced or not. From v0.36 on, client-go has its last two methods as DoneChecker.
type Syncer interface {
	HasSynced() bool
	// Name is the name for logs.
	Name() string
	// Done returns a channel that is closed when it has synced.
	Done() <-chan struct{}
}

// Registration returns s as client-go has it.
func Registration(s Syncer) toolscache.ResourceEventHandlerRegistration {
	return withChecker(anyVersion{}, s).(toolscache.ResourceEventHandlerRegistration)
}

// withChecker infers the result of HasSyncedChecker from its first argument.
func withChecker[C any](_ interface{ HasSyncedChecker() C }, s Syncer) any { return registration[C]{s} }

type registration[C any] struct{ Syncer }

// HasSyncedChecker returns what is done when the registration has synced.
func (r registration[C]) HasSyncedChecker() C { return r.Syncer.(C) }

// anyVersion has the method of client-go or, with an older version, that of older, which is embedded more deeply.
type anyVersion struct {
	toolscache.ResourceEventHandlerRegistration
	embedded
}

type embedded struct{ older }

type older struct{}

// HasSyncedChecker is never called.
func (older) HasSyncedChecker() any { return nil }
