// Package cache reads objects from informers: one informer for each declared kind, and live reads for all other kinds.
//
// Guarantees:
//   - [Cache.Informer] declares a kind; a read never does. A Get of an undeclared kind sends one request to the API
//     server and starts nothing. The cache logs the first such read of each kind, at level info.
//   - A read of a declared kind waits until the informer has synced. If its context ends first, the error has the
//     reason why the informer has not. A read that cannot succeed fails at once: with [ErrNotRunning] before
//     [Cache.Run] or [Cache.Begin], with [ErrEnded] after Run, and with [ErrNamespaceRemoved] or [ErrInformerRemoved].
//   - The caller owns the objects that [Cache.Get] and [Cache.List] return. Objects that handlers receive, and those
//     from [View], [Each] and an [Index], are shared and must not be modified. Reads of packed kinds always return the
//     caller's own objects, see [Options].Unpacked.
//   - A kind has one informer. Its Go type is that of the first object that declared the kind, or of a later
//     declaration with more fields before the cache ran. Every informer serves reads and handlers of the metadata, and
//     an unstructured informer also serves typed ones, at the cost of a conversion. Unstructured reads of a typed
//     informer's kind are live, because the informer lacks the fields that the type does not have. To read a kind in
//     both forms, declare it unstructured before the cache runs.
//   - A read that begins after a write of this process has returned sees that write, or fails with [ErrStale] within
//     [Options].ConsistencyTimeout. This covers lists, single objects and deletions, and the writes of all clients that
//     share the journal of the cache's client (see client.Options).
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

// Errors of reads in states of the cache that cannot serve them.
var (
	// ErrNotRunning is in the error of a read before [Cache.Run] and before [Cache.Begin].
	ErrNotRunning = errors.New("the cache is not running yet: read once Run has begun, as what a manager runs does, or " +
		"read live, as with client.Live")
	// ErrEnded is in the error of a wait for an informer that had not synced when [Cache.Run] ended.
	ErrEnded = informer.ErrEnded
	// ErrNamespaceRemoved is in the error of a read that waited for a namespace when [Cache.RemoveNamespace] removed
	// it. Later reads are live.
	ErrNamespaceRemoved = errors.New("the namespace is not cached any more")
	// ErrInformerRemoved is in the errors of an informer or index whose kind [Cache.RemoveInformer] has removed,
	// including waits that had begun before. Later reads of the cache are live.
	ErrInformerRemoved = errors.New("the informer was removed from the cache: declare the kind again")
	// errAllNamespaces is the error of adding or removing a namespace of a cache of all namespaces.
	errAllNamespaces = errors.New("cache: all namespaces are cached")
)

// Options configure a cache. The zero value caches all namespaces.
type Options struct {
	// Namespaces are the cached namespaces; empty means all. A List of all namespaces then returns the objects of
	// these. Objects of other namespaces are read live. Cluster-scoped kinds are not affected.
	Namespaces []string
	// DefaultLabels select the cached objects of every kind without Labels of its own, including cluster-scoped kinds;
	// see [KindOptions]. Nil selects all.
	DefaultLabels labels.Selector
	// ByNamespace has the scope of single namespaces, for kinds without other settings. Its namespaces are cached even
	// if Namespaces is not empty and lacks them. The key "" means all namespaces, and must be the only key.
	ByNamespace map[string]client.Scope
	// Resync is the interval at which handlers receive every object again. Zero disables it.
	Resync time.Duration
	// KeepManagedFields keeps metadata.managedFields, which take a fifth of the memory of a typical object. By default
	// they are not even decoded.
	KeepManagedFields bool
	// Unpacked keeps the objects as Go values, in four to eight times the memory, for programs that read all objects
	// often. By default the cache keeps each object packed in few bytes. A read unpacks the objects that it returns,
	// which takes about as long as a deep copy. The reader owns unpacked objects, including those from [View], [Each]
	// and an [Index]. Kinds whose Go type cannot be packed, such as a type with an unexported field, are kept as Go
	// values.
	Unpacked bool
	// ByKind overrides options for single kinds.
	ByKind []KindOptions
	// ConsistencyTimeout is how long a read waits until the informer has the earlier writes of this process. Zero means
	// 5 s.
	ConsistencyTimeout time.Duration
	// DisableConsistency allows reads that are older than the writes of this process.
	DisableConsistency bool
	// DisableFor has an object of each kind that is always read live. The informers of these kinds serve handlers only.
	DisableFor []object.Object
	// Logger receives failures of lists and watches. Nil means slog.Default().
	Logger *slog.Logger
	// Metrics receives the informers' metrics. Nil disables them.
	Metrics *metrics.Registry
	// Mutated, if set, is called for each object that a reader modified although it shares it with the cache. It is for
	// tests, see [informer.Options]. Readers own the objects of packed kinds, for which it is never called.
	Mutated func(*informer.MutationError)
}

