package client

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	minReload = 250 * time.Millisecond
	maxReload = 2 * time.Second
)

// lazy is a document of the API server that is loaded when it is first needed, and again when what is looked for is not
// in it. Loads that find nothing new are spaced, at growing intervals, so that a missing kind costs the server little
// however often it is asked for; waiters share one load.
type lazy[T any] struct {
	load func(ctx context.Context) (*T, error)

	current atomic.Pointer[T]
	turn    chan struct{} // holds one token, taken by who loads
	// The fields below belong to the holder of the token.
	misses int       // lookups in a row that a load did not satisfy
	next   time.Time // no load before this, unless there is nothing to look in
}

func newLazy[T any](load func(ctx context.Context) (*T, error)) *lazy[T] {
	l := &lazy[T]{load: load, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// lookup returns what find finds in the document, which it loads or reloads for that when it must and may. found is
// false when it is not there; err is why the document could not be loaded.
func lookup[T, R any](ctx context.Context, l *lazy[T], find func(*T) (R, bool)) (result R, found bool, err error) {
	if doc := l.current.Load(); doc != nil {
		if result, found = find(doc); found {
			return result, true, nil
		}
	}
	select {
	case <-l.turn:
	case <-ctx.Done():
		return result, false, ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	doc := l.current.Load()
	if doc != nil {
		if result, found = find(doc); found || time.Now().Before(l.next) {
			return result, found, nil
		}
	}
	if doc, err = l.load(ctx); err != nil {
		return result, false, err
	}
	l.current.Store(doc)
	if result, found = find(doc); found {
		l.misses, l.next = 0, time.Time{}
		return result, true, nil
	}
	l.next = time.Now().Add(min(minReload<<min(l.misses, 10), maxReload))
	l.misses++
	return result, false, nil
}

// forget makes the next lookup load the document again.
func (l *lazy[T]) forget() { l.current.Store(nil) }
