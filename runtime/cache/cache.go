// Package cache reads objects from informers: one informer for each kind that is declared, and live reads for every
// other kind.
//
// Guarantees:
//   - A kind is declared by [Cache.Informer], never by a read: a Get of an undeclared kind asks the API server once and
//     starts nothing. The first such read of a kind is told in the log, at info.
//   - A read of a declared kind waits until the informer has synced, or until its context ends; then the error says why
//     the informer has not. It fails at once when nothing can come: with [ErrNotRunning] before [Cache.Run], or
//     [Cache.Begin], with [ErrEnded] after it, and with [ErrNamespaceRemoved] or
//     [ErrInformerRemoved].
//   - What [Cache.Get] and [Cache.List] return belongs to the caller. What a handler of an informer gets is shared, and so
//     is what [View], [Each] and an [Index] return: that must not be modified.
//   - What is read of a kind that is kept packed, see [Options].Unpacked, is the caller's.
//   - A kind has one informer, whose Go type is that of the first object that declared it, or of one that has more and
//     declared it before the cache ran. Reads and handlers of the metadata are served from it whatever the type is, and
//     typed ones from an unstructured informer, at the cost of a conversion. Unstructured reads beside a typed informer
//     are live, because it does not have the fields that the type does not know; a kind that is to be read in both ways is
//     declared unstructured too, before the cache runs.
//   - A read that begins after a write of this process has returned sees that write, or fails with [ErrStale] within
//     [Options].ConsistencyTimeout. That holds for the writes of all clients that share the journal of the one that the
//     cache reads through (see client.Options), for lists and for single objects, and for deletions.
package cache

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Errors of a cache's life.
var (
	// ErrNotRunning is in the error of a read before [Cache.Run], and before [Cache.Begin].
	ErrNotRunning = errors.New("the cache is not running yet: read once Run has begun, as what a manager runs does, or read live, as with client.Live")
	// ErrEnded is in the error of a wait for what has not synced when [Cache.Run] ended, or later.
	ErrEnded = informer.ErrEnded
	// ErrNamespaceRemoved is in the error of a read that waited for a namespace when [Cache.RemoveNamespace] removed it. Another
	// read is live.
	ErrNamespaceRemoved = errors.New("the namespace is not cached any more")
	// ErrInformerRemoved is in the error of who holds an informer or an index, or waited for one, of a kind that [Cache.RemoveInformer] has
	// removed. Another read of the cache is live.
	ErrInformerRemoved = errors.New("the cache has this informer no more: declare the kind again")
	// errAllNamespaces is the error for one who adds a namespace where all are cached, or removes one.
	errAllNamespaces = errors.New("cache: all namespaces are cached")
)

