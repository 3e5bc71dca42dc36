package informer

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Private keeps a store in step with a resource for one handler, which it calls itself: there is no goroutine and no
// buffer between the store and the handler. While the handler works the store stands still, and what happens waits in
// the [DeltaFIFO], compressed if it becomes much. All methods are safe for concurrent use.
type Private[T object.Object] struct {
	core[T]
	handler Handler[T]
	synced  chan struct{}
	ended   chan struct{} // closed when Run has returned
	run     atomic.Bool

	mu sync.Mutex // held while the store changes
}

// NewPrivate returns an informer of what lw has, for h alone. It starts nothing: [Private.Run] does.
func NewPrivate[T object.Object](lw ListerWatcher[T], h Handler[T], opts Options[T]) *Private[T] {
	return &Private[T]{core: newCore(lw, opts), handler: h, synced: make(chan struct{}), ended: make(chan struct{})}
}

// Synced is closed when the handler has returned from the last event of the first complete state.
func (p *Private[T]) Synced() <-chan struct{} { return p.synced }

// Wait is [Informer.Wait].
func (p *Private[T]) Wait(ctx context.Context) error {
	return waitFor(ctx, p.synced, p.ended, func() []error { return []error{notSynced(p.label, p.Err())} })
}

// AddIndex is [Informer.AddIndex].
func (p *Private[T]) AddIndex(ix Indexer[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.contents.addIndex(ix)
}

// Run keeps the store in step and calls the handler until ctx ends, and then returns nil after the handler has returned
// and its last goroutine has ended. It can be called once, and returns ErrAlreadyRun otherwise.
func (p *Private[T]) Run(ctx context.Context) error {
	if p.run.Swap(true) {
		return ErrAlreadyRun
	}
	defer close(p.ended)
	synced := false
	p.follow(ctx, func(deltas Deltas[T]) {
		first := deltas[0].Type == Replaced && !synced
		if p.deliver(ctx, deltas, first) && first {
			synced = true
			close(p.synced)
		}
	})
	p.detector.check()
	return nil
}

// deliver applies deltas and tells the handler. It reports whether that was done before ctx ended.
func (p *Private[T]) deliver(ctx context.Context, deltas Deltas[T], first bool) bool {
	p.mu.Lock()
	events := p.contents.advance(deltas)
	p.mu.Unlock()
	if first {
		events.markInitial()
	}
	for chunk := range events.chunks() {
		for _, e := range chunk {
			if ctx.Err() != nil {
				return false
			}
			p.handler(e)
		}
	}
	return true
}
