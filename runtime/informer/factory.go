package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// FactoryOptions configures a [Factory]. The zero value means all namespaces and no resync.
type FactoryOptions struct {
	// Namespaces are the namespaces of kinds that set none of their own. Empty means all namespaces.
	Namespaces []string
	// Resync, Logger and Metrics are the defaults for kinds; see [Options].
	Resync  time.Duration
	Logger  *slog.Logger
	Metrics *metrics.Registry
	// Transform, if set, is applied to the objects of all kinds, before the transform of the kind. If it returns an error
	// for an object, the error is logged and the object keeps its previous state.
	Transform func(object.Object) error
}

// KindOptions configures one kind of a [Factory].
type KindOptions[T object.Object] struct {
	Options[T]
	// Kind distinguishes kinds with the same type T and name, such as kinds of unstructured objects. It has no other
	// effect, so it can be empty if T belongs to one kind.
	Kind schema.GroupVersionKind
	// Namespaces overrides the factory's namespaces. Nil means the factory's namespaces, including namespaces that are
	// added and removed later. [""] means all namespaces, and is also the value for cluster-scoped kinds. If "" is in a
	// list with other namespaces, it means all namespaces that are not in the list, and Open must exclude the listed ones.
	Namespaces []string
}

// Factory holds the informers of a program, one per kind, and runs them together. It is safe for concurrent use.
type Factory struct {
	opts FactoryOptions

	mu         sync.Mutex
	stage      stage
	ended      chan struct{}   // closed when stage is ended
	namespaces map[string]bool // namespaces of the kinds that follow the factory
	kinds      map[kindName]member
	start      func(scoped) // runs the informer of a kind; set while stage is running
}

// kindName identifies a kind within a factory.
type kindName struct {
	form reflect.Type
	name string
	kind schema.GroupVersionKind
}

// member is the informer of one kind.
type member struct {
	scoped
	follows bool // follows the namespaces of the factory
}

// scoped is a *[Scoped] of any T.
type scoped interface {
	addNamespace(namespace string) error
	removeNamespace(namespace string) (wait func())
	begin(ctx context.Context, workers *sync.WaitGroup) bool
	end()
	close() (wait func())
	Synced() <-chan struct{}
	unsynced() []error
}

// NewFactory returns a factory without informers.
func NewFactory(opts FactoryOptions) *Factory {
	f := &Factory{opts: opts, ended: make(chan struct{}), namespaces: make(map[string]bool),
		kinds: make(map[kindName]member)}
	for _, namespace := range opts.Namespaces {
		f.namespaces[namespace] = true
	}
	if len(opts.Namespaces) == 0 {
		f.namespaces[""] = true
	}
	return f
}

// Shared returns f's informer for T and for the name and kind in opts. The first call creates it with open and opts;
// unset fields of opts default to the factory's options. If the factory is running, the informer starts at once.
func Shared[T object.Object](f *Factory, open Open[T], opts KindOptions[T]) (*Scoped[T], error) {
	name := kindName{reflect.TypeFor[T](), cmp.Or(opts.Name, reflect.TypeFor[T]().String()), opts.Kind}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.kinds[name]; ok {
		return known.scoped.(*Scoped[T]), nil
	}
	if f.stage == ended {
		return nil, ErrEnded
	}
	m := member{follows: opts.Namespaces == nil}
	if m.follows {
		opts.Namespaces = slices.Sorted(maps.Keys(f.namespaces))
	}
	opts.Resync = cmp.Or(opts.Resync, f.opts.Resync)
	opts.Logger = cmp.Or(opts.Logger, f.opts.Logger)
	opts.Metrics = cmp.Or(opts.Metrics, f.opts.Metrics)
	opts.Transform = both(f.opts.Transform, opts.Transform)
	s, err := newScoped(open, opts.Namespaces, opts.Options)
	if err != nil {
		return nil, err
	}
	m.scoped = s
	f.kinds[name] = m
	if f.stage == running {
		f.start(m)
	}
	return s, nil
}

// Forget removes the informer s from f and ends it. The next call of [Shared] creates a new one. Use it in programs
// whose set of kinds changes. wait blocks until all goroutines of the informer have ended, including handler calls in
// progress, so a handler must not call it.
func Forget[T object.Object](f *Factory, s *Scoped[T]) (wait func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.kinds, func(_ kindName, m member) bool { return m.scoped == scoped(s) })
	return s.close()
}

// both returns a transform that applies first and then then. Either may be nil.
func both[T object.Object](first func(object.Object) error, then func(T) (T, error)) func(T) (T, error) {
	if first == nil {
		return then
	}
	return func(obj T) (T, error) {
		if err := first(obj); err != nil || then == nil {
			return obj, err
		}
		return then(obj)
	}
}

// AddNamespace adds a namespace to all kinds that follow the factory's namespaces. Their handlers receive its objects
// as Added events with Initial set. Adding a namespace that is already covered does nothing. If AddNamespace fails for
// some kinds, it still adds the namespace to the other kinds, and can be called again.
func (f *Factory) AddNamespace(namespace string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.namespaces) > 0 && f.namespaces[""] != (namespace == "") {
		return errors.New("one namespace and all namespaces cannot be in scope at once")
	}
	f.namespaces[namespace] = true
	var all []error
	for name, m := range f.kinds {
		if m.follows {
			if err := m.addNamespace(namespace); err != nil {
				all = append(all, fmt.Errorf("add namespace %q for %s: %w", namespace, name.name, err))
			}
		}
	}
	return errors.Join(all...)
}

// RemoveNamespace removes a namespace from all kinds that follow the factory's namespaces. Handlers receive no further
// events of it, and no Deleted events, because no object was deleted. wait blocks until all goroutines for the
// namespace have ended, including handler calls in progress, so a handler must not call it. "" cannot be removed.
func (f *Factory) RemoveNamespace(namespace string) (wait func()) {
	var waits []func()
	f.mu.Lock()
	defer f.mu.Unlock()
	if namespace == "" {
		return func() {}
	}
	delete(f.namespaces, namespace)
	for _, m := range f.kinds {
		if m.follows {
			waits = append(waits, m.removeNamespace(namespace))
		}
	}
	return all(waits)
}

// Wait blocks until the informers of all current kinds have synced. If ctx or Run ends first, the error lists the kinds
// that have not synced and the reasons, as in [Scoped.Wait].
func (f *Factory) Wait(ctx context.Context) error {
	f.mu.Lock()
	members := slices.Collect(maps.Values(f.kinds))
	f.mu.Unlock()
	unsynced := func() []error {
		var all []error
		for _, m := range members {
			all = append(all, m.unsynced()...)
		}
		slices.SortFunc(all, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		return all
	}
	for _, m := range members {
		if err := waitFor(ctx, m.Synced(), f.ended, unsynced); err != nil {
			return err
		}
	}
	return nil
}

// Run runs the informers of all kinds, including kinds that are added later, until ctx ends. It returns nil after the
// last goroutine and the last handler call have ended. It can be called once; further calls return [ErrAlreadyRun].
func (f *Factory) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	f.mu.Lock()
	if f.stage != created {
		f.mu.Unlock()
		return ErrAlreadyRun
	}
	f.stage = running
	f.start = func(s scoped) { s.begin(ctx, &workers) }
	for _, m := range f.kinds {
		f.start(m)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.stage = ended
	close(f.ended)
	for _, m := range f.kinds {
		m.end()
	}
	f.mu.Unlock()
	workers.Wait()
	return nil
}
