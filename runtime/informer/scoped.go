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
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Open returns the informer of one kind in the namespace of the options, with the other options too; "" is all namespaces,
// and the only one of a cluster-scoped kind. It makes no request and must not call the informer or the factory that it is
// for.
type Open[T object.Object] func(Options[T]) (*Informer[T], error)

// FromClient returns how to open the kind of prototype with c. The selectors of scope hold in each namespace.
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

// Scoped is the informer of one kind in several namespaces, as if it were one informer: each namespace has an informer of
// its own, so one that cannot be read holds up no other. Its [Factory] runs it, and can add and remove namespaces at any time. All
// methods are safe for concurrent use.
type Scoped[T object.Object] struct {
	open   Open[T]
	opts   Options[T]
	synced *latch[*Informer[T]]

	// informers are those of the namespaces in scope, in order: one for all namespaces, or one for each. The slice is
	// replaced under mu, and never changed.
	informers atomic.Pointer[[]*Informer[T]]

	// mu makes one step of changing informers and handlers, so that each handler is at each informer. The mutexes of the
	// informers are taken under it, never the other way round.
	mu       sync.Mutex
	stage    stage
	ended    chan struct{}             // closed when stage is ended
	lives    map[*Informer[T]]lifetime // of the informers that were started
	handlers map[*scopedHandler[T]]struct{}
	indexes  []Indexer[T]
	start    func(i *Informer[T]) lifetime // runs an informer; set while stage is running
}

// lifetime is how an informer ends.
type lifetime struct {
	stop  context.CancelFunc // ends Run
	ended chan struct{}      // closed when Run has returned
}

