package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Open returns an informer of one kind with the given options. The informer covers the namespace in the options; ""
// means all namespaces, and is the only value for a cluster-scoped kind. Open must not send requests, and must not call
// the informer or the factory that calls it.
type Open[T object.Object] func(Options[T]) (*Informer[T], error)

// FromClient returns an Open for the kind of prototype that uses c. The selectors of scope apply in each namespace.
func FromClient[T object.Object](c *client.REST, prototype T, scope client.Scope) Open[T] {
	return func(opts Options[T]) (*Informer[T], error) {
		scope.Namespace = opts.Namespace
		source, err := client.NewListWatcher(c, prototype, scope)
		if err != nil {
			return nil, err
		}
		return New(source, opts), nil
	}
}

// Scoped is the informer of one kind in several namespaces. It behaves like one informer, but consists of an informer
// per namespace, so a namespace that cannot be read delays no other namespace. Its [Factory] runs it, and can add and
// remove namespaces at any time. It is safe for concurrent use.
type Scoped[T object.Object] struct {
	open   Open[T]
	opts   Options[T]
	others bool // the informer of "" has the objects of the namespaces without an informer
	synced *latch[*Informer[T]]

	// informers are the informers, ordered by namespace: one informer per namespace, and possibly one for all namespaces
	// or for all remaining ones. The slice is replaced under mu, never modified.
	informers atomic.Pointer[[]*Informer[T]]

	// mu makes changes of informers and handlers atomic, so that each handler is registered with each informer. Lock
	// order: mu, then the mutexes of the informers.
	mu       sync.Mutex
	stage    stage
	ended    chan struct{} // closed when stage is ended
	handlers map[*scopedHandler[T]]struct{}
	indexes  []Indexer[T]
	start    func(i *Informer[T]) // runs an informer; set while stage is running
}

