// Package cache provides a client.Reader that reads the objects of declared kinds from informers, one informer for each
// kind. It reads the objects of all other kinds live, that is, directly from the API server.
//
// Guarantees:
//   - Only [Cache.Informer] and functions that call it, such as [Cache.IndexField] and [View], declare a kind. A Get or
//     List of an undeclared kind is a live read: it sends a request to the API server and starts no informer. The cache
//     logs the first such read of each kind at level info.
//   - A read of a declared kind waits until the informer has synced. If its context ends first, the error contains the
//     reason why the informer has not synced. A read that cannot succeed fails immediately: with [ErrNotRunning] before
//     [Cache.Run] or [Cache.Begin], and with [ErrEnded] if Run has ended before the informer synced. A read that is
//     waiting when its namespace or informer is removed fails with [ErrNamespaceRemoved] or [ErrInformerRemoved].
//   - The caller owns the objects that [Cache.Get] and [Cache.List] return. Objects that handlers receive, and objects
//     from [View], [Each] and an [Index], are shared and must not be modified. For a packed kind, every read creates
//     new objects, which the caller owns; see [Options].Unpacked.
//   - A kind has one informer, which keeps objects of one Go type: the type of the first object that declared the kind,
//     or of a later declaration with more fields before the cache runs. Every informer serves metadata-only reads and
//     handlers. An unstructured informer also serves typed reads and handlers, at the cost of a conversion. If the
//     informer is typed, unstructured reads of the kind are live, because the informer lacks the fields that the Go
//     type does not have. To read a kind in both forms, declare it unstructured before the cache runs.
//   - A read that begins after a write of this process has returned sees that write, or fails with [ErrStale] within
//     [Options].ConsistencyTimeout. This is true for Get and List, for deletions, and for the writes of all clients
//     that share the journal of the cache's client (see client.Options).
package cache

import (
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
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Causes of failed reads and waits. Test for them with errors.Is.
var (
	// ErrNotRunning is the cause if a read begins before [Cache.Run] and before [Cache.Begin].
	ErrNotRunning = errors.New("the cache is not running yet: read once Run has begun, as what a manager runs does, or " +
		"read live, as with client.Live")
	// ErrEnded is the cause if a caller waits for an informer that had not synced when [Cache.Run] ended.
	ErrEnded = informer.ErrEnded
	// ErrNamespaceRemoved is the cause if [Cache.RemoveNamespace] removes a namespace while a read waits for it. Later
	// reads of the namespace are live.
	ErrNamespaceRemoved = errors.New("the namespace is not cached any more")
	// ErrInformerRemoved is the cause if an informer or index is used after [Cache.RemoveInformer] has removed its kind,
	// or if the kind is removed during a wait. Later reads of the kind from the cache are live.
	ErrInformerRemoved = errors.New("the informer was removed from the cache: declare the kind again")
	// errAllNamespaces is the error of adding or removing a namespace of a cache of all namespaces.
	errAllNamespaces = errors.New("cache: all namespaces are cached")
)

// Options configure a cache. The zero value caches all namespaces.
type Options struct {
	// Namespaces are the cached namespaces; empty means all. If it is not empty, a List without a namespace returns only
	// the objects of the cached namespaces, and reads in any other namespace are live. Cluster-scoped kinds are not
	// affected.
	Namespaces []string
	// DefaultLabels select the cached objects of every kind, including cluster-scoped kinds, for which no other Labels are
	// set; see [KindOptions]. Nil selects all.
	DefaultLabels labels.Selector
	// ByNamespace sets the scope of single namespaces, for kinds without other settings. Its keys are cached in addition
	// to Namespaces. The key "" means all namespaces, and must be the only key.
	ByNamespace map[string]client.Scope
	// Resync is the interval at which handlers receive every object again. Zero disables it.
	Resync time.Duration
	// KeepManagedFields keeps metadata.managedFields, which take a fifth of the memory of a typical object. By default the
	// cache does not decode them.
	KeepManagedFields bool
	// Unpacked keeps the objects as Go values, which take four to eight times the memory. Set it in programs that often
	// read all objects. By default the cache keeps each object packed in a compact encoding. A read unpacks the objects
	// that it returns, which takes about as long as a deep copy; the caller owns them, including those from [View], [Each]
	// and an [Index]. Kinds whose Go type cannot be packed, such as a type with an unexported field, are kept as Go
	// values.
	Unpacked bool
	// ByKind overrides options for single kinds.
	ByKind []KindOptions
	// ConsistencyTimeout is how long a read waits until the informer has received the earlier writes of this process. Zero
	// means 5 s.
	ConsistencyTimeout time.Duration
	// DisableConsistency allows reads to miss earlier writes of this process.
	DisableConsistency bool
	// DisableFor lists one object of each kind that is always read live. The informers of these kinds only call handlers.
	DisableFor []object.Object
	// Logger logs failures of lists and watches. Nil means slog.Default().
	Logger *slog.Logger
	// Metrics receives the informers' metrics. Nil disables them.
	Metrics *metrics.Registry
	// Mutated, if set, is called for each shared object that a reader has modified. It is for tests, see
	// [informer.Options]. It is never called for packed kinds, whose readers own the objects.
	Mutated func(*informer.MutationError)
}

// Cache is a client.Reader that reads from informers. It is safe for concurrent use.
type Cache struct {
	live       *client.REST
	opts       Options
	limits     writes.Limits // limits of the trackers
	everywhere bool          // all namespaces are cached
	factory    *informer.Factory
	begun      chan struct{} // closed under mu

	// mu ensures that no write is recorded while a tracker is created: recording a write takes the read lock, so writes do
	// not wait for each other, and declaring a kind takes the write lock. Lock order: mu, then the mutexes of the factory,
	// of a kind, of their informers and of a tracker.
	mu        sync.RWMutex
	informers map[schema.GroupVersionKind]*Informer
	// undeclared holds the undeclared kinds for which a live read was logged.
	undeclared map[schema.GroupVersionKind]struct{}
}

var _ client.Reader = (*Cache)(nil)

// New returns a cache that uses live for its informers and live reads. It starts no goroutine; call [Cache.Run].
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
		// A cache can be read after Run has ended, so the subscription lasts until the garbage collector frees the cache.
		writes.SubscribeFor(writes.LogOf(live.Journal()), c, (*Cache).written)
	}
	return c
}

