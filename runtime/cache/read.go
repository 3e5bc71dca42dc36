package cache

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/apimachinery"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Get reads the object named key into obj. It reads from the informer if the kind is declared, its cached Go type can
// be converted to the Go type of obj, and the namespace is cached. Otherwise, and with [client.Live] or
// [client.NotOlderThan], it reads directly from the API server.
func (c *Cache) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	return Reader{c, c.live}.Get(ctx, key, obj, opts...)
}

// Reader reads from a cache, and sends live reads through another client.
type Reader struct {
	Cache *Cache
	Live  client.Reader
}

// Get is [Cache.Get] with live reads through r.Live.
func (r Reader) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	cached, mayShare, err := r.Cache.lookUp(ctx, key, obj, opts)
	switch {
	case err != nil:
		return err
	case cached == nil:
		return r.Live.Get(ctx, key, obj, opts...)
	case !mayShare:
		cached = cached.DeepCopyObject().(object.Object)
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(cached).Elem())
	return nil
}

// lookUp returns the object named key in the Go type of prototype, or nil if the read must be live. The object is
// shared with the cache, which the caller may pass on if mayShare is set.
func (c *Cache) lookUp(ctx context.Context, key object.Key, prototype object.Object,
	opts []client.GetOption) (cached object.Object, mayShare bool, err error) {
	o, err := client.GetOptionsOf(opts...)
	if err != nil {
		return nil, false, fmt.Errorf("get %s: %w", key, err)
	}
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return nil, false, fmt.Errorf("get %s: %w", key, err)
	}
	i := c.cached(gvk, o.Live || o.NotOlderThan != "")
	if i == nil {
		return nil, false, nil
	}
	cached, err = c.get(ctx, i, key, prototype, o)
	return cached, o.UnsafeDisableDeepCopy || i.stored.Load().packed, err
}

// cached returns the informer that serves reads of a kind, or nil for live reads.
func (c *Cache) cached(gvk schema.GroupVersionKind, live bool) *Informer {
	if live {
		return nil
	}
	i := c.declared(gvk)
	switch {
	case i == nil:
		c.warnUndeclared(gvk)
		return nil
	case i.live:
		return nil
	}
	return i
}

// get returns the object named key in the Go type of prototype, or nil if the read must be live.
func (c *Cache) get(ctx context.Context, i *Informer, key object.Key, prototype object.Object,
	o client.GetOptions) (object.Object, error) {
	convert, ok := i.to(prototype)
	p := i.stored.Load().informers.of(key.Namespace)
	if !ok || p == nil || life.IsClosed(i.removed) {
		return nil, nil
	}
	cached, err := i.get(ctx, p, key, o)
	switch {
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", i.gvk.Kind, key, err)
	// Checked only if no object was found, because it may send a discovery request.
	case cached == nil && key.Namespace != "" && c.isClusterScoped(ctx, i.gvk):
		key.Namespace = "" // as the live client does
		return c.get(ctx, i, key, prototype, o)
	case cached == nil:
		return nil, c.notFound(ctx, key, i.gvk)
	}
	return convert.as(cached)
}

