package cache

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

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
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Get reads the object named key into obj: from the informer when its kind is declared, in a Go type that obj can be made
// of, and its namespace is cached, and live otherwise. What [client.Live] and [client.NotOlderThan] ask for is for the
// server.
func (c *Cache) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	return Reader{c, c.live}.Get(ctx, key, obj, opts...)
}

// Reader reads as a cache does, save that another client makes the reads that are for the server.
type Reader struct {
	Cache *Cache
	Live  client.Reader
}

// Get is [Cache.Get].
func (r Reader) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	c := r.Cache
	o, err := client.GetOptionsOf(opts...)
	if err != nil {
		return fmt.Errorf("get %s: %w", key, err)
	}
	gvk, err := object.GVK(obj, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("get %s: %w", key, err)
	}
	i := c.cached(gvk, o.Live || o.NotOlderThan != "")
	cached, isCached, err := c.get(ctx, i, key, obj, o)
	if !isCached {
		return r.Live.Get(ctx, key, obj, opts...)
	}
	if err != nil {
		return err
	}
	if !o.UnsafeDisableDeepCopy && !i.stored.Load().packed {
		cached = cached.DeepCopyObject().(object.Object)
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(cached).Elem())
	return nil
}

// cached returns the informer that reads of a kind are for, or nil when they are for the server.
func (c *Cache) cached(gvk schema.GroupVersionKind, live bool) *Informer {
	if live {
		return nil
	}
	i := c.declared(gvk)
	switch {
	case i == nil:
		c.tellUndeclared(gvk)
		return nil
	case i.live:
		return nil
	}
	return i
}

// get returns the object named key in the Go type of prototype. It is shared. isCached is false when it is for the server,
// as it is when i is nil.
func (c *Cache) get(ctx context.Context, i *Informer, key object.Key, prototype object.Object, o client.GetOptions) (obj object.Object, isCached bool, err error) {
	if i == nil {
		return nil, false, nil
	}
	convert, ok := i.to(prototype)
	p := i.stored.Load().informers.of(key.Namespace)
	if !ok || p == nil || life.IsClosed(i.removed) {
		return nil, false, nil
	}
	cached, err := i.get(ctx, p, key, o)
	switch {
	case err != nil:
		return nil, true, fmt.Errorf("get %s %s: %w", i.gvk.Kind, key, err)
	// Asked only when nothing was found, since it may take a request of discovery.
	case cached == nil && key.Namespace != "" && c.isClusterScoped(ctx, i.gvk):
		key.Namespace = "" // as the live client does
		return c.get(ctx, i, key, prototype, o)
	case cached == nil:
		return nil, true, c.notFound(ctx, key, i.gvk)
	}
	obj, err = convert.as(cached)
	return obj, true, err
}

