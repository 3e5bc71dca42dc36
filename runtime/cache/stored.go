package cache

import (
	"cmp"
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// This file contains all uses of informers of [object.Object], behind interfaces. The compiler compiles a generic type
// again in each package that uses a type with a field of the generic type, directly or indirectly. When [Cache] had
// informers in its fields, they were two thirds of the compiled code of a package with one controller
// (TestUsersOfTheCacheDoNotCompileInformers).

// informers are the informers of a kind: one per namespace, or one for all.
type informers interface {
	// in returns the parts that together hold the objects of a namespace, or of all namespaces if namespace is "".
	in(namespace string) []*part
	// of returns the part that holds all objects of a namespace, or nil if no part or several parts hold them.
	of(namespace string) *part
	// forget ends the informers and removes them from the factory.
	forget()
	AddHandler(h informer.Handler[object.Object]) *informer.Registration
	AddKeyHandler(h informer.Handler[object.Object]) *informer.Registration
	Err() error
}

// part is the informer of one namespace, or of all namespaces, with its tracker. It is the informer's observer.
type part struct {
	informer following
	store    store // the informer's store
	tracker  *writes.Tracker
	server   server
}

// Applied passes a change of the store to the tracker.
func (p *part) Applied(version string, events []informer.Event[object.Object]) {
	p.tracker.Applied(version, func(yield func(obj object.Object, removed bool) bool) {
		for _, e := range events {
			if !yield(e.Object, e.Type == informer.Deleted) {
				return
			}
		}
	})
}

// Listed passes the first objects of the store to the tracker.
func (p *part) Listed(version string, objects iter.Seq[object.Object]) {
	p.tracker.Listed(version, objects)
}

// following is an [informer.Informer].
type following interface {
	Name() string
	Namespace() string
	Wait(ctx context.Context) error
	Err() error
}

// store is the part of [informer.Store] that reads use.
type store interface {
	Get(key object.Key) (object.Object, bool)
	Has(key object.Key) bool
	Select(
		namespace string, selector labels.Selector, selected func(object.Key) bool,
	) iter.Seq2[object.Key, object.Object]
	ResourceVersion() string
	Len() int
}

// index is an index of any value type.
type index interface{ addTo(i informers) }

// values is an index by values of type K.
type values[K comparable] interface {
	index
	// get iterates over the objects of p with that value, in their state at the time of the call.
	get(p *part, value K) iter.Seq[object.Object]
	// count returns the number of these objects.
	count(p *part, value K) int
	// between iterates over the objects of p that have a value v with from <= v < to, ordered by value.
	between(p *part, from, to K) iter.Seq[object.Object]
}

// newInformers replaces the informers of k with informers of prototype's Go type. c is locked.
func newInformers(
	c *Cache, k *kind, prototype object.Object, packing *informer.Packing[object.Object],
) (informers, error) {
	opts := informer.KindOptions[object.Object]{Kind: k.gvk, Namespaces: k.opts.Namespaces}
	plural, _ := meta.UnsafeGuessKindToResource(k.gvk)
	opts.Name = plural.GroupResource().String()
	opts.Packed = packing
	opts.Mutated = c.opts.Mutated
	if was := k.stored.Load(); was != nil {
		was.informers.forget()
	}
	made, err := informer.Shared(c.factory, opens(c, k, prototype), opts)
	if err != nil {
		return nil, err
	}
	return scoped{made, c.factory}, nil
}

// opens returns the function that creates the parts of k with prototype's Go type. c is locked.
func opens(c *Cache, k *kind, prototype object.Object) informer.Open[object.Object] {
	return func(opts informer.Options[object.Object]) (*informer.Informer[object.Object], error) {
		scope := k.opts.scope(opts.Namespace, c.opts)
		watcher, err := client.NewListWatcher(c.live, prototype, scope)
		if err != nil {
			return nil, err
		}
		p := &part{server: server{make(chan struct{}, 1), c.live, k.gvk, scope}}
		opts.Observer = p
		opts.Transform = transform(k.gvk, k.opts.Transform, scope.Mask)
		made := informer.New(watcher, opts)
		p.informer, p.store = made, made.Store()
		p.tracker = writes.NewTracker(p.store, scope.Namespace, selector(scope), c.limits)
		if !c.opts.DisableConsistency {
			writes.LogOf(c.live.Journal()).Seed(k.gvk.GroupKind(), p.tracker)
		}
		return made, nil
	}
}

// scoped implements informers.
type scoped struct {
	*informer.Scoped[object.Object]
	factory *informer.Factory
}

func (s scoped) in(namespace string) []*part {
	informers := s.In(namespace)
	parts := make([]*part, len(informers))
	for n, i := range informers {
		parts[n] = partOf(i)
	}
	return parts
}

func (s scoped) of(namespace string) *part {
	in := s.In(namespace)
	if len(in) != 1 {
		return nil
	}
	return partOf(in[0])
}

func partOf(i *informer.Informer[object.Object]) *part { return i.Observer().(*part) }

func (s scoped) forget() { informer.Forget(s.factory, s.Scoped) }

// indexed implements values.
type indexed[K cmp.Ordered] struct {
	*informer.Index[object.Object, K]
}

func newValues[K cmp.Ordered](of func(object.Object) []K) values[K] {
	return indexed[K]{informer.NewIndex(of)}
}

func (ix indexed[K]) addTo(i informers)                            { i.(scoped).AddIndex(ix.Index) }
func (ix indexed[K]) get(p *part, value K) iter.Seq[object.Object] { return ix.All(viewOf(p), value) }
func (ix indexed[K]) count(p *part, value K) int                   { return ix.Len(viewOf(p), value) }

func (ix indexed[K]) between(p *part, from, to K) iter.Seq[object.Object] {
	return func(yield func(object.Object) bool) {
		for _, o := range ix.Range(viewOf(p), from, to) {
			if !yield(o) {
				return
			}
		}
	}
}

func viewOf(p *part) informer.Store[object.Object] { return p.store.(informer.Store[object.Object]) }
