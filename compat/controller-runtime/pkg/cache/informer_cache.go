package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kcache "github.com/kctrl-dev/kctrl/runtime/cache"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// ErrCacheNotStarted is the error of a read before Start.
type ErrCacheNotStarted struct{}

// Error implements error.
func (*ErrCacheNotStarted) Error() string { return "the cache is not started, can not read objects" }

// ErrResourceNotCached is the error of a read of a kind without an informer, if ReaderFailOnMissingInformer is set.
type ErrResourceNotCached struct {
	GVK schema.GroupVersionKind
}

// Error implements error.
func (r ErrResourceNotCached) Error() string { return fmt.Sprintf("%s is not cached", r.GVK.String()) }

// form is the form in which objects are cached: typed, unstructured or only metadata.
type form int8

const (
	typed form = iota
	unstructuredForm
	metadata
)

func formOf(obj runtime.Object) form {
	switch obj.(type) {
	case runtime.Unstructured:
		return unstructuredForm
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metadata
	}
	return typed
}

type kindKey struct {
	gvk  schema.GroupVersionKind
	form form
}

// kind is the cache of one kind in one form.
type kind struct {
	cache     *kcache.Cache // only for this kind
	informer  *kcache.Informer
	prototype client.Object
	opts      optionsOf
	scoped    bool // only the namespaces of opts are cached
	stopped   chan struct{}
	stop      context.CancelFunc // nil before the kind runs
}

// informerCache is a [Cache] with a separate cache of kctrl for each kind and form, because each kind has its own
// options and lifetime.
type informerCache struct {
	live     *kclient.REST
	opts     Options
	byObject map[schema.GroupVersionKind]ByObject
	started  chan struct{} // closed by Start

	mu      sync.Mutex
	kinds   map[kindKey]*kind
	ctx     context.Context // context of Start; nil before Start
	running sync.WaitGroup
}

var _ Cache = (*informerCache)(nil)

// Journal returns the journal of writes for which reads of the cache wait.
func (c *informerCache) Journal() *kclient.Journal { return c.live.Journal() }

// NeedLeaderElection returns false: caches run in every process.
func (c *informerCache) NeedLeaderElection() bool { return false }

func (c *informerCache) isStarted() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// Start implements [Informers].
func (c *informerCache) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.ctx != nil {
		c.mu.Unlock()
		return errors.New("informer already started")
	}
	c.ctx = ctx
	for _, k := range c.kinds {
		c.runLocked(k)
	}
	close(c.started)
	c.mu.Unlock()
	<-ctx.Done()
	c.running.Wait()
	return nil
}

// runLocked runs the cache of a kind.
func (c *informerCache) runLocked(k *kind) {
	ctx, stop := context.WithCancel(c.ctx)
	k.stop = stop
	k.cache.Begin()
	c.running.Go(func() {
		defer close(k.stopped)
		defer stop()
		if err := k.cache.Run(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "cache ended", "kind", k.informer.GVK())
		}
	})
}

// of returns the cache for the kind and form of obj, and creates it if necessary.
func (c *informerCache) of(obj client.Object) (*kind, error) {
	gvk, err := apiutil.GVKForObject(obj, c.live.Scheme())
	if err != nil {
		return nil, err
	}
	return c.ofKind(kindKey{gvk, formOf(obj)}, obj)
}

// known returns the cache of a kind, or nil.
func (c *informerCache) known(key kindKey) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[key]
}

func (c *informerCache) ofKind(key kindKey, prototype client.Object) (*kind, error) {
	if k := c.known(key); k != nil {
		return k, nil
	}
	// Called without the lock, because it may send a request.
	if _, err := c.live.RESTMapper().RESTMapping(key.gvk.GroupKind(), key.gvk.Version); err != nil {
		return nil, err
	}
	k, err := c.newKind(key, prototype)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if existing := c.kinds[key]; existing != nil {
		return existing, nil
	}
	if c.ctx != nil && c.ctx.Err() != nil {
		return nil, fmt.Errorf("the cache has ended: %w", context.Cause(c.ctx))
	}
	c.kinds[key] = k
	if c.ctx != nil {
		c.runLocked(k)
	}
	return k, nil
}