// get returns the object with that key, or nil when there is none. It is shared.
func (i *Informer) get(ctx context.Context, p *part, key object.Key, o client.GetOptions) (object.Object, error) {
	var before writes.Snapshot
	if !o.DisableReadYourWritesConsistency {
		// Before all else: the read has to see the writes until now.
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
	r := &reading{informer: i}
	r.add(p, before)
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

// notFound is the error for a key that the store does not have, in the words of the API server. A key that cannot name
// an object of the kind is another error than one that names none.
func (c *Cache) notFound(ctx context.Context, key object.Key, gvk schema.GroupVersionKind) error {
	mapping, err := apimachinery.RESTMapping(ctx, c.live.RESTMapper(), gvk.GroupKind(), gvk.Version)
	if err != nil { // the store has synced, so the kind was known
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

// HiddenBy returns why the cache does not have o although it may exist: the selectors of what is cached, as text. It is
// empty for an object that the cache has, and for a kind of which it selects nothing or that is read live.
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
	parts := i.in(key.Namespace) // at most one: a write names a namespace, or the kind has none
	if len(parts) == 0 {
		return ""
	}
	p := parts[0]
	if p.store.Has(key) {
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

// HiddenBy is [Cache.HiddenBy].
func (r Reader) HiddenBy(o object.Object) string { return r.Cache.HiddenBy(o) }

// isClusterScoped reports whether the objects of a kind are known to be in no namespace.
func (c *Cache) isClusterScoped(ctx context.Context, gvk schema.GroupVersionKind) bool {
	mapping, err := apimachinery.RESTMapping(ctx, c.live.RESTMapper(), gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot
}

// dropNamespace makes o ask for all objects of a declared kind that is cluster-scoped, as the live client does. It asks no
// server before the cache runs, when the read fails anyway.
func (c *Cache) dropNamespace(ctx context.Context, gvk schema.GroupVersionKind, o *client.ListOptions) {
	if o.Namespace != "" && c.declared(gvk) != nil && c.hasBegun() && c.isClusterScoped(ctx, gvk) {
		o.Namespace = ""
	}
}

// List reads objects into list, ordered by namespace and name: from the informer when the kind is declared, in a Go type
// that the items can be made of, and the namespace is cached, and live otherwise. What [client.Live] and
// [client.NotOlderThan] ask for is for the server. Field selectors need an index of each field that they name, see
// [Cache.IndexField], save for metadata.name and metadata.namespace: the error is a [*NotIndexedError]. With a limit the list comes in pages, as it does from the server; the pages are then not of one moment.
func (c *Cache) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	return Reader{c, c.live}.List(ctx, list, opts...)
}

// List is [Cache.List].
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
	// What has items of a form that is not known here, the server may still fill.
	prototype, ok := itemOf(list)
	if !ok {
		return r.Live.List(ctx, list, opts...)
	}
	i, parts, convert := c.answering(gvk, prototype, o)
	if i == nil {
		return r.Live.List(ctx, list, opts...)
	}
	matching, version, err := i.list(ctx, parts, o)
	if err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	o.UnsafeDisableDeepCopy = o.UnsafeDisableDeepCopy || i.stored.Load().packed
	return fill(list, matching, version, o, convert)
}

// list returns the objects that match, which are shared, and the version of the list.
func (i *Informer) list(ctx context.Context, parts []*part, o client.ListOptions) (matching []object.Object, version string, err error) {
	q, err := newQuery(i.gvk, o, i.fieldIndexes())
	if err != nil {
		return nil, "", err
	}
	matching, err = i.find(ctx, parts, q, func(p *part) []object.Object {
		version = p.store.ResourceVersion()
		return q.find(p)
	})
	if len(parts) > 1 {
		version = "" // versions of several watches are not that of one list
	}
	return matching, version, err
}

// find returns the objects that found finds in each part, which must be among those that q asks for. They are shared, and
// not older than the writes before the call, for which it waits. found may be called again when it has found one that is.
func (i *Informer) find(ctx context.Context, parts []*part, q *query, found func(*part) []object.Object) ([]object.Object, error) {
	r, err := i.begin(ctx, parts, q)
	if err != nil {
		return nil, err
	}
	return r.read(ctx, found)
}

// each is find for an iteration that unpacks an object when it comes to it, unless the stores may lack a write: then it
// has to look at the objects before. The state is that at the moment of the call.
func (i *Informer) each(
	ctx context.Context, parts []*part, q *query, all func(*part) iter.Seq[object.Object],
) (iter.Seq[object.Object], error) {
	r, err := i.begin(ctx, parts, q)
	if err != nil {
		return nil, err
	}
	if !r.hasAll() {
		objects, err := r.read(ctx, func(p *part) []object.Object { return slices.Collect(all(p)) })
		return slices.Values(objects), err
	}
	var each []iter.Seq[object.Object]
	for _, p := range parts {
		each = append(each, all(p))
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

// begin returns the read of parts that q asks for, once they can be read.
func (i *Informer) begin(ctx context.Context, parts []*part, q *query) (*reading, error) {
	r := &reading{informer: i}
	// All trackers first, so that the read is of one moment: waiting for one part takes time.
	for _, part := range parts {
		var before writes.Snapshot
		if !q.DisableReadYourWritesConsistency {
			before = part.tracker.BeforeList(q.selectsKey, q.LabelSelector)
		}
		r.add(part, before)
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

// answering returns the informer and its parts that have what a List asks for, or nil when it is for the server; and how
// to make objects like prototype of what they have.
func (c *Cache) answering(gvk schema.GroupVersionKind, prototype object.Object, o client.ListOptions) (*Informer, []*part, convert) {
	i := c.cached(gvk, o.Live || o.NotOlderThan != "")
	if i == nil {
		return nil, nil, nil
	}
	convert, ok := i.to(prototype)
	// A token of the server is for the server, which knows where its page has ended.
	if _, fromCache := afterToken(o.Continue); !fromCache || !ok {
		return nil, nil, nil
	}
	parts := i.in(o.Namespace)
	// The namespace is not cached; without a namespace there is nothing to list, which is an answer, unless the informer has gone meanwhile.
	if len(parts) == 0 && o.Namespace != "" || life.IsClosed(i.removed) {
		return nil, nil, nil
	}
	return i, parts, convert
}

// fill makes list a copy of the objects, which are shared if that was asked for.
func fill(list object.List, matching []object.Object, version string, o client.ListOptions, convert convert) error {
	// Pages need an order, and the one of the server is what programs have seen so far.
	slices.SortFunc(matching, func(a, b object.Object) int { return compareKeys(object.KeyOf(a), object.KeyOf(b)) })
	next := ""
	if o.Limit > 0 && int64(len(matching)) > o.Limit {
		matching = matching[:o.Limit]
		next = tokenAfter(matching[len(matching)-1])
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

// itemOf returns an empty object with the Go type of the items of list. It reports false when these are no objects.
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

// View returns the object named key without a copy: it is shared with the cache and must not be modified, nor passed to
// what may modify it, such as a write. prototype says the kind, as it does for [Cache.Informer]. Which objects are found,
// and when it waits, is as it is for [Cache.Get]; what is for the server is read live, and is not shared.
func View[T object.Object](ctx context.Context, c *Cache, key object.Key, prototype T, opts ...client.GetOption) (T, error) {
	var none T
	o, err := client.GetOptionsOf(opts...)
	if err != nil {
		return none, fmt.Errorf("get %s: %w", key, err)
	}
	gvk, err := object.GVK(prototype, c.live.Scheme())
	if err != nil {
		return none, fmt.Errorf("get %s: %w", key, err)
	}
	i := c.cached(gvk, o.Live || o.NotOlderThan != "")
	cached, isCached, err := c.get(ctx, i, key, prototype, o)
	if err != nil {
		return none, err
	}
	if isCached {
		return cached.(T), nil
	}
	live := prototype.DeepCopyObject().(T)
	if err := c.live.Get(ctx, key, live, opts...); err != nil {
		return none, err
	}
	return live, nil
}

// Each returns an iterator over the objects that a [Cache.List] with these options would return, in no order and without
// copies: they are shared with the cache and must not be modified, nor passed to what may modify them, such as a write.
// prototype says the kind, as it does for [Cache.Informer]. The iteration begins like a List, which may wait, sees the
// state of that moment, and holds no lock while it yields. What is for the server is read live, page by page, and is not
// shared. After an error, which comes with the zero value of T, the iteration ends.
func Each[T object.Object](ctx context.Context, c *Cache, prototype T, opts ...client.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		o, err := client.ListOptionsOf(opts...)
		if err == nil && (o.Limit != 0 || o.Continue != "") {
			err = fmt.Errorf("an iteration has no pages")
		}
		if err != nil {
			yield(none, fmt.Errorf("list: %w", err))
			return
		}
		gvk, err := object.GVK(prototype, c.live.Scheme())
		if err != nil {
			yield(none, fmt.Errorf("list: %w", err))
			return
		}
		c.dropNamespace(ctx, gvk, &o)
		i, parts, convert := c.answering(gvk, prototype, o)
		if i == nil {
			if o.Namespace != "" && c.isClusterScoped(ctx, gvk) {
				o.Namespace = "" // as the live client does
			}
			eachLive(ctx, c, prototype, o, yield)
			return
		}
		var matching iter.Seq[object.Object]
		q, err := newQuery(i.gvk, o, i.fieldIndexes())
		if err == nil {
			matching, err = i.each(ctx, parts, q, q.each)
		}
		if err != nil {
			yield(none, fmt.Errorf("list %s: %w", gvk.Kind, err))
			return
		}
		eachShared(matching, convert, yield)
	}
}

// eachShared yields the objects as Ts, until yield wants no more or one cannot be converted.
func eachShared[T object.Object](objects iter.Seq[object.Object], convert convert, yield func(T, error) bool) {
	for cached := range objects {
		obj, err := convert.as(cached)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		if !yield(obj.(T), nil) {
			return
		}
	}
}

// livePage is how many objects one request asks for.
const livePage = 500

// eachLive yields the objects that the server lists.
func eachLive[T object.Object](ctx context.Context, c *Cache, prototype T, o client.ListOptions, yield func(T, error) bool) {
	var none T
	watcher, err := client.NewListWatcher(c.live, prototype, client.Scope{
		Namespace: o.Namespace, Labels: o.LabelSelector, Fields: o.FieldSelector, KeepManagedFields: true,
	})
	if err != nil {
		yield(none, err)
		return
	}
	page := metav1.ListOptions{Limit: livePage}
	if o.NotOlderThan != "" {
		page.ResourceVersion, page.ResourceVersionMatch = o.NotOlderThan, metav1.ResourceVersionMatchNotOlderThan
	}
	for {
		got, err := watcher.List(ctx, page)
		if err != nil {
			yield(none, err)
			return
		}
		for _, item := range got.Items {
			if !yield(item, nil) {
				return
			}
		}
		if got.Continue == "" {
			return
		}
		page = metav1.ListOptions{Limit: livePage, Continue: got.Continue}
	}
}