// ForConfig returns a cache with its own client for the API server of config. connection configures that client.
func ForConfig(config *rest.Config, connection client.Options, opts Options) (*Cache, error) {
	live, err := client.New(config, connection)
	if err != nil {
		return nil, err
	}
	return New(live, opts), nil
}

// Journal returns the journal whose writes all reads of the cache see.
func (c *Cache) Journal() *client.Journal { return c.live.Journal() }

// Begin announces that [Cache.Run] will be called, possibly by another goroutine: after Begin, reads wait for the
// informers instead of failing with [ErrNotRunning]. Run must be called after Begin, if only with a context that has
// ended, because otherwise the reads do not end. Begin is for programs without a manager; a manager calls it for its
// caches. Run calls Begin itself. Further calls of Begin do nothing.
func (c *Cache) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasBegun() {
		close(c.begun)
	}
}

func (c *Cache) hasBegun() bool { return life.IsClosed(c.begun) }

// Wait blocks until the informers of all currently declared kinds have synced, see [Informer.Wait], and returns the
// first error. Programs need not call it before a read, because reads wait for their informers.
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
// after the last informer has ended. It can be called only once.
func (c *Cache) Run(ctx context.Context) error {
	c.Begin()
	return c.factory.Run(ctx)
}

// AddNamespace adds a namespace to the cache: handlers receive its objects, and reads of it are served from the cache.
// It does not affect kinds for which [KindOptions] set namespaces, and does nothing if the namespace is already cached.
// It fails if all namespaces are cached.
func (c *Cache) AddNamespace(namespace string) error {
	if c.everywhere || namespace == metav1.NamespaceAll {
		return errAllNamespaces
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.factory.AddNamespace(namespace)
}

// RemoveNamespace removes a namespace from the cache, and blocks until its informers have ended. Handlers receive no
// Deleted events, because no object was deleted. Later reads of the namespace are live. It fails if all namespaces are
// cached. A handler must not call it.
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

// warnUndeclared logs once per undeclared kind that its reads are live. In most programs, such a read means that a
// watch is missing.
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