// Options tune a cache. The zero value caches all namespaces.
type Options struct {
	// Namespaces are the namespaces whose objects are cached; none means all. A List of all namespaces is then a list
	// of these; objects of other namespaces are read live. Cluster-scoped kinds are cached whole.
	Namespaces []string
	// DefaultLabels select what is cached of every kind that has no Labels of its own, cluster-scoped ones included; see
	// [KindOptions]. Nil selects all.
	DefaultLabels labels.Selector
	// ByNamespace is what is cached in single namespaces of the kinds that say nothing else. A namespace that is named
	// here is cached even if Namespaces, when they are some, do not have it; "" is for all of them at once, and then the
	// only one.
	ByNamespace map[string]client.Scope
	// Resync is how often every object is delivered to the handlers again. Zero is never.
	Resync time.Duration
	// KeepManagedFields keeps metadata.managedFields, which are a fifth of the memory of a typical object and are
	// not even decoded otherwise.
	KeepManagedFields bool
	// Unpacked keeps the objects as Go values, in four to eight times the memory, for programs that read every object again
	// and again. By default each object is kept packed, as a few bytes: a read unpacks the objects that it returns, which
	// takes about as long as a deep copy, and they are the reader's own, those of [View], [Each] and an [Index] too.
	// Kinds whose Go type cannot be packed, such as one with an unexported field, are kept as Go values anyway.
	Unpacked bool
	// ByKind are options of single kinds.
	ByKind []KindOptions
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

// Cache is a client.Reader over the informers of a factory. All methods are safe for concurrent use.
type Cache struct {
	live       *client.REST
	opts       Options
	limits     writes.Limits // of the trackers
	everywhere bool          // all namespaces are cached
	factory    *informer.Factory
	begun      chan struct{} // closed under mu

	// mu makes one step of recording a write in the trackers and of making a tracker: writes share it, and a declaration
	// excludes them. So no write waits for one of another kind. The mutexes of the factory, of a kind, of their informers
	// and of a tracker are taken under it, never the other way round.
	mu        sync.RWMutex
	informers map[schema.GroupVersionKind]*Informer
	// undeclared has the kinds of which the log says that they are read and not cached.
	undeclared map[schema.GroupVersionKind]struct{}
}

var _ client.Reader = (*Cache)(nil)

// New returns a cache in front of live. It starts nothing: [Cache.Run] does.
func New(live *client.REST, opts Options) *Cache {
	opts.ConsistencyTimeout = cmp.Or(opts.ConsistencyTimeout, defaultConsistencyTimeout)
	namespaces := restricted(withKeys(opts.Namespaces, opts.ByNamespace))
	c := &Cache{
		live:       live,
		opts:       opts,
		everywhere: namespaces == nil,
		factory: informer.NewFactory(informer.FactoryOptions{
			Namespaces: namespaces, Resync: opts.Resync, Logger: opts.Logger, Metrics: opts.Metrics,
		}),
		begun:      make(chan struct{}),
		informers:  map[schema.GroupVersionKind]*Informer{},
		undeclared: map[schema.GroupVersionKind]struct{}{},
	}
	if !opts.DisableConsistency {
		// A cache can be read after its end, so only the garbage collector ends this.
		writes.SubscribeFor(writes.LogOf(live.Journal()), c, (*Cache).written)
	}
	return c
}

// ForConfig is [New] with a client of its own for the API server of config, which connection has the options of.
func ForConfig(config *rest.Config, connection client.Options, opts Options) (*Cache, error) {
	live, err := client.New(config, connection)
	if err != nil {
		return nil, err
	}
	return New(live, opts), nil
}

// Journal returns the journal of the writes that reads of the cache do not fall behind.
func (c *Cache) Journal() *client.Journal { return c.live.Journal() }

// Begin says that [Cache.Run] is about to be called, as by another goroutine: from now on reads wait for what it brings,
// which before are the error [ErrNotRunning]. Who calls Begin must call Run, if only with a context that has ended, so that
// the reads end. It is for programs that have a cache and no manager, which does it for its own. Beginning twice does
// nothing; Run begins by itself.
func (c *Cache) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasBegun() {
		close(c.begun)
	}
}

func (c *Cache) hasBegun() bool { return life.IsClosed(c.begun) }

// Wait blocks until the informers of all kinds that are declared now have synced, as [Informer.Wait] does for one: reads wait by themselves
// for those that they need. It returns the first error.
func (c *Cache) Wait(ctx context.Context) error {
	c.mu.RLock()
	all := slices.Collect(maps.Values(c.informers))
	c.mu.RUnlock()
	for _, i := range all {
		if err := i.Wait(ctx); err != nil && !errors.Is(err, ErrInformerRemoved) {
			return err
		}
	}
	return nil
}

// Run runs the informers of all kinds, also of those that are declared while it runs, until ctx ends, and returns after
// the last has ended. It can be called once.
func (c *Cache) Run(ctx context.Context) error {
	c.Begin()
	return c.factory.Run(ctx)
}

// AddNamespace caches one more namespace: handlers are told of what exists there, and reads of it are served from the
// cache. It has no effect on kinds that have namespaces of their own, and none when the namespace is cached. It fails
// when all namespaces are.
func (c *Cache) AddNamespace(namespace string) error {
	if c.everywhere || namespace == metav1.NamespaceAll {
		return errAllNamespaces
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.factory.AddNamespace(namespace)
}

// RemoveNamespace caches one namespace less, and waits until nothing of it runs any more. Handlers are not told, since
// nothing was deleted; reads of it are live from then on. It fails when all namespaces are cached. It must not be called
// by a handler.
func (c *Cache) RemoveNamespace(namespace string) error {
	if c.everywhere {
		return errAllNamespaces
	}
	c.factory.RemoveNamespace(namespace)()
	return nil
}

// declared returns the informer of a kind, or nil when nobody has declared it.
func (c *Cache) declared(gvk schema.GroupVersionKind) *Informer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.informers[gvk]
}

// tellUndeclared says once, for a kind that nobody has declared, that its reads are live. In a program that runs it is
// mostly a watch that was forgotten.
func (c *Cache) tellUndeclared(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	_, logged := c.undeclared[gvk]
	tell := !logged && c.hasBegun()
	if tell {
		c.undeclared[gvk] = struct{}{}
	}
	c.mu.Unlock()
	if tell {
		cmp.Or(c.opts.Logger, slog.Default()).Info("each read of this kind asks the API server, because nothing watches it; "+
			"a controller that watches it, or Cache.Informer, makes the cache have it, and client.Live says that it is meant",
			"kind", gvk.GroupKind().String(), "version", gvk.Version)
	}
}
