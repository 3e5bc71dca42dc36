package cache

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Informer declares the kind of prototype and returns its informer, which runs as long as the cache does. prototype is
// a typed object, or an unstructured or metadata-only one with its kind set; its Go type is that of the objects that
// handlers get. A kind is cached in one Go type: before the cache runs and before the first handler, in the one that has
// the most of what was asked for, from the metadata over typed objects to unstructured ones; after that it stays. Where the
// objects can be converted, from an unstructured informer to typed ones and from any to the metadata, handlers get
// objects that were; otherwise it is an error to ask for another type. A kind with a Transform is not cached unstructured
// once it was asked for typed, as that would get objects of another type. With [Options].Namespaces the API server is
// asked whether the kind has namespaces.
func (c *Cache) Informer(prototype object.Object) (*Informer, error) {
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	opts, err := c.optionsOf(gvk)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	everywhere, err := c.isEverywhere(gvk, opts) // may ask the server, so not under mu
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.informers[gvk]; ok {
		return c.viewLocked(known, prototype, opts)
	}
	i, err := c.newInformerLocked(gvk, prototype, opts, everywhere)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	c.informers[gvk] = i
	if c.stage == running {
		for _, part := range i.parts {
			c.run(part)
		}
	}
	return i, nil
}

// viewLocked returns known in the Go type of prototype.
func (c *Cache) viewLocked(known *Informer, prototype object.Object, opts KindOptions) (*Informer, error) {
	known.mu.Lock()
	defer known.mu.Unlock()
	if reflect.TypeOf(known.prototype) == reflect.TypeOf(prototype) {
		return known, nil
	}
	if _, ok := converter(known.stored, prototype, known.gvk); ok {
		return &Informer{known.kind, prototype}, nil
	}
	if !hasMore(prototype, known.stored, opts) || c.stage != created || len(known.handlers) > 0 {
		return nil, fmt.Errorf("cache: %s is cached as %T and cannot be cached as %T too", known.gvk.Kind, known.stored, prototype)
	}
	if err := known.pack(prototype); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	var parts []part
	for _, old := range known.parts {
		p, err := c.newPart(known.kind, prototype, opts, old.namespace)
		if err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
		parts = append(parts, p)
	}
	known.stored, known.parts = prototype, parts
	return &Informer{known.kind, prototype}, nil
}

// hasMore reports whether objects like wanted have all that those like stored have.
func hasMore(wanted, stored object.Object, opts KindOptions) bool {
	if _, onlyMetadata := stored.(*metav1.PartialObjectMetadata); onlyMetadata {
		return true
	}
	_, isUnstructured := wanted.(*unstructured.Unstructured)
	return isUnstructured && opts.Transform == nil
}

func (c *Cache) newInformerLocked(gvk schema.GroupVersionKind, prototype object.Object, opts KindOptions, everywhere bool) (*Informer, error) {
	k := &kind{
		gvk:        gvk,
		life:       c.life,
		patience:   c.opts.ConsistencyTimeout,
		logger:     cmp.Or(c.opts.Logger, slog.Default()),
		scope:      scope{opts.Labels, opts.Fields},
		everywhere: everywhere,
		packed:     c.opts.Packed || opts.Packed,
		stored:     prototype,
	}
	if err := k.pack(prototype); err != nil {
		return nil, err
	}
	for _, disabled := range c.opts.DisableFor {
		live, err := object.GVK(disabled, c.live.Scheme())
		if err != nil {
			return nil, fmt.Errorf("DisableFor: %w", err)
		}
		k.live = k.live || live.GroupKind() == gvk.GroupKind()
	}
	namespaces := c.namespaces
	if everywhere {
		namespaces = restricted(opts.Namespaces)
	}
	if namespaces == nil {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		p, err := c.newPart(k, prototype, opts, namespace)
		if err != nil {
			return nil, err
		}
		k.parts = append(k.parts, p)
	}
	return &Informer{k, prototype}, nil
}

// pack makes the parts of k that are made from now on keep objects like prototype packed, if they are to be.
func (k *kind) pack(prototype object.Object) (err error) {
	if k.packed {
		k.packing, err = informer.NewPacking(prototype)
	}
	return err
}

// newPart returns the part of k for one namespace. It is not started, and not among those of k.
func (c *Cache) newPart(k *kind, prototype object.Object, opts KindOptions, namespace string) (part, error) {
	mask := maskOf(opts, c.opts.Masks[k.gvk])
	watcher, err := client.NewListWatcher(c.live, prototype, client.Scope{
		Namespace:         namespace,
		Labels:            opts.Labels,
		Fields:            opts.Fields,
		KeepManagedFields: c.opts.KeepManagedFields || opts.KeepManagedFields,
		Mask:              mask,
	})
	if err != nil {
		return part{}, err
	}
	plural, _ := meta.UnsafeGuessKindToResource(k.gvk)
	l := newLedger(!k.scope.all(), c.bounds)
	i := informer.New(watcher, informer.Options[object.Object]{
		Name:      plural.GroupResource().String(),
		Namespace: namespace,
		Logger:    c.opts.Logger,
		Resync:    c.opts.Resync,
		Transform: named(k.gvk, marking(opts.Transform, mask)),
		Indexes:   k.indexes,
		Observer:  l,
		Metrics:   c.opts.Metrics,
		Packed:    k.packing,
	})
	l.store = i.Store()
	c.floors[storedAs(k.gvk.GroupKind())].lay(l, namespace, k.scope)
	return part{
		namespace: namespace,
		ledger:    l,
		server:    server{c.live, k.gvk, namespace, k.scope},
		stay:      &stay{life: c.life, ended: make(chan struct{}), removed: make(chan struct{})},
		Informer:  i,
	}, nil
}