// Cache is a client.Reader over the informers of a factory. It is safe for concurrent use.
type Cache struct {
	live       *client.REST
	opts       Options
	limits     writes.Limits // limits of the trackers
	everywhere bool          // all namespaces are cached
	factory    *informer.Factory
	begun      chan struct{} // closed under mu

	// mu makes recording a write in the trackers, and creating a tracker, atomic: writes share mu, and a declaration
	// excludes them. So no write waits for a write of another kind. Lock order: mu, then the mutexes of the factory, of
	// a kind, of their informers and of a tracker.
	mu        sync.RWMutex
	informers map[schema.GroupVersionKind]*Informer
	// undeclared has the kinds whose live reads were logged.
	undeclared map[schema.GroupVersionKind]struct{}
}

var _ client.Reader = (*Cache)(nil)

// New returns a cache in front of live. It starts no goroutine; call [Cache.Run].
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
		// A cache is readable after its end, so the subscription lasts until the garbage collector frees the cache.
		writes.SubscribeFor(writes.LogOf(live.Journal()), c, (*Cache).written)
	}
	return c
}

// ForConfig returns a cache with its own client for the API server of config. connection has the options of that
// client.
func ForConfig(config *rest.Config, connection client.Options, opts Options) (*Cache, error) {
	live, err := client.New(config, connection)
	if err != nil {
		return nil, err
	}
	return New(live, opts), nil
}

// Journal returns the journal whose writes all reads of the cache see.
func (c *Cache) Journal() *client.Journal { return c.live.Journal() }

// Begin announces a call of [Cache.Run], possibly by another goroutine. From now on reads wait for the informers
// instead of failing with [ErrNotRunning]. A caller of Begin must call Run, if only with a context that has ended, so
// that the reads end. Begin is for programs without a manager; a manager calls it for its caches. Further calls do
// nothing, and Run calls Begin.
func (c *Cache) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasBegun() {
		close(c.begun)
	}
}

func (c *Cache) hasBegun() bool { return life.IsClosed(c.begun) }

// Wait blocks until the informers of all currently declared kinds have synced, see [Informer.Wait], and returns the
// first error. Reads do not need it: they wait for their informers.
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

// Run runs the informers of all kinds, including kinds that are declared while it runs, until ctx ends. It returns
// after the last informer has ended. It can be called once.
func (c *Cache) Run(ctx context.Context) error {
	c.Begin()
	return c.factory.Run(ctx)
}

// AddNamespace adds a namespace to the cache: handlers receive its objects, and reads of it are served from the cache.
// It does not affect kinds with namespaces of their own, and does nothing if the namespace is cached. It fails if all
// namespaces are cached.
func (c *Cache) AddNamespace(namespace string) error {
	if c.everywhere || namespace == metav1.NamespaceAll {
		return errAllNamespaces
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.factory.AddNamespace(namespace)
}

// RemoveNamespace removes a namespace from the cache, and blocks until its informers have ended. Handlers receive no
// events, since nothing was deleted, and later reads of the namespace are live. It fails if all namespaces are cached.
// A handler must not call it.
func (c *Cache) RemoveNamespace(namespace string) error {
	if c.everywhere {
		return errAllNamespaces
	}
	c.factory.RemoveNamespace(namespace)()
	return nil
}

// declared returns the informer of a kind, or nil if the kind is not declared.
func (c *Cache) declared(gvk schema.GroupVersionKind) *Informer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.informers[gvk]
}

// warnUndeclared logs once per undeclared kind that its reads are live. In most programs this reveals a missing watch.
func (c *Cache) warnUndeclared(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	_, logged := c.undeclared[gvk]
	tell := !logged && c.hasBegun()
	if tell {
		c.undeclared[gvk] = struct{}{}
	}
	c.mu.Unlock()
	if tell {
		cmp.Or(c.opts.Logger, slog.Default()).Info("each read of this kind asks the API server, because nothing watches it; "+
			"a controller that watches it, or Cache.Informer, adds it to the cache; client.Live confirms that the live read "+
			"is intended",
			"kind", gvk.GroupKind().String(), "version", gvk.Version)
	}
}