// newScoped returns an informer for namespaces. No namespaces means none yet, and "" means all. newScoped starts no
// goroutine; begin does. It fails if open fails. If namespaces has "" together with others, open must exclude the
// objects of the other namespaces from the informer for "".
func newScoped[T object.Object](open Open[T], namespaces []string, opts Options[T]) (*Scoped[T], error) {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	s := &Scoped[T]{
		open:     open,
		opts:     opts,
		others:   len(namespaces) > 1 && slices.Contains(namespaces, ""),
		ended:    make(chan struct{}),
		synced:   newLatch[*Informer[T]](),
		handlers: make(map[*scopedHandler[T]]struct{}),
		indexes:  slices.Clone(opts.Indexes),
	}
	s.informers.Store(new([]*Informer[T]))
	for _, namespace := range namespaces {
		if err := s.addNamespace(namespace); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// In returns the informers that together cover a namespace, or all namespaces if it is "", ordered by namespace. Use it
// for questions about single namespaces, such as why one has not synced. It returns none if the namespace is not
// covered. The caller must not modify the slice or run the informers.
func (s *Scoped[T]) In(namespace string) []*Informer[T] {
	all := *s.informers.Load()
	if namespace == "" {
		return all
	}
	n, ok := find(all, namespace)
	switch {
	case ok:
		return all[n : n+1 : n+1]
	case len(all) > 0 && all[0].namespace == "":
		return all[:1:1]
	}
	return nil
}

// find returns the index at which the informer of a namespace is or would be, and whether it exists.
func find[T object.Object](informers []*Informer[T], namespace string) (int, bool) {
	return slices.BinarySearchFunc(informers, namespace, func(i *Informer[T], namespace string) int {
		return cmp.Compare(i.namespace, namespace)
	})
}

// addNamespace adds a namespace to all handlers and indexes. The handlers receive its objects as Added events with
// Initial set. It does nothing if the namespace is already covered, or after Run. It fails if open fails, if s covers
// all namespaces and namespace is a single one, and in the opposite case.
func (s *Scoped[T]) addNamespace(namespace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.In("")
	n, has := find(all, namespace)
	switch {
	case has || s.stage == ended:
		return nil
	case !s.others && len(all) > 0 && (namespace == "" || all[0].namespace == ""):
		return fmt.Errorf("%s: one namespace and all namespaces cannot be in scope at once", s.opts.Name)
	}
	opts := s.opts
	opts.Namespace, opts.Indexes = namespace, s.indexes
	i, err := s.open(opts)
	if err != nil {
		return err
	}
	s.synced.add(i)
	i.onSynced = func() { s.synced.release(i) }
	for h := range s.handlers {
		h.join(i)
	}
	all = slices.Insert(slices.Clone(all), n, i)
	s.informers.Store(&all)
	if s.stage == running {
		s.start(i)
	}
	return nil
}

// removeNamespace removes a namespace other than "". Handlers receive no further events of that namespace, and no
// Deleted events, because no object was deleted. Waits for the namespace fail with [ErrEnded]. wait blocks until all
// goroutines for the namespace have ended, including handler calls in progress, so a handler must not call it.
func (s *Scoped[T]) removeNamespace(namespace string) (wait func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if namespace == "" {
		return func() {}
	}
	return s.removeLocked(namespace)
}

func (s *Scoped[T]) removeLocked(namespace string) (wait func()) {
	all := s.In("")
	n, ok := find(all, namespace)
	if !ok {
		return func() {}
	}
	i := all[n]
	all = slices.Delete(slices.Clone(all), n, n+1)
	s.informers.Store(&all)
	for h := range s.handlers {
		h.leave(i)
	}
	s.synced.release(i)
	i.metrics.Close() // before another informer has this name
	i.stop()
	return func() { <-i.done }
}

// AddIndex adds an index to the stores of all current and future namespaces, as [Informer.AddIndex] does.
func (s *Scoped[T]) AddIndex(ix Indexer[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.indexes, ix) {
		s.indexes = append(slices.Clone(s.indexes), ix)
	}
	for _, i := range s.In("") {
		i.AddIndex(ix)
	}
}

// Lister returns a lister of the objects in all covered namespaces.
func (s *Scoped[T]) Lister() Lister[T] { return newLister[T](s, s.opts.Name) }

// Synced returns a channel that is closed when the stores of all namespaces added until then have a complete state.
func (s *Scoped[T]) Synced() <-chan struct{} { return s.synced.done }

// Wait blocks until [Scoped.Synced] is closed. If ctx or Run ends first, the error lists the namespaces that have not
// synced and the reasons. It wraps the error of ctx or [ErrEnded], and each *[reflector.SyncError].
func (s *Scoped[T]) Wait(ctx context.Context) error {
	return waitFor(ctx, s.Synced(), s.ended, s.unsynced)
}

// Err returns the reasons why stores are out of date: a *[reflector.SyncError] for each such namespace, joined into one
// error. It returns nil if all stores are up to date.
func (s *Scoped[T]) Err() error {
	var all []error
	for _, i := range s.In("") {
		if err := i.Err(); err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// unsynced returns an error for each informer that has not synced, with the reason.
func (s *Scoped[T]) unsynced() []error {
	var all []error
	for _, i := range s.In("") {
		if !life.IsClosed(i.Synced()) {
			all = append(all, notSynced(i.label, i.Err()))
		}
	}
	return all
}

func (s *Scoped[T]) stores(namespace string) []Store[T] {
	in := s.In(namespace)
	stores := make([]Store[T], len(in))
	for n, i := range in {
		stores[n] = i.Store()
	}
	return stores
}

// begin starts the current and future informers, each as one of workers, and runs them until ctx ends. It reports
// whether this is the first call. The caller must call end after ctx has ended, and then wait for workers.
func (s *Scoped[T]) begin(ctx context.Context, workers *sync.WaitGroup) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != created {
		return false
	}
	s.stage = running
	s.start = func(i *Informer[T]) {
		workers.Go(func() { _ = i.Run(ctx) }) // fails only if the informer was removed before
	}
	for _, i := range s.In("") {
		s.start(i)
	}
	s.synced.arm()
	for h := range s.handlers {
		h.synced.arm()
	}
	return true
}

// end prevents s from starting further informers.
func (s *Scoped[T]) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == ended {
		return
	}
	s.stage = ended
	close(s.ended)
	for h := range s.handlers {
		h.done.arm()
	}
}

// close ends s and removes all namespaces. wait blocks until all goroutines have ended.
func (s *Scoped[T]) close() (wait func()) {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	var waits []func()
	for _, i := range s.In("") {
		waits = append(waits, s.removeLocked(i.namespace))
	}
	s.synced.arm() // waiters must not wait for removed namespaces
	return all(waits)
}

func all(waits []func()) func() {
	return func() {
		for _, wait := range waits {
			wait()
		}
	}
}

// scopedHandler is one handler, registered with all informers of a [Scoped] informer, which call it in turn.
type scopedHandler[T object.Object] struct {
	handler Handler[T]
	byKey   bool
	synced  *latch[*Informer[T]]
	turn    chan struct{}        // holds a token during a call of the handler
	done    *latch[*Informer[T]] // armed when it was removed, or the informer has ended
	removed atomic.Bool

	at map[*Informer[T]]*place // guarded by the mutex of the scoped informer
}

// place is the registration of a handler with one informer.
type place struct {
	*Registration
	left atomic.Bool // the informer was removed: events that wait for their turn are dropped
}

// AddHandler adds a handler for all current and future namespaces, as [Informer.AddHandler] does. h receives one event
// at a time, across namespaces. [Registration.Synced] is closed when h has all objects of the namespaces added until
// then.
func (s *Scoped[T]) AddHandler(h Handler[T]) *Registration { return s.addHandler(h, false) }

// AddKeyHandler is [Scoped.AddHandler] for the handlers that [Informer.AddKeyHandler] describes.
func (s *Scoped[T]) AddKeyHandler(h Handler[T]) *Registration { return s.addHandler(h, true) }

func (s *Scoped[T]) addHandler(h Handler[T], byKey bool) *Registration {
	added := &scopedHandler[T]{
		handler: h,
		byKey:   byKey,
		synced:  newLatch[*Informer[T]](),
		done:    newLatch[*Informer[T]](),
		turn:    make(chan struct{}, 1),
		at:      make(map[*Informer[T]]*place),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.In("") {
		added.join(i)
	}
	if s.stage == ended {
		added.done.arm()
	} else {
		s.handlers[added] = struct{}{}
	}
	if s.stage == running {
		added.synced.arm()
	}
	return &Registration{synced: added.synced.done, done: added.done.done, remove: func() { s.removeHandler(added) },
		removed: &added.removed}
}

func (h *scopedHandler[T]) join(i *Informer[T]) {
	h.synced.add(i)
	h.done.add(i)
	at := &place{}
	call := func(e Event[T]) { h.call(at, e) }
	if i.namespace == "" {
		call = h.handler // no other informer calls it
	}
	at.Registration = i.addHandler(call, h.byKey, func() { h.synced.release(i) }, func() { h.done.release(i) })
	h.at[i] = at
}

// leave removes i, which is no longer covered.
func (h *scopedHandler[T]) leave(i *Informer[T]) {
	h.at[i].left.Store(true)
	h.at[i].Remove()
	delete(h.at, i)
	h.synced.release(i)
}

// call calls the handler when no other informer is calling it.
func (h *scopedHandler[T]) call(at *place, e Event[T]) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if !h.removed.Load() && !at.left.Load() {
		h.handler(e)
	}
}

func (s *Scoped[T]) removeHandler(h *scopedHandler[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.handlers[h]; !ok {
		return
	}
	h.removed.Store(true)
	delete(s.handlers, h)
	for _, reg := range h.at {
		reg.Remove()
	}
	h.done.arm()
}

// latch closes done when it is armed and everything that was added to it has been released. done then stays closed.
type latch[K comparable] struct {
	done chan struct{}

	mu      sync.Mutex
	awaited map[K]struct{}
	armed   bool
}

func newLatch[K comparable]() *latch[K] {
	return &latch[K]{done: make(chan struct{}), awaited: make(map[K]struct{})}
}

// add makes the latch also wait for k, unless done is already closed.
func (l *latch[K]) add(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !life.IsClosed(l.done) {
		l.awaited[k] = struct{}{}
	}
}

func (l *latch[K]) release(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awaited, k)
	l.closeIfDoneLocked()
}

// arm reports to the latch that everything it must initially wait for has been added.
func (l *latch[K]) arm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = true
	l.closeIfDoneLocked()
}

func (l *latch[K]) closeIfDoneLocked() {
	if l.armed && len(l.awaited) == 0 && !life.IsClosed(l.done) {
		close(l.done)
	}
}
