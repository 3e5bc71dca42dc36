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

// FactoryOptions tune a [Factory]. The zero value is useful: all namespaces, no resync.
type FactoryOptions struct {
	// Namespaces are the namespaces in scope of each kind that has no others; none means all.
	Namespaces []string
	// Resync, Logger and Metrics are those of each kind that has no others; see [Options].
	Resync  time.Duration
	Logger  *slog.Logger
	Metrics *metrics.Registry
	// Transform, if set, is applied to the objects of all kinds, before the transform of the kind. An object for which
	// it fails is logged and left as it was before.
	Transform func(object.Object) error
}

// KindOptions tune one kind of a [Factory].
type KindOptions[T object.Object] struct {
	Options[T]
	// Kind tells kinds apart that have one type T and one name, such as those of unstructured objects. Nothing else is
	// done with it, so the zero value is right for a T that is the type of one kind.
	Kind schema.GroupVersionKind
	// Namespaces are the namespaces in scope of this kind, whatever those of the factory are. [""] is all, which is also
	// for cluster-scoped kinds. Nil is those of the factory, with all that it adds and removes.
	Namespaces []string
}

// Factory holds the informers of a program, one for each kind, and runs them together. All methods are safe for
// concurrent use.
type Factory struct {
	opts FactoryOptions

	mu         sync.Mutex
	stage      stage
	ended      chan struct{}   // closed when stage is ended
	namespaces map[string]bool // in scope of the kinds that follow the factory
	kinds      map[kindName]member
	start      func(scoped) // runs the informer of a kind; set while stage is running
}

// kindName names a kind within a factory.
type kindName struct {
	form reflect.Type
	name string
	kind schema.GroupVersionKind
}

// member is the informer of one kind.
type member struct {
	scoped
	follows bool // the namespaces of the factory
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
	f := &Factory{opts: opts, ended: make(chan struct{}), namespaces: make(map[string]bool), kinds: make(map[kindName]member)}
	for _, namespace := range opts.Namespaces {
		f.namespaces[namespace] = true
	}
	if len(opts.Namespaces) == 0 {
		f.namespaces[""] = true
	}
	return f
}

// Shared returns the informer that f has for T and the name and the kind in opts. The first call makes it with open and opts,
// and with the factory's options where opts has none; if the factory runs, it starts at once.
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

// Forget makes f have no informer of the kind of s, which ends; the next call of [Shared] makes another one. It is for programs
// whose kinds come and go. wait blocks
// until nothing of it runs any more, a call of a handler that is under way included, so a handler must not call it.
func Forget[T object.Object](f *Factory, s *Scoped[T]) (wait func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.kinds, func(_ kindName, m member) bool { return m.scoped == scoped(s) })
	return s.close()
}

// both returns the transform that applies first and then, of which each may be nil.
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

// AddNamespace takes a namespace into scope of all kinds that follow the factory: their handlers are told of what exists there as
// Added events with Initial set. Adding one that is in scope does nothing. If it
// fails for one, it is tried for the others, and can be called again.
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

// RemoveNamespace takes a namespace out of scope of all kinds that follow the factory. The handlers are not told, since nothing
// was deleted; they are just not called for another event of that namespace. wait blocks until nothing of it runs any more, a
// call of a handler that is under way included, so a handler must not call it; ""
// stays.
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

// Wait blocks until the informers of all kinds that f has by now have synced. If ctx or Run ends earlier, the error names
// those that have not, and says why, as [Scoped.Wait] does.
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

// Run runs the informers of all kinds, also of those that are added while it runs, until ctx ends. It returns nil after
// the last goroutine has ended and the last handler has returned. It can be called once, and returns ErrAlreadyRun
// otherwise.
func (f *Factory) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	if !f.begin(ctx, &workers) {
		return ErrAlreadyRun
	}
	<-ctx.Done()
	f.end()
	workers.Wait()
	return nil
}

func (f *Factory) begin(ctx context.Context, workers *sync.WaitGroup) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stage != created {
		return false
	}
	f.stage = running
	f.start = func(s scoped) { s.begin(ctx, workers) }
	for _, m := range f.kinds {
		f.start(m)
	}
	return true
}

func (f *Factory) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stage = ended
	close(f.ended)
	for _, m := range f.kinds {
		m.end()
	}
}