func (c *informerCache) newKind(key kindKey, prototype client.Object) (*kind, error) {
	prototype, err := c.prototype(key, prototype)
	if err != nil {
		return nil, err
	}
	k := &kind{prototype: prototype, opts: c.optionsOf(key.gvk), stopped: make(chan struct{})}
	options := kcache.KindOptions{Object: prototype, Scope: k.opts.defaults.scope()}
	if len(k.opts.namespaces) > 0 {
		namespaced, err := apiutil.IsGVKNamespaced(key.gvk, c.live.RESTMapper())
		if err != nil {
			return nil, err
		}
		if namespaced {
			options.ByNamespace = k.opts.scopes()
			_, all := k.opts.namespaces[AllNamespaces]
			k.scoped = !all
		}
	}
	if k.opts.transforms() {
		options.Transform = k.transform
	}
	k.cache = kcache.New(c.live, kcache.Options{
		ByKind: []kcache.KindOptions{options}, Resync: k.opts.period, KeepManagedFields: true,
		Logger: logf.Slog(log), Metrics: metrics.Kctrl(),
	})
	k.informer, err = k.cache.Informer(prototype)
	return k, err
}

// transform applies the transform of obj's namespace.
func (k *kind) transform(obj client.Object) (client.Object, error) {
	f := k.opts.config(obj.GetNamespace()).Transform
	if f == nil {
		return obj, nil
	}
	changed, err := f(obj)
	if err != nil {
		return obj, err
	}
	o, ok := changed.(client.Object)
	if !ok {
		return obj, fmt.Errorf("the transform of %T returned a %T", obj, changed)
	}
	return o, nil
}

// prototype returns an empty object of a kind.
func (c *informerCache) prototype(key kindKey, given client.Object) (client.Object, error) {
	switch key.form {
	case unstructuredForm:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(key.gvk)
		return u, nil
	case metadata:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(key.gvk)
		return m, nil
	}
	o, err := c.live.Scheme().New(key.gvk)
	if err != nil {
		return nil, err
	}
	obj, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", o)
	}
	return obj, nil
}

// wait waits until k has synced. If the server does not have the kind, wait removes k, so that a later call tries
// again.
func (c *informerCache) wait(ctx context.Context, k *kind) error {
	err := k.informer.Wait(ctx)
	switch {
	case meta.IsNoMatchError(err):
		c.forget(k)
	case err != nil && ctx.Err() != nil:
		return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %T Informer to sync", k.prototype), 0)
	}
	return err
}

// forget stops k and removes it.
func (c *informerCache) forget(k *kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, other := range c.kinds {
		if other == k {
			delete(c.kinds, key)
		}
	}
	if k.stop != nil {
		k.stop()
	}
}

// Kctrl returns kctrl's cache for the kind of obj, and the prototype for a watch. Only packages of this module use it.
func (c *informerCache) Kctrl(obj client.Object) (*kcache.Cache, client.Object, error) {
	k, err := c.of(obj)
	if err != nil {
		return nil, nil, err
	}
	return k.cache, k.prototype, nil
}

// Get implements client.Reader.
func (c *informerCache) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	gvk, err := apiutil.GVKForObject(obj, c.live.Scheme())
	if err != nil {
		return err
	}
	k, err := c.reading(ctx, kindKey{gvk, formOf(obj)}, obj)
	if err != nil {
		return err
	}
	if !k.has(key.Namespace) {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
	}
	o := new(client.GetOptions).ApplyOptions(opts)
	if o.UnsafeDisableDeepCopy == nil {
		o.UnsafeDisableDeepCopy = k.opts.config(key.Namespace).UnsafeDisableDeepCopy
	}
	err = k.cache.Get(ctx, key, obj, o.Cached())
	if apierrors.IsNotFound(err) || err != nil && (key.Name == "" || key.Namespace == "" && c.isNamespaced(gvk)) {
		// As in controller-runtime, the error of a cached read has the kind instead of the resource.
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	return err
}

