package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Open returns the source of one kind in one namespace; "" is all namespaces, and the only one of a cluster-scoped kind.
// It makes no request and must not call the informer or the factory that it is for.
type Open[T object.Object] func(namespace string) (ListerWatcher[T], error)

// FromClient returns how to open the kind of prototype with c. The selectors of scope hold in each namespace.
func FromClient[T object.Object](c *client.REST, prototype T, scope client.Scope) Open[T] {
	return func(namespace string) (ListerWatcher[T], error) {
		scope.Namespace = namespace
		return client.NewListWatcher(c, prototype, scope)
	}
}

// Scoped is the informer of one kind in several namespaces, as if it were one informer: each namespace has a list, a
// watch and a store of its own, so one that cannot be read holds up no other. Namespaces can be added and removed at any
// time. All methods are safe for concurrent use.
type Scoped[T object.Object] struct {
	open   Open[T]
	opts   Options[T]
	synced *latch[*part[T]]

	// mu makes one step of changing parts and handlers, so that each handler is at each part. The mutexes of the parts
	// are taken under it, never the other way round.
	mu       sync.Mutex
	stage    stage
	ended    chan struct{}       // closed when stage is ended
	parts    map[string]*part[T] // by namespace
	handlers map[*scopedHandler[T]]struct{}
	indexes  []Indexer[T]
	start    func(p *part[T]) // runs a part; set while stage is running
}

// part is the informer of one namespace.
type part[T object.Object] struct {
	*Informer[T]
	stop context.CancelFunc // ends Run; nil before it was started
	done chan struct{}      // closed when Run has returned
}

// NewScoped returns an informer of what open has in namespaces; none means no namespace yet, and "" means all. It starts
// nothing: [Scoped.Run] does. It fails when open does, and when "" is one of several namespaces.
func NewScoped[T object.Object](open Open[T], namespaces []string, opts Options[T]) (*Scoped[T], error) {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	s := &Scoped[T]{
		open:     open,
		opts:     opts,
		ended:    make(chan struct{}),
		synced:   newLatch[*part[T]](),
		parts:    make(map[string]*part[T]),
		handlers: make(map[*scopedHandler[T]]struct{}),
		indexes:  slices.Clone(opts.Indexes),
	}
	for _, namespace := range namespaces {
		if err := s.AddNamespace(namespace); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Namespaces returns the namespaces in scope, in order.
func (s *Scoped[T]) Namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.parts)
}

// AddNamespace takes a namespace into scope, for all handlers and indexes: the handlers are told of what exists there as
// Added events with Initial set. Adding one that is in scope, or any after Run, does nothing. It fails when the kind cannot be opened
// there, and when all namespaces are in scope and one is to be added, or the other way round.
func (s *Scoped[T]) AddNamespace(namespace string) error {
	source, err := s.open(namespace)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.parts[namespace]
	_, hasAll := s.parts[""]
	switch {
	case has || s.stage == ended:
		return nil
	case hasAll, namespace == "" && len(s.parts) > 0:
		return fmt.Errorf("%s: one namespace and all namespaces cannot be in scope at once", s.opts.Name)
	}
	opts := s.opts
	opts.Namespace, opts.Indexes = namespace, s.indexes
	p := &part[T]{Informer: New(source, opts), done: make(chan struct{})}
	s.parts[namespace] = p
	for h := range s.handlers {
		h.join(p)
	}
	s.synced.add(p)
	if s.stage == running {
		s.start(p)
	}
	return nil
}

// RemoveNamespace takes a namespace out of scope. The handlers are not told, since nothing was deleted; they are just not
// called for another event of that namespace. wait blocks until nothing of it runs any more, a call of a handler that is
// under way included, so a handler must not call it.
func (s *Scoped[T]) RemoveNamespace(namespace string) (wait func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.parts[namespace]
	if !ok {
		return func() {}
	}
	delete(s.parts, namespace)
	for h := range s.handlers {
		h.leave(p)
	}
	s.synced.release(p)
	p.metrics.objects.Set(0, p.label) // and not its function, which would hold the store
	if p.stop == nil {
		return func() {}
	}
	p.stop()
	return func() { <-p.done }
}