// newScoped returns an informer of what open has in namespaces; none means no namespace yet, and "" means all. It starts
// nothing: begin does. It fails when open does, and when "" is one of several namespaces.
func newScoped[T object.Object](open Open[T], namespaces []string, opts Options[T]) (*Scoped[T], error) {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	s := &Scoped[T]{
		open:     open,
		opts:     opts,
		ended:    make(chan struct{}),
		synced:   newLatch[*Informer[T]](),
		lives:    make(map[*Informer[T]]lifetime),
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

// In returns the informers that together have the objects of a namespace, or of all in scope when it is "", in the order of
// their namespaces: for one who asks about single namespaces, such as why one has not synced. There are none when the
// namespace is not in scope. The slice must not be modified, and the informers must be run by nobody else.
func (s *Scoped[T]) In(namespace string) []*Informer[T] {
	all := *s.informers.Load()
	if namespace == "" || len(all) == 1 && all[0].namespace == "" {
		return all
	}
	n, ok := find(all, namespace)
	if !ok {
		return nil
	}
	return all[n : n+1 : n+1]
}

// find returns where the informer of a namespace is, or would be, and whether it is there.
func find[T object.Object](informers []*Informer[T], namespace string) (int, bool) {
	return slices.BinarySearchFunc(informers, namespace, func(i *Informer[T], namespace string) int {
		return cmp.Compare(i.namespace, namespace)
	})
}

// addNamespace takes a namespace into scope, for all handlers and indexes: the handlers are told of what exists there as
// Added events with Initial set. Adding one that is in scope, or any after Run, does nothing. It fails when the kind cannot be opened
// there, and when all namespaces are in scope and one is to be added, or the other way round.
func (s *Scoped[T]) addNamespace(namespace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.In("")
	n, has := find(all, namespace)
	switch {
	case has || s.stage == ended:
		return nil
	case len(all) > 0 && (namespace == "" || all[0].namespace == ""):
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
		s.lives[i] = s.start(i)
	}
	return nil
}

// removeNamespace takes a namespace out of scope, but for "", which stays. The handlers are not told, since nothing was
// deleted; they are just not called for another event of that namespace. Who waits for it gets [ErrEnded]. wait blocks
// until nothing of it runs any more, a call of a handler that is under way included, so a handler must not call it.
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
	i.metrics.registry.Close() // before there is another one with that name
	life, started := s.lives[i]
	if !started {
		i.endUnrun()
		return func() {}
	}
	delete(s.lives, i)
	life.stop()
	return func() { <-life.ended }
}

// AddIndex is [Informer.AddIndex] for all namespaces, those to come included.
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

// Lister returns a lister of all namespaces in scope.
func (s *Scoped[T]) Lister() Lister[T] { return newLister[T](s, s.opts.Name) }

// Synced is closed when the stores of all namespaces that were in scope until then hold a first complete state.
func (s *Scoped[T]) Synced() <-chan struct{} { return s.synced.done }

// Wait blocks until [Scoped.Synced] is closed. If ctx or Run ends earlier, the error says which namespaces have not synced,
// and why, and has the error of ctx or [ErrEnded], and each *[reflector.SyncError].
func (s *Scoped[T]) Wait(ctx context.Context) error {
	return waitFor(ctx, s.Synced(), s.ended, s.unsynced)
}

// Err returns why the stores are not in step with the source: a *[reflector.SyncError] for each namespace that is not, joined, or
// nil.
func (s *Scoped[T]) Err() error {
	var all []error
	for _, i := range s.In("") {
		if err := i.Err(); err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// unsynced returns what is awaited, and why.
func (s *Scoped[T]) unsynced() []error {
	var all []error
	for _, i := range s.In("") {
		if !isDone(i.Synced()) {
			all = append(all, notSynced(i.label, i.Err()))
		}
	}
	return all
}

func (s *Scoped[T]) store(namespace string) (Store[T], bool) {
	in := s.In(namespace)
	if len(in) != 1 || namespace == "" && in[0].namespace != "" {
		return Store[T]{}, false
	}
	return in[0].Store(), true
}

func (s *Scoped[T]) stores() []Store[T] {
	in := s.In("")
	all := make([]Store[T], len(in))
	for n, i := range in {
		all[n] = i.Store()
	}
	return all
}

// begin starts the informers that there are and those to come, until ctx ends, each as one of workers. It reports whether
// it is the first. The caller must call end when ctx has ended, and wait for workers after that.
func (s *Scoped[T]) begin(ctx context.Context, workers *sync.WaitGroup) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != created {
		return false
	}
	s.stage = running
	s.start = func(i *Informer[T]) lifetime {
		alone, stop := context.WithCancel(ctx)
		life := lifetime{stop, make(chan struct{})}
		workers.Go(func() {
			defer close(life.ended)
			defer stop()
			_ = i.Run(alone) // fails only when run twice
		})
		return life
	}
	for _, i := range s.In("") {
		s.lives[i] = s.start(i)
	}
	s.synced.arm()
	for h := range s.handlers {
		h.synced.arm()
	}
	return true
}

// end makes s one that starts nothing any more.
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

// close ends s and takes all namespaces out of scope. wait blocks until nothing runs any more.
func (s *Scoped[T]) close() (wait func()) {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	var waits []func()
	for _, i := range s.In("") {
		waits = append(waits, s.removeLocked(i.namespace))
	}
	s.synced.arm() // nobody has to wait for what is not in scope
	return all(waits)
}

// all returns a function that calls waits.
func all(waits []func()) func() {
	return func() {
		for _, wait := range waits {
			wait()
		}
	}
}

// scopedHandler is one handler at all informers of a [Scoped] one, which call it in turn.
type scopedHandler[T object.Object] struct {
	handler Handler[T]
	byKey   bool
	synced  *latch[*Informer[T]]
	turn    chan struct{}        // holds a token while the handler is being called
	done    *latch[*Informer[T]] // armed when it was removed, or the informer has ended
	removed atomic.Bool

	at map[*Informer[T]]*place // guarded by the mutex of the scoped informer
}

// place is where a handler is at one informer.
type place struct {
	*Registration
	left atomic.Bool // the informer is in scope no more: what waits for its turn is not told
}

// AddHandler is [Informer.AddHandler] for all namespaces in scope, and for each that comes into scope. h is called for
// one event at a time, of whichever namespace. [Registration.Synced] is closed when h has seen what existed in the
// namespaces that were in scope until then.
func (s *Scoped[T]) AddHandler(h Handler[T]) *Registration { return s.addHandler(h, false) }

// AddKeyHandler is [Scoped.AddHandler] for a handler as [Informer.AddKeyHandler] takes it.
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
	return &Registration{synced: added.synced.done, done: added.done.done, remove: func() { s.removeHandler(added) }, err: added.err}
}

// join adds the handler to i.
func (h *scopedHandler[T]) join(i *Informer[T]) {
	onSynced := func() {}
	if h.synced.add(i) {
		onSynced = func() { h.synced.release(i) }
	}
	h.done.add(i)
	at := &place{}
	call := func(e Event[T]) { h.call(at, e) }
	if i.namespace == "" {
		call = h.handler // nobody else ever calls it
	}
	at.Registration = i.addHandler(call, h.byKey, onSynced, func() { h.done.release(i) })
	h.at[i] = at
}

// leave forgets i, which is not in scope any more.
func (h *scopedHandler[T]) leave(i *Informer[T]) {
	h.at[i].left.Store(true)
	h.at[i].Remove()
	delete(h.at, i)
	h.synced.release(i)
}

// err returns why the handler will not be called again.
func (h *scopedHandler[T]) err() error {
	if h.removed.Load() {
		return ErrRemoved
	}
	return ErrEnded
}

// call calls the handler when no other informer does.
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

// latch closes done when it is armed and everything that was added to it was released. From then on it stays closed.
type latch[K comparable] struct {
	done chan struct{}

	mu      sync.Mutex
	awaited map[K]struct{}
	armed   bool
	closed  bool
}

func newLatch[K comparable]() *latch[K] {
	return &latch[K]{done: make(chan struct{}), awaited: make(map[K]struct{})}
}

// add makes the latch wait for k too, and reports whether it was not too late for that.
func (l *latch[K]) add(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.awaited[k] = struct{}{}
	}
	return !l.closed
}

// release says that k has come, or will not.
func (l *latch[K]) release(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awaited, k)
	l.closeIfDoneLocked()
}

// arm says that all that the latch has to wait for at first was added.
func (l *latch[K]) arm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = true
	l.closeIfDoneLocked()
}

func (l *latch[K]) closeIfDoneLocked() {
	if l.armed && len(l.awaited) == 0 && !l.closed {
		l.closed = true
		close(l.done)
	}
}