// get returns the object with that key, or nil if it does not exist. The object is shared.
func (i *Informer) get(ctx context.Context, p *part, key object.Key, o client.GetOptions) (object.Object, error) {
	var before writes.Snapshot
	if !o.DisableReadYourWritesConsistency {
		// This comes first, because the read must see all writes before this call.
		before = p.tracker.Before(key)
	}
	if !life.IsClosed(i.begun) {
		return nil, ErrNotRunning
	}
	if err := i.ready(ctx, p); err != nil {
		return nil, err
	}
	if before.IsEmpty() {
		obj, _ := p.store.Get(key)
		return obj, nil
	}
	r := &reading{informer: i, sources: []source{{p, before}}}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	found, err := r.read(ctx, func(p *part) []object.Object {
		if obj, ok := p.store.Get(key); ok {
			return []object.Object{obj}
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// notFound returns the API server's error for a key that the store does not have: NotFound for an absent object, or
// another error for a key that no object of the kind can have.
func (c *Cache) notFound(ctx context.Context, key object.Key, gvk schema.GroupVersionKind) error {
	mapping, err := apimachinery.RESTMapping(ctx, c.live.RESTMapper(), gvk.GroupKind(), gvk.Version)
	if err != nil { // the store has synced, so the kind is known
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return apierrors.NewNotFound(plural.GroupResource(), key.Name)
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case key.Name == "":
		return fmt.Errorf("get %s %s: the name is empty", gvk.Kind, key)
	case namespaced && key.Namespace == "":
		return fmt.Errorf("get %s %s: the kind is namespaced, and the namespace is empty", gvk.Kind, key)
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), key.Name)
}

// HiddenBy describes the selectors of o's kind, because of which the cache may lack o although o exists. It returns ""
// if the cache has o, if the kind has no selectors, or if it is read live.
func (c *Cache) HiddenBy(o object.Object) string {
	gvk, err := object.GVK(o, c.live.Scheme())
	if err != nil {
		return ""
	}
	i := c.declared(gvk)
	if i == nil || i.live {
		return ""
	}
	key := object.KeyOf(o)
	p := i.stored.Load().informers.of(key.Namespace)
	if p == nil || p.store.Has(key) {
		return ""
	}
	var selectors []string
	if s := p.server.scope.Labels; s != nil && !s.Empty() {
		selectors = append(selectors, fmt.Sprintf("labels %q", s))
	}
	if s := p.server.scope.Fields; s != nil && !s.Empty() {
		selectors = append(selectors, fmt.Sprintf("fields %q", s))
	}
	if len(selectors) == 0 {
		return ""
	}
	return fmt.Sprintf("it caches only objects of kind %s with %s", gvk.Kind, strings.Join(selectors, " and "))
}

// HiddenBy is [Cache.HiddenBy] of r.Cache.
func (r Reader) HiddenBy(o object.Object) string { return r.Cache.HiddenBy(o) }

// isClusterScoped reports whether a kind is known to be cluster-scoped.
func (c *Cache) isClusterScoped(ctx context.Context, gvk schema.GroupVersionKind) bool {
	mapping, err := apimachinery.RESTMapping(ctx, c.live.RESTMapper(), gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
}

// dropNamespace removes the namespace from o for a declared cluster-scoped kind, as the live client does. Before the
// cache runs, it does nothing, because the read then fails in any case.
func (c *Cache) dropNamespace(ctx context.Context, gvk schema.GroupVersionKind, o *client.ListOptions) {
	if o.Namespace != "" && c.declared(gvk) != nil && c.hasBegun() && c.isClusterScoped(ctx, gvk) {
		o.Namespace = ""
	}
}

// List reads objects into list, ordered by namespace and name. It reads from the informer if the kind is declared, its
// cached Go type can be converted to the Go type of the items, and the namespace is cached. Otherwise, and with
// [client.Live] or [client.NotOlderThan], it reads directly from the API server. In a cached List, each field of a
// field selector except metadata.name and metadata.namespace must have an index, see [Cache.IndexField]; otherwise List
// fails with a [*NotIndexedError]. A limit splits the list into pages. Unlike pages from the server, each page has the
// state of the time at which it is read.
func (c *Cache) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	return Reader{c, c.live}.List(ctx, list, opts...)
}

// List is [Cache.List] with live reads through r.Live.
func (r Reader) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	c := r.Cache
	o, err := client.ListOptionsOf(opts...)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	gvk, err := object.GVK(list, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	c.dropNamespace(ctx, gvk, &o)
	// The live client may support an item type that the cache cannot create.
	prototype, ok := itemOf(list)
	if !ok {
		return r.Live.List(ctx, list, opts...)
	}
	i, parts, convert := c.answering(gvk, prototype, o)
	if i == nil {
		return r.Live.List(ctx, list, opts...)
	}
	version := ""
	matching, err := i.each(ctx, parts, o, func(q *query, p *part) iter.Seq[object.Object] {
		version = p.store.ResourceVersion()
		return q.each(p)
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	if len(parts) > 1 {
		version = "" // the watches of several namespaces do not have a common version
	}
	o.UnsafeDisableDeepCopy = o.UnsafeDisableDeepCopy || i.stored.Load().packed
	return fill(list, slices.Collect(matching), version, o, convert)
}

// each iterates over the objects that all returns for the parts, in their state at the time of the call. The query of
// o, which all receives, must select these objects. They are shared. each waits until they are not older than any
// earlier write, and calls all again after an outdated result. If the stores have all writes, it unpacks the objects
// lazily.
func (i *Informer) each(ctx context.Context, parts []*part, o client.ListOptions,
	all func(*query, *part) iter.Seq[object.Object]) (iter.Seq[object.Object], error) {
	q, err := i.query(o)
	if err != nil {
		return nil, err
	}
	r, err := i.begin(ctx, parts, q)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.sources, func(s source) bool { return !s.before.IsEmpty() }) {
		objects, err := r.read(ctx, func(p *part) []object.Object { return slices.Collect(all(q, p)) })
		return slices.Values(objects), err
	}
	var each []iter.Seq[object.Object]
	for _, p := range parts {
		each = append(each, all(q, p))
	}
	return func(yield func(object.Object) bool) {
		for _, objects := range each {
			for obj := range objects {
				if !yield(obj) {
					return
				}
			}
		}
	}, nil
}

// begin waits until parts can be read for q, and returns the read.
func (i *Informer) begin(ctx context.Context, parts []*part, q *query) (*reading, error) {
	r := &reading{informer: i}
	// Read all trackers before waiting for any part, so that the read sees the writes before one point in time.
	for _, part := range parts {
		var before writes.Snapshot
		if !q.DisableReadYourWritesConsistency {
			before = part.tracker.BeforeList(q.selectsKey, q.LabelSelector)
		}
		r.sources = append(r.sources, source{part, before})
	}
	if !life.IsClosed(i.begun) {
		return nil, ErrNotRunning
	}
	for _, p := range parts {
		if err := i.ready(ctx, p); err != nil {
			return nil, err
		}
	}
	return r, r.begin(ctx)
}

// answering returns the informer and the parts that serve a List, and the conversion to the Go type of prototype. The
// informer is nil if the List must be live.
func (c *Cache) answering(gvk schema.GroupVersionKind, prototype object.Object,
	o client.ListOptions) (*Informer, []*part, convert) {
	i := c.cached(gvk, o.Live || o.NotOlderThan != "")
	if i == nil {
		return nil, nil, nil
	}
	convert, ok := i.to(prototype)
	// Only the server can continue a List with a token that it issued.
	if _, fromCache := afterToken(o.Continue); !fromCache || !ok {
		return nil, nil, nil
	}
	parts := i.in(o.Namespace)
	// Without parts, the namespace is not cached. If no namespace was requested, an empty list is correct unless the
	// informer has been removed.
	if len(parts) == 0 && o.Namespace != "" || life.IsClosed(i.removed) {
		return nil, nil, nil
	}
	return i, parts, convert
}

// fill sets the items of list to copies of the objects, or to the objects themselves if o requests that.
func fill(list object.List, matching []object.Object, version string, o client.ListOptions, convert convert) error {
	// Pages require an order. Use the server's, which programs may expect.
	slices.SortFunc(matching, func(a, b object.Object) int { return compareKeys(object.KeyOf(a), object.KeyOf(b)) })
	next := ""
	if o.Limit > 0 && int64(len(matching)) > o.Limit {
		matching = matching[:o.Limit]
		next = tokenPrefix + object.KeyOf(matching[len(matching)-1]).String()
	}
	items := make([]runtime.Object, len(matching))
	for n, cached := range matching {
		item, err := convert.as(cached)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		if !o.UnsafeDisableDeepCopy {
			items[n] = item.DeepCopyObject()
		} else {
			items[n] = item
		}
	}
	list.SetResourceVersion(version)
	list.SetContinue(next)
	list.SetRemainingItemCount(nil)
	return meta.SetList(list, items)
}

// itemOf returns an empty object of the item type of list. It reports false if the items are not objects.
func itemOf(list object.List) (object.Object, bool) {
	itemsPtr, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil, false
	}
	item := reflect.TypeOf(itemsPtr).Elem().Elem()
	if item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	o, ok := reflect.New(item).Interface().(object.Object)
	return o, ok
}

// View returns the object named key without a copy. The object is shared with the cache: it must not be modified, nor
// passed to code that may modify it, such as a write. View declares the kind of prototype, as [Cache.Informer] does,
// and reads and waits as [Cache.Get] does. The result of a live read is not shared.
func View[T object.Object](ctx context.Context, c *Cache, key object.Key, prototype T,
	opts ...client.GetOption) (T, error) {
	var none T
	cached, _, err := c.lookUp(ctx, key, prototype, opts)
	switch {
	case err != nil:
		return none, err
	case cached != nil:
		return cached.(T), nil
	}
	live := prototype.DeepCopyObject().(T)
	if err := c.live.Get(ctx, key, live, opts...); err != nil {
		return none, err
	}
	return live, nil
}

// Each returns an iterator over the objects that [Cache.List] would return for opts, in no particular order and without
// copies. The objects are shared with the cache: they must not be modified, nor passed to code that may modify them,
// such as a write. Each declares the kind of prototype, as [Cache.Informer] does.
//
// At its beginning, the iteration waits as List does. It sees the state of that time, and holds no lock while it
// yields. Live reads are paged, and their objects are not shared. On an error, the iterator yields the error with the
// zero value of T, and ends.
func Each[T object.Object](ctx context.Context, c *Cache, prototype T, opts ...client.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := each(ctx, c, prototype, opts, yield); err != nil {
			var none T
			yield(none, err)
		}
	}
}

// each yields the objects of [Each] until yield returns false. It returns an error that it has not yielded.
func each[T object.Object](
	ctx context.Context, c *Cache, prototype T, opts []client.ListOption, yield func(T, error) bool,
) error {
	o, err := client.ListOptionsOf(opts...)
	if err == nil && (o.Limit != 0 || o.Continue != "") {
		err = fmt.Errorf("an iteration has no pages")
	}
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	c.dropNamespace(ctx, gvk, &o)
	i, parts, convert := c.answering(gvk, prototype, o)
	if i == nil {
		if o.Namespace != "" && c.isClusterScoped(ctx, gvk) {
			o.Namespace = "" // as the live client does
		}
		return eachLive(ctx, c, prototype, o, yield)
	}
	matching, err := i.each(ctx, parts, o, (*query).each)
	if err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return eachShared(matching, convert, yield)
}

// eachShared yields the objects as values of type T until yield returns false. It fails if a conversion fails.
func eachShared[T object.Object](objects iter.Seq[object.Object], convert convert, yield func(T, error) bool) error {
	for cached := range objects {
		obj, err := convert.as(cached)
		if err != nil {
			return err
		}
		if !yield(obj.(T), nil) {
			return nil
		}
	}
	return nil
}

// livePage is the number of objects per request.
const livePage = 500

// eachLive yields the objects that the server lists until yield returns false.
func eachLive[T object.Object](ctx context.Context, c *Cache, prototype T, o client.ListOptions,
	yield func(T, error) bool) error {
	watcher, err := client.NewListWatcher(c.live, prototype, client.Scope{
		Namespace: o.Namespace, Labels: o.LabelSelector, Fields: o.FieldSelector, KeepManagedFields: true,
	})
	if err != nil {
		return err
	}
	page := metav1.ListOptions{Limit: livePage}
	if o.NotOlderThan != "" {
		page.ResourceVersion, page.ResourceVersionMatch = o.NotOlderThan, metav1.ResourceVersionMatchNotOlderThan
	}
	for {
		got, err := watcher.List(ctx, page)
		if err != nil {
			return err
		}
		for _, item := range got.Items {
			if !yield(item, nil) {
				return nil
			}
		}
		if got.Continue == "" {
			return nil
		}
		page = metav1.ListOptions{Limit: livePage, Continue: got.Continue}
	}
}