// has reports whether the cache may have objects of a namespace.
func (k *kind) has(namespace string) bool {
	_, found := k.opts.namespaces[namespace]
	return found || !k.scoped
}

func (c *informerCache) isNamespaced(gvk schema.GroupVersionKind) bool {
	namespaced, err := apiutil.IsGVKNamespaced(gvk, c.live.RESTMapper())
	return err == nil && namespaced
}

// List implements client.Reader.
func (c *informerCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, c.live.Scheme())
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	k, err := c.reading(ctx, kindKey{gvk, formOf(list)}, nil)
	if err != nil {
		return err
	}
	o := new(client.ListOptions).ApplyOptions(opts)
	if o.Continue != "" {
		return errors.New("continue list option is not supported by the cache")
	}
	if o.Namespace != "" && !k.has(o.Namespace) {
		return fmt.Errorf("unable to list: %v because of unknown namespace for the cache", o.Namespace)
	}
	if o.UnsafeDisableDeepCopy == nil {
		o.UnsafeDisableDeepCopy = k.opts.config(o.Namespace).UnsafeDisableDeepCopy
	}
	if err := k.cache.List(ctx, list, o.Cached()); err != nil {
		if unindexed, ok := errors.AsType[*kcache.NotIndexedError](err); ok {
			return fmt.Errorf("Index with name field:%s does not exist: call IndexField of the cache",
				unindexed.Field)
		}
		return err
	}
	list.SetContinue("continue-not-supported")
	return nil
}

// reading returns the cache of a kind after it has synced.
func (c *informerCache) reading(ctx context.Context, key kindKey, prototype client.Object) (*kind, error) {
	k := c.known(key)
	if k == nil && c.opts.ReaderFailOnMissingInformer {
		return nil, &ErrResourceNotCached{GVK: key.gvk}
	}
	if k == nil {
		var err error
		if k, err = c.ofKind(key, prototype); err != nil {
			return nil, err
		}
	}
	if !c.isStarted() {
		return nil, &ErrCacheNotStarted{}
	}
	return k, c.wait(ctx, k)
}

// GetInformer implements [Informers].
func (c *informerCache) GetInformer(
	ctx context.Context, obj client.Object, opts ...InformerGetOption,
) (Informer, error) {
	k, err := c.of(obj)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, k, opts)
}

// GetInformerForKind implements [Informers].
func (c *informerCache) GetInformerForKind(
	ctx context.Context, gvk schema.GroupVersionKind, opts ...InformerGetOption,
) (Informer, error) {
	k, err := c.ofKind(kindKey{gvk, typed}, nil)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, k, opts)
}

func (c *informerCache) informer(ctx context.Context, k *kind, opts []InformerGetOption) (Informer, error) {
	var o InformerGetOptions
	for _, opt := range opts {
		opt(&o)
	}
	if c.isStarted() && (o.BlockUntilSynced == nil || *o.BlockUntilSynced) {
		if err := c.wait(ctx, k); err != nil {
			return nil, err
		}
	}
	return newInformer(k), nil
}

// RemoveInformer implements [Informers].
func (c *informerCache) RemoveInformer(_ context.Context, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, c.live.Scheme())
	if err != nil {
		return err
	}
	k := c.known(kindKey{gvk, formOf(obj)})
	if k == nil {
		return nil
	}
	c.forget(k)
	return k.cache.RemoveInformer(k.prototype)
}

// WaitForCacheSync implements [Informers].
func (c *informerCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		return false
	}
	c.mu.Lock()
	var all []*kind
	for _, k := range c.kinds {
		all = append(all, k)
	}
	c.mu.Unlock()
	for _, k := range all {
		if err := k.informer.Wait(ctx); err != nil && !errors.Is(err, kcache.ErrInformerRemoved) {
			return false
		}
	}
	return true
}

// IndexField implements client.FieldIndexer.
func (c *informerCache) IndexField(
	ctx context.Context, obj client.Object, field string, extractValue client.IndexerFunc,
) error {
	k, err := c.of(obj)
	if err != nil {
		return err
	}
	return k.cache.IndexField(ctx, k.prototype, field, kcache.IndexerFunc(extractValue))
}
