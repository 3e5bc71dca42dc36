package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Index finds cached objects of type T by values of type K that a function computes from them. It is safe for
// concurrent use. The objects are shared with the cache and must not be modified.
type Index[T object.Object, K comparable] struct {
	cache     *Cache
	informer  *Informer
	prototype T
	index     values[K]
}

// NewIndex declares the kind of prototype, as [Cache.Informer] does, and indexes each object by the results of values.
// An object without values is not in the index. The result of values must depend only on the object. values runs while
// the cache changes, so it must not read the cache. NewIndex is cheapest before the cache runs. It fails for a kind
// that is read live.
func NewIndex[T object.Object, K cmp.Ordered](c *Cache, prototype T, values func(T) []K) (*Index[T, K], error) {
	i, err := c.indexable(prototype)
	if err != nil {
		return nil, err
	}
	index := newValues(of(i.gvk, prototype, values))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.addIndexLocked(index)
	return &Index[T, K]{cache: c, informer: i, prototype: prototype, index: index}, nil
}

// of returns a function that converts an object from the cached Go type and calls values for it.
func of[T object.Object, K any](gvk schema.GroupVersionKind, prototype T, values func(T) []K) func(object.Object) []K {
	return func(o object.Object) []K {
		convert, ok := converter(o, prototype, gvk)
		if !ok {
			return nil
		}
		typed, err := convert.as(o)
		if err != nil {
			return nil // reads of the object return the error
		}
		return values(typed.(T))
	}
}

// indexable returns [Cache.Informer] for a kind that is not read live.
func (c *Cache) indexable(prototype object.Object) (*Informer, error) {
	i, err := c.Informer(prototype)
	if err == nil && i.live {
		err = fmt.Errorf("cache: %s is read live, and cannot be indexed", i.gvk.Kind)
	}
	return i, err
}

// addIndexLocked adds an index to all current and future parts.
func (k *kind) addIndexLocked(ix index) {
	k.indexes = append(k.indexes[:len(k.indexes):len(k.indexes)], ix)
	ix.addTo(k.stored.Load().informers)
}

// IndexerFunc returns the values of a field of an object. An object without values is not in the index. The result must
// depend only on the object. The function must not modify the object.
type IndexerFunc func(object.Object) []string

// FieldIndexer declares fields by which cached objects can be listed. *[Cache] implements it.
type FieldIndexer interface {
	IndexField(ctx context.Context, prototype object.Object, field string, values IndexerFunc) error
}

var _ FieldIndexer = (*Cache)(nil)

// fieldIndex is an index that [Cache.IndexField] created.
type fieldIndex struct {
	values func(object.Object) []string
	index  values[string]
}

// IndexField declares the kind of prototype, as [Cache.Informer] does, and indexes it by a field, so that a List with
// [client.MatchingFields] selects the objects for which values returns the requested value. The name of the field is
// arbitrary. values receives objects of the Go type of prototype. A List with several fields selects objects that match
// all of them. IndexField is cheapest before the cache runs. It sends no request and ignores ctx. It fails if the field
// is already indexed, and for a kind that is read live.
func (c *Cache) IndexField(ctx context.Context, prototype object.Object, field string, values IndexerFunc) error {
	i, err := c.indexable(prototype)
	switch {
	case err != nil:
		return err
	case field == "" || field == nameField || field == namespaceField:
		return fmt.Errorf("cache: index %s by %q: this needs no index, or has no name", i.gvk.Kind, field)
	}
	typed := of(i.gvk, prototype, values)
	index := &fieldIndex{typed, newValues(typed)}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fields[field] != nil {
		return fmt.Errorf("cache: %s is indexed by %s already", i.gvk.Kind, field)
	}
	i.addIndexLocked(index.index)
	fields := map[string]*fieldIndex{field: index}
	maps.Copy(fields, i.fields)
	i.fields = fields
	return nil
}

// NotIndexedError is the error of a cached read that selects by a field without an index.
type NotIndexedError struct {
	GVK   schema.GroupVersionKind
	Field string
}

// Error returns the name of the field, and how to index it.
func (e *NotIndexedError) Error() string {
	return fmt.Sprintf("the cache has no index of %s by %s; declare it before the cache runs: IndexField(ctx, &%s{}, "+
		"%q, func(o object.Object) []string {...}); or let the server select, with client.Live",
		e.GVK.Kind, e.Field, e.GVK.Kind, e.Field)
}

// Get returns an iterator over the objects that have value, in no particular order. It waits as [Cache.List] does. It
// supports the selectors, the namespace and the consistency option of a List, and ignores other options. On an error,
// the iterator yields the error with the zero value of T, and ends.
func (ix *Index[T, K]) Get(ctx context.Context, value K, opts ...client.ListOption) iter.Seq2[T, error] {
	return ix.read(ctx, opts, func(p *part) iter.Seq[object.Object] { return ix.index.get(p, value) })
}

// Range returns an iterator over the objects that have a value v with from <= v < to, ordered by value within each
// cached namespace. In all other respects it is like [Index.Get]. An object with several such values is yielded once
// for each of them.
func (ix *Index[T, K]) Range(ctx context.Context, from, to K, opts ...client.ListOption) iter.Seq2[T, error] {
	return ix.read(ctx, opts, func(p *part) iter.Seq[object.Object] { return ix.index.between(p, from, to) })
}

func (ix *Index[T, K]) read(ctx context.Context, opts []client.ListOption,
	all func(*part) iter.Seq[object.Object]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		found, err := ix.find(ctx, opts, all)
		if err != nil {
			err = fmt.Errorf("read an index of %s: %w", ix.informer.gvk.Kind, err)
		} else {
			convert, _ := ix.informer.to(ix.prototype)
			err = eachShared(found, convert, yield)
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// find returns the objects of all that the options select.
func (ix *Index[T, K]) find(ctx context.Context, opts []client.ListOption,
	all func(*part) iter.Seq[object.Object]) (iter.Seq[object.Object], error) {
	o, err := client.ListOptionsOf(opts...)
	if err != nil {
		return nil, err
	}
	if o.Live || o.NotOlderThan != "" || o.Limit != 0 || o.Continue != "" {
		return nil, errors.New("an index cannot be read with such options")
	}
	ix.cache.dropNamespace(ctx, ix.informer.gvk, &o)
	parts := ix.informer.in(o.Namespace)
	switch {
	case life.IsClosed(ix.informer.removed):
		return nil, ErrInformerRemoved
	case len(parts) == 0 && o.Namespace != "":
		return nil, fmt.Errorf("namespace %s is not cached", o.Namespace)
	}
	return ix.informer.each(ctx, parts, o, func(q *query, p *part) iter.Seq[object.Object] { return q.among(all(p)) })
}