// AddIndex is [Informer.AddIndex] for all namespaces, those to come included.
func (s *Scoped[T]) AddIndex(ix Indexer[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.indexes, ix) {
		s.indexes = append(slices.Clone(s.indexes), ix)
	}
	for _, p := range s.parts {
		p.AddIndex(ix)
	}
}

// Lister returns a lister of all namespaces in scope.
func (s *Scoped[T]) Lister() Lister[T] { return newLister[T](s, s.opts.Name) }

// Store returns the store of a namespace in scope.
func (s *Scoped[T]) Store(namespace string) (Store[T], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.parts[namespace]
	if !ok {
		return Store[T]{}, false
	}
	return p.Informer.Store(), true
}

// Synced is closed when the stores of all namespaces that were in scope until then hold a first complete state.
func (s *Scoped[T]) Synced() <-chan struct{} { return s.synced.done }

// Wait blocks until [Scoped.Synced] is closed. If ctx or Run ends earlier, the error says which namespaces have not synced,
// and why, and has the error of ctx or [ErrEnded], and each *[SyncError].
func (s *Scoped[T]) Wait(ctx context.Context) error {
	return waitFor(ctx, s.Synced(), s.ended, s.unsynced)
}

// Err returns why the stores are not in step with the source: a *[SyncError] for each namespace that is not, joined, or
// nil.
func (s *Scoped[T]) Err() error {
	var all []error
	for _, p := range s.sortedParts() {
		all = append(all, p.Informer.Err())
	}
	return errors.Join(all...)
}

// unsynced returns what is awaited, and why.
func (s *Scoped[T]) unsynced() []error {
	var all []error
	for _, p := range s.sortedParts() {
		if !isDone(p.Informer.Synced()) {
			all = append(all, notSynced(p.label, p.Informer.Err()))
		}
	}
	return all
}

func (s *Scoped[T]) sortedParts() []*part[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*part[T]
	for _, namespace := range sortedKeys(s.parts) {
		all = append(all, s.parts[namespace])
	}
	return all
}

func (s *Scoped[T]) stores(namespace string) []Store[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if namespace != "" {
		if p, ok := s.parts[namespace]; ok {
			return []Store[T]{p.Informer.Store()}
		}
		if p, ok := s.parts[""]; ok {
			return []Store[T]{p.Informer.Store()}
		}
		return nil
	}
	all := make([]Store[T], 0, len(s.parts))
	for _, namespace := range sortedKeys(s.parts) {
		all = append(all, s.parts[namespace].Informer.Store())
	}
	return all
}

// Run runs the informers of all namespaces, also of those that are added while it runs, until ctx ends. It returns nil
// after the last goroutine has ended and the last handler has returned. It can be called once, and returns
// ErrAlreadyRun otherwise.
func (s *Scoped[T]) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	if !s.begin(ctx, &workers) {
		return ErrAlreadyRun
	}
	<-ctx.Done()
	s.mu.Lock()
	s.stage = ended
	close(s.ended)
	for h := range s.handlers {
		h.done.arm()
	}
	s.mu.Unlock()
	workers.Wait()
	return nil
}

func (s *Scoped[T]) begin(ctx context.Context, workers *sync.WaitGroup) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != created {
		return false
	}
	s.stage = running
	s.start = func(p *part[T]) {
		var partCtx context.Context
		partCtx, p.stop = context.WithCancel(ctx)
		workers.Go(func() {
			defer close(p.done)
			_ = p.Informer.Run(partCtx) // fails only when run twice
		})
		workers.Go(func() {
			select {
			case <-p.Informer.Synced():
				s.synced.release(p)
			case <-partCtx.Done():
			}
		})
	}
	for _, p := range s.parts {
		s.start(p)
	}
	s.synced.arm()
	for h := range s.handlers {
		h.synced.arm()
	}
	return true
}
