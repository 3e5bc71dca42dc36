// Package cache reads objects from informers: one informer for each kind that is declared, and live reads for every
// other kind.
//
// Guarantees:
//   - A kind is declared by [Cache.Informer], never by a read: a Get of an undeclared kind asks the API server once and
//     starts nothing.
//   - A read of a declared kind waits until the informer has synced, or until its context ends; then the error says why
//     the informer has not.
//   - What a read returns belongs to the caller. What a handler of an informer gets is shared, and must not be modified.
//   - A read that begins after a write of this process has returned sees that write, or fails with [ErrStale] within
//     [Options].ConsistencyTimeout. That holds for the writes of all clients that share the journal of the one that the
//     cache reads through (see client.Options), for lists and for single objects, and for deletions.
package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ErrAlreadyRun is returned by a second [Cache.Run].
var ErrAlreadyRun = errors.New("cache was run before")

// Options tune a cache. The zero value caches all namespaces.
type Options struct {
	// Namespaces are the namespaces whose objects are cached; none means all. A List of all namespaces is then a list
	// of these; objects of other namespaces are read live. Cluster-scoped kinds are cached whole.
	Namespaces []string
	// Resync is how often every object is delivered to the handlers again. Zero is never.
	Resync time.Duration
	// KeepManagedFields keeps metadata.managedFields, which are a fifth of the memory of a typical object and are
	// not even decoded otherwise.
	KeepManagedFields bool
	// Masks are, for kinds of which not all is needed, the only fields that are cached, with all that is below them,
	// such as "metadata" and "status.conditions"; see [client.Scope]. What is read from such a cache is not the whole
	// object: change it by patches and apply, not by Update.
	Masks map[schema.GroupVersionKind][]string
	// ConsistencyTimeout is how long a read waits for the informer to catch up with the writes of this process that came
	// before it. Zero means 5 s.
	ConsistencyTimeout time.Duration
	// DisableConsistency lets reads be older than the writes of this process.
	DisableConsistency bool
	// DisableFor are kinds that are always read live, by an object of each. Their informers serve handlers only.
	DisableFor []object.Object
	// Logger is told of failing lists and watches; nil is slog.Default().
	Logger *slog.Logger
	// Metrics gets the informers' metrics; nil is nowhere.
	Metrics *metrics.Registry
}

// Cache is a client.Reader over informers. All methods are safe for concurrent use.
type Cache struct {
	live *client.REST
	opts Options

	mu        sync.Mutex
	informers map[schema.GroupVersionKind]*Informer
	// floors are the last versions of kinds that were written before they were cached.
	floors map[schema.GroupKind]string
	stage  stage
	start  func(*Informer) // starts an informer of the running cache; set while stage is running
}

// stage is where a cache is in its life.
type stage int

const (
	created stage = iota
	running
	ended
)

var _ client.Reader = (*Cache)(nil)

// New returns a cache in front of live. It starts nothing: [Cache.Run] does.
func New(live *client.REST, opts Options) *Cache {
	opts.ConsistencyTimeout = cmp.Or(opts.ConsistencyTimeout, defaultConsistencyTimeout)
	c := &Cache{
		live:      live,
		opts:      opts,
		informers: map[schema.GroupVersionKind]*Informer{},
		floors:    map[schema.GroupKind]string{},
	}
	if !opts.DisableConsistency {
		live.Journal().Subscribe(c.written)
	}
	return c
}

// Informer declares the kind of prototype and returns its informer, which runs as long as the cache does. prototype is
// a typed object, or an unstructured or metadata-only one with its kind set; its Go type is that of the objects that
// handlers get. A kind is cached in one Go type only, the first that was asked for. With [Options].Namespaces the API
// server is asked whether the kind has namespaces.
func (c *Cache) Informer(prototype object.Object) (*Informer, error) {
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	namespaces, err := c.namespacesOf(gvk) // may ask the server, so not under mu
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.informers[gvk]; ok {
		if !known.holds(prototype) {
			return nil, fmt.Errorf("cache: %s is cached as %T and cannot be cached as %T too", gvk.Kind, known.prototype, prototype)
		}
		return known, nil
	}
	i, err := c.newInformer(gvk, prototype, namespaces)
	if err != nil {
		return nil, err
	}
	c.informers[gvk] = i
	if c.stage == running {
		c.start(i)
	}
	return i, nil
}

func (c *Cache) newInformer(gvk schema.GroupVersionKind, prototype object.Object, namespaces []string) (*Informer, error) {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	i := &Informer{gvk: gvk, prototype: prototype, patience: c.opts.ConsistencyTimeout}
	for _, disabled := range c.opts.DisableFor {
		live, err := object.GVK(disabled, c.live.Scheme())
		if err != nil {
			return nil, fmt.Errorf("cache: DisableFor: %w", err)
		}
		i.live = i.live || live.GroupKind() == gvk.GroupKind()
	}
	for _, namespace := range namespaces {
		watcher, err := client.NewListWatcher(c.live, prototype, client.Scope{
			Namespace:         namespace,
			KeepManagedFields: c.opts.KeepManagedFields,
			Mask:              c.opts.Masks[gvk],
		})
		if err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
		l := newLedger()
		opts := informer.Options[object.Object]{
			Name:    plural.GroupResource().String(),
			Logger:  c.opts.Logger,
			Resync:  c.opts.Resync,
			Applied: l.applied,
			Metrics: c.opts.Metrics,
		}
		informer := informer.New(watcher, opts)
		l.store = informer.Store()
		l.note(client.Write{ResourceVersion: c.floors[gvk.GroupKind()]})
		i.parts = append(i.parts, part{namespace, l, informer})
	}
	return i, nil
}

// namespacesOf returns the namespaces to watch for a kind: "" is all of them. A kind that the server does not know yet
// is taken for a namespaced one. It fails when the server cannot be asked, since a wrong answer would stay.
func (c *Cache) namespacesOf(gvk schema.GroupVersionKind) ([]string, error) {
	all := []string{metav1.NamespaceAll}
	if len(c.opts.Namespaces) == 0 || slices.Contains(c.opts.Namespaces, metav1.NamespaceAll) {
		return all, nil
	}
	mapping, err := c.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot:
		return all, nil
	case err != nil && !meta.IsNoMatchError(err):
		return nil, err
	}
	return slices.Compact(slices.Sorted(slices.Values(c.opts.Namespaces))), nil
}

// Run runs the informers of all kinds, also of those that are declared while it runs, until ctx ends, and returns after
// the last has ended. It can be called once.
func (c *Cache) Run(ctx context.Context) error {
	var informers sync.WaitGroup
	if err := c.begin(func(i *Informer) {
		for _, part := range i.parts {
			informers.Go(func() { _ = part.Run(ctx) }) // fails only when run twice, which begin rules out
		}
	}); err != nil {
		return err
	}
	<-ctx.Done()
	c.mu.Lock()
	c.stage = ended
	c.mu.Unlock()
	informers.Wait()
	return nil
}

func (c *Cache) begin(start func(*Informer)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != created {
		return ErrAlreadyRun
	}
	c.stage, c.start = running, start
	for _, i := range c.informers {
		start(i)
	}
	return nil
}

// declared returns the informer of a kind, or nil when nobody has declared it.
func (c *Cache) declared(gvk schema.GroupVersionKind) *Informer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.informers[gvk]
}
