// Package cache provides caches that have controller-runtime's API and use kctrl's informers. Cached objects are
// packed, and a read that begins after a write of this process sees that write.
//
// As in controller-runtime, a read of a kind without an informer starts one. Each kind has separate informers for
// typed, unstructured and metadata-only objects.
package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"

	"sigs.k8s.io/controller-runtime/pkg/cache/cacheapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
)

var log = logf.RuntimeLog.WithName("object-cache")

// defaultSyncPeriod is the default resync interval.
const defaultSyncPeriod = 10 * time.Hour

// InformerGetOptions are the options of GetInformer.
type InformerGetOptions = cacheapi.InformerGetOptions

// InformerGetOption changes the options of GetInformer.
type InformerGetOption = cacheapi.InformerGetOption

// BlockUntilSynced sets whether GetInformer waits until the informer has synced.
func BlockUntilSynced(shouldBlock bool) InformerGetOption {
	return cacheapi.BlockUntilSynced(shouldBlock)
}

// Cache reads objects from informers.
type Cache interface {
	client.Reader
	Informers
}

// Informers manages the informers of a cache.
type Informers = cacheapi.Informers

// Informer passes the events of one kind to handlers.
type Informer = cacheapi.Informer

// AllNamespaces is the key of the options for all namespaces that have no options of their own.
const AllNamespaces = metav1.NamespaceAll

// Options are the options of [New].
type Options struct {
	// HTTPClient sends the requests. Nil creates one from the configuration.
	HTTPClient *http.Client
	// Scheme has the Go types of the kinds. Nil means the scheme of client-go.
	Scheme *runtime.Scheme
	// Mapper maps kinds to resources. Nil means discovery on the server.
	Mapper meta.RESTMapper
	// SyncPeriod is the resync interval. Nil means 10 hours.
	SyncPeriod *time.Duration
	// ReaderFailOnMissingInformer makes reads of kinds without an informer fail with an [ErrResourceNotCached].
	ReaderFailOnMissingInformer bool
	// DefaultNamespaces are the cached namespaces, with their options. Empty means all namespaces.
	DefaultNamespaces map[string]Config
	// DefaultLabelSelector selects the cached objects.
	DefaultLabelSelector labels.Selector
	// DefaultFieldSelector selects the cached objects.
	DefaultFieldSelector fields.Selector
	// DefaultTransform changes objects before they are cached.
	DefaultTransform toolscache.TransformFunc
	// DefaultWatchErrorHandler is not supported: the cache logs failed lists and watches.
	DefaultWatchErrorHandler toolscache.WatchErrorHandlerWithContext
	// DefaultUnsafeDisableDeepCopy makes reads return objects that share memory with the cache.
	DefaultUnsafeDisableDeepCopy *bool
	// DefaultEnableWatchBookmarks has no effect: the cache always requests bookmarks.
	DefaultEnableWatchBookmarks *bool
	// ByObject has the options of individual kinds.
	ByObject map[client.Object]ByObject
	// NewInformer is not supported.
	NewInformer func(
		toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers,
	) toolscache.SharedIndexInformer
}

// ByObject are the options of one kind.
type ByObject struct {
	// Namespaces are the cached namespaces, with their options.
	Namespaces map[string]Config
	// Label selects the cached objects.
	Label labels.Selector
	// Field selects the cached objects.
	Field fields.Selector
	// Transform changes objects before they are cached.
	Transform toolscache.TransformFunc
	// UnsafeDisableDeepCopy makes reads return objects that share memory with the cache.
	UnsafeDisableDeepCopy *bool
	// EnableWatchBookmarks has no effect: the cache always requests bookmarks.
	EnableWatchBookmarks *bool
	// SyncPeriod is the resync interval.
	SyncPeriod *time.Duration
}

// Config are the options of one namespace.
type Config struct {
	// LabelSelector selects the cached objects.
	LabelSelector labels.Selector
	// FieldSelector selects the cached objects.
	FieldSelector fields.Selector
	// Transform changes objects before they are cached.
	Transform toolscache.TransformFunc
	// UnsafeDisableDeepCopy makes reads return objects that share memory with the cache.
	UnsafeDisableDeepCopy *bool
	// EnableWatchBookmarks has no effect: the cache always requests bookmarks.
	EnableWatchBookmarks *bool
	// SyncPeriod is the resync interval. It must be equal to the interval of the kind.
	SyncPeriod *time.Duration
}

// NewCacheFunc creates a cache.
type NewCacheFunc func(config *rest.Config, opts Options) (Cache, error)

// New returns a cache for the server of cfg. It starts nothing. If ByObject is set, New sends requests to determine the
// scope of its kinds, and fails if the server does not have one of them.
func New(cfg *rest.Config, opts Options) (Cache, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if opts.HTTPClient == nil {
		var err error
		if opts.HTTPClient, err = rest.HTTPClientFor(cfg); err != nil {
			return nil, fmt.Errorf("could not create HTTP client from config: %w", err)
		}
	}
	if opts.Mapper == nil {
		var err error
		if opts.Mapper, err = apiutil.NewDynamicRESTMapper(cfg, opts.HTTPClient); err != nil {
			return nil, fmt.Errorf("could not create RESTMapper from config: %w", err)
		}
	}
	live, err := kclient.New(cfg, kclient.Options{
		Scheme: opts.Scheme, Mapper: opts.Mapper, HTTPClient: client.CountRequests(opts.HTTPClient), Logger: logf.Slog(log),
	})
	if err != nil {
		return nil, err
	}
	c := &informerCache{
		live: live, opts: opts, byObject: map[schema.GroupVersionKind]ByObject{},
		started: make(chan struct{}), kinds: map[kindKey]*kind{},
	}
	for obj, of := range opts.ByObject {
		namespaced, err := apiutil.IsObjectNamespaced(obj, opts.Scheme, opts.Mapper)
		if err != nil {
			return nil, fmt.Errorf("failed to determine if %T is namespaced: %w", obj, err)
		}
		if !namespaced && of.Namespaces != nil {
			return nil, fmt.Errorf("type %T is not namespaced, but its ByObject.Namespaces setting is not nil", obj)
		}
		gvk, err := apiutil.GVKForObject(obj, opts.Scheme)
		if err != nil {
			return nil, fmt.Errorf("failed to get GVK for type %T: %w", obj, err)
		}
		c.byObject[gvk] = of
	}
	return c, nil
}