// named returns the transform that gives objects the apiVersion and the kind of gvk, if they have none, before then, which
// may be nil. The strings are the same for all.
func named(gvk schema.GroupVersionKind, then func(object.Object) (object.Object, error)) func(object.Object) (object.Object, error) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return func(o object.Object) (object.Object, error) {
		setKind(o, apiVersion, kind)
		if then == nil {
			return o, nil
		}
		return then(o)
	}
}

// setKind makes o say what it is, unless it does.
func setKind(o object.Object, apiVersion, kind string) {
	switch is := o.GetObjectKind().(type) {
	case *metav1.TypeMeta:
		if is.Kind == "" || is.APIVersion == "" {
			is.APIVersion, is.Kind = apiVersion, kind
		}
	case *unstructured.Unstructured:
		if is.GetKind() == "" {
			is.SetAPIVersion(apiVersion)
			is.SetKind(kind)
		}
	default:
		if is.GroupVersionKind().Kind == "" {
			is.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
		}
	}
}

// isEverywhere reports whether the namespaces of the cache do not matter for a kind. One that the server does not know
// yet is taken for a namespaced one. It fails when the server cannot be asked, since a wrong answer would stay.
func (c *Cache) isEverywhere(gvk schema.GroupVersionKind, opts KindOptions) (bool, error) {
	if opts.Namespaces != nil {
		return true, nil
	}
	if restricted(c.opts.Namespaces) == nil {
		return false, nil
	}
	mapping, err := c.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameRoot, nil
}

// restricted returns namespaces in order and each once, or nil if they are all.
func restricted(namespaces []string) []string {
	if len(namespaces) == 0 || slices.Contains(namespaces, metav1.NamespaceAll) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(namespaces)))
}

// errAllNamespaces is the error for one who adds a namespace where all are cached, or removes one.
var errAllNamespaces = errors.New("cache: all namespaces are cached")

// AddNamespace caches one more namespace: handlers are told of what exists there, and reads of it are served from the
// cache. It has no effect on kinds that have namespaces of their own, and none when the namespace is cached. It fails
// when all namespaces are.
func (c *Cache) AddNamespace(namespace string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.namespaces == nil || namespace == metav1.NamespaceAll {
		return errAllNamespaces
	}
	if slices.Contains(c.namespaces, namespace) {
		return nil
	}
	added := map[*kind]part{}
	for gvk, i := range c.informers {
		if i.everywhere {
			continue
		}
		opts, err := c.optionsOf(gvk)
		if err != nil {
			return err
		}
		if added[i.kind], err = c.newPart(i.kind, i.stored, opts, namespace); err != nil {
			return err
		}
	}
	c.namespaces = restricted(append(c.namespaces, namespace))
	for k, p := range added {
		k.add(p)
		if c.stage == running {
			c.run(p)
		}
	}
	return nil
}

// add takes a part into k, for all handlers.
func (k *kind) add(p part) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, _ := slices.BinarySearchFunc(k.parts, p.namespace, func(p part, namespace string) int { return cmp.Compare(p.namespace, namespace) })
	k.parts = slices.Insert(slices.Clone(k.parts), at, p)
	for r := range k.handlers {
		r.parts[p.namespace] = p.AddHandler(r.handler)
	}
}

// RemoveNamespace caches one namespace less, and waits until nothing of it runs any more. Handlers are not told, since
// nothing was deleted; reads of it are live from then on. It fails when all namespaces are cached. It must not be called
// by a handler.
func (c *Cache) RemoveNamespace(namespace string) error {
	c.mu.Lock()
	if c.namespaces == nil {
		c.mu.Unlock()
		return errAllNamespaces
	}
	c.namespaces = slices.DeleteFunc(slices.Clone(c.namespaces), func(other string) bool { return other == namespace })
	var removed []part
	for _, i := range c.informers {
		if !i.everywhere {
			removed = append(removed, i.remove(namespace)...)
		}
	}
	c.mu.Unlock()
	for _, p := range removed {
		close(p.stay.removed)
		if p.stay.stop != nil {
			p.stay.stop()
			<-p.stay.ended
		}
		p.DropMetrics()
	}
	return nil
}

// remove takes the part of a namespace out of k.
func (k *kind) remove(namespace string) (removed []part) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parts = slices.DeleteFunc(slices.Clone(k.parts), func(p part) bool {
		if p.namespace == namespace {
			removed = append(removed, p)
		}
		return p.namespace == namespace
	})
	for r := range k.handlers {
		delete(r.parts, namespace)
	}
	return removed
}
