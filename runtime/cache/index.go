package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Index finds cached objects of the type T by values of type K that a function takes from them. All methods are safe for
// concurrent use. The objects are shared with the cache and must not be modified.
type Index[T object.Object, K comparable] struct {
	informer  *Informer
	prototype T
	index     *informer.Index[object.Object, K]
}

// NewIndex declares the kind of prototype, as [Cache.Informer] does, and indexes it: each object under the values that
// values returns; none leaves it out. The function must depend on nothing but the object. It is called while the cache is
// being changed, and must not read that. It is best called before the cache runs, but can be at any time. It fails for a
// kind that is read live.
func NewIndex[T object.Object, K cmp.Ordered](c *Cache, prototype T, values func(T) []K) (*Index[T, K], error) {
	i, err := c.Informer(prototype)
	if err != nil {
		return nil, err
	}
	if i.live {
		return nil, fmt.Errorf("cache: %s is read live, and cannot be indexed", i.gvk.Kind)
	}
	index := informer.NewIndex(func(o object.Object) []K {
		convert, ok := converter(o, prototype, i.gvk)
		if !ok {
			return nil
		}
		typed, err := convert.as(o)
		if err != nil {
			return nil // whoever reads the object is told
		}
		return values(typed.(T))
	})
	i.addIndex(index)
	return &Index[T, K]{informer: i, prototype: prototype, index: index}, nil
}

// addIndex adds an index to all parts, those to come included.
func (k *kind) addIndex(index informer.Indexer[object.Object]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.indexes = append(k.indexes[:len(k.indexes):len(k.indexes)], index)
	for _, p := range k.parts {
		p.AddIndex(index)
	}
}

// Get returns an iterator over the objects with that value, in no order. It waits as [Cache.List] does, and the options
// are those of a List, of which label selectors, the namespace, and consistency count. After an error, which comes with
// the zero value of T, the iteration ends.
func (ix *Index[T, K]) Get(ctx context.Context, value K, opts ...client.ListOption) iter.Seq2[T, error] {
	return ix.read(ctx, opts, func(p part) iter.Seq[object.Object] { return slices.Values(ix.index.Get(p.Store(), value)) })
}

// Range returns an iterator over the objects with values that are not less than from and less than to, in the order of
// the values within each cached namespace. It is otherwise like [Index.Get]. An object with several such values comes
// several times.
func (ix *Index[T, K]) Range(ctx context.Context, from, to K, opts ...client.ListOption) iter.Seq2[T, error] {
	return ix.read(ctx, opts, func(p part) iter.Seq[object.Object] {
		return func(yield func(object.Object) bool) {
			for _, o := range ix.index.Range(p.Store(), from, to) {
				if !yield(o) {
					return
				}
			}
		}
	})
}

func (ix *Index[T, K]) read(ctx context.Context, opts []client.ListOption, all func(part) iter.Seq[object.Object]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		o, err := client.ListOptionsOf(opts...)
		if err == nil && (o.ForServer() || o.Limit != 0 || o.Continue != "" || !selectsByName(o.FieldSelector)) {
			err = errors.New("an index cannot be read with such options")
		}
		if err != nil {
			yield(none, fmt.Errorf("read an index of %s: %w", ix.informer.gvk.Kind, err))
			return
		}
		parts := ix.informer.in(o.Namespace)
		if len(parts) == 0 && o.Namespace != "" {
			yield(none, fmt.Errorf("read an index of %s: namespace %s is not cached", ix.informer.gvk.Kind, o.Namespace))
			return
		}
		found, err := ix.informer.find(ctx, parts, o, func(p part) (matching []object.Object) {
			for obj := range all(p) {
				if matches(obj, o) {
					matching = append(matching, obj)
				}
			}
			return matching
		})
		if err != nil {
			yield(none, fmt.Errorf("read an index of %s: %w", ix.informer.gvk.Kind, err))
			return
		}
		convert, _ := ix.informer.to(ix.prototype)
		eachShared(found, convert, yield)
	}
}