// check returns an error for options without support.
func (o *Options) check() error {
	switch {
	case o.DefaultWatchErrorHandler != nil:
		return fmt.Errorf("cache.Options.DefaultWatchErrorHandler is not supported: the cache logs failing watches")
	case o.NewInformer != nil:
		return fmt.Errorf("cache.Options.NewInformer is not supported: the cache has informers of its own")
	}
	for obj, of := range o.ByObject {
		period := of.SyncPeriod
		if period == nil {
			period = o.SyncPeriod
		}
		for namespace, config := range of.Namespaces {
			if !isSame(config.SyncPeriod, period) {
				return fmt.Errorf("the SyncPeriod of namespace %q of %T must be that of the kind", namespace, obj)
			}
		}
	}
	for namespace, config := range o.DefaultNamespaces {
		if !isSame(config.SyncPeriod, o.SyncPeriod) {
			return fmt.Errorf("the SyncPeriod of namespace %q must be that of the cache", namespace)
		}
	}
	return nil
}

func isSame(period, other *time.Duration) bool {
	return period == nil || other != nil && *period == *other || other == nil && *period == defaultSyncPeriod
}

// TransformStripManagedFields returns a transform that removes the managed fields.
func TransformStripManagedFields() toolscache.TransformFunc {
	return func(in any) (any, error) {
		if obj, err := meta.Accessor(in); err == nil && obj.GetManagedFields() != nil {
			obj.SetManagedFields(nil)
		}
		return in, nil
	}
}

// optionsOf are the options of one kind, in which the cache's options are the defaults.
type optionsOf struct {
	namespaces map[string]Config
	defaults   Config
	period     time.Duration
}

func (c *informerCache) optionsOf(gvk schema.GroupVersionKind) optionsOf {
	of := c.byObject[gvk]
	all := Config{
		LabelSelector: c.opts.DefaultLabelSelector, FieldSelector: c.opts.DefaultFieldSelector,
		Transform: c.opts.DefaultTransform, UnsafeDisableDeepCopy: c.opts.DefaultUnsafeDisableDeepCopy,
		SyncPeriod: c.opts.SyncPeriod,
	}
	own := Config{
		LabelSelector: of.Label, FieldSelector: of.Field, Transform: of.Transform,
		UnsafeDisableDeepCopy: of.UnsafeDisableDeepCopy, SyncPeriod: of.SyncPeriod,
	}
	namespaces := of.Namespaces
	if namespaces == nil {
		namespaces = c.opts.DefaultNamespaces
	}
	o := optionsOf{namespaces: map[string]Config{}, defaults: own.or(all), period: defaultSyncPeriod}
	for namespace, config := range namespaces {
		o.namespaces[namespace] = config.or(own).or(c.opts.DefaultNamespaces[namespace]).or(all)
	}
	if o.defaults.SyncPeriod != nil {
		o.period = *o.defaults.SyncPeriod
	}
	if o.period > 0 { // spreads the resyncs of a program's informers
		o.period += time.Duration(rand.Float64() * float64(o.period) / 10)
	}
	return o
}

// or returns c with unset options taken from other.
func (c Config) or(other Config) Config {
	if c.LabelSelector == nil {
		c.LabelSelector = other.LabelSelector
	}
	if c.FieldSelector == nil {
		c.FieldSelector = other.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = other.Transform
	}
	if c.UnsafeDisableDeepCopy == nil {
		c.UnsafeDisableDeepCopy = other.UnsafeDisableDeepCopy
	}
	if c.SyncPeriod == nil {
		c.SyncPeriod = other.SyncPeriod
	}
	return c
}

// scope returns the options of a namespace for kctrl's cache.
func (c Config) scope() kclient.Scope {
	return kclient.Scope{Labels: c.LabelSelector, Fields: c.FieldSelector, KeepManagedFields: true}
}

// scopes returns the scope of each namespace.
func (o optionsOf) scopes() map[string]kclient.Scope {
	scopes := map[string]kclient.Scope{}
	for namespace, config := range o.namespaces {
		scopes[namespace] = config.scope()
	}
	return scopes
}

// config returns the options of a namespace.
func (o optionsOf) config(namespace string) Config {
	if config, ok := o.namespaces[namespace]; ok {
		return config
	}
	if config, ok := o.namespaces[AllNamespaces]; ok {
		return config
	}
	return o.defaults
}

// transforms reports whether a namespace has a transform.
func (o optionsOf) transforms() bool {
	return o.defaults.Transform != nil || slices.ContainsFunc(slices.Collect(maps.Values(o.namespaces)),
		func(c Config) bool { return c.Transform != nil })
}
