package informer

import (
	"iter"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Lister reads the objects of one kind from the store, or the stores, of an informer. What it returns is shared and must
// not be modified. It is a small value and safe for concurrent use.
type Lister[T object.Object] struct {
	view      View[T]
	resource  schema.GroupResource
	namespace string // "" is all
}

// Lister returns a lister of the informer's store. The first call adds an index by namespace to the store; without one,
// listing a namespace looks at every object.
func (i *Informer[T]) Lister() Lister[T] {
	i.AddIndex(i.contents.byNamespace)
	return newLister[T](i, i.name)
}

// Lister is [Informer.Lister].
func (p *Private[T]) Lister() Lister[T] {
	p.AddIndex(p.contents.byNamespace)
	return newLister[T](p, p.name)
}

// newLister returns a lister of all that view has. name is that of the informer, and by convention of the resource.
func newLister[T object.Object](view View[T], name string) Lister[T] {
	return Lister[T]{view: view, resource: schema.ParseGroupResource(name)}
}

// Namespace returns a lister of the objects in one namespace, or of all when it is "".
func (l Lister[T]) Namespace(namespace string) Lister[T] {
	l.namespace = namespace
	return l
}

// Get returns the object of that name in the lister's namespace; cluster-scoped kinds, and only they, are got without
// one. If there is none, the error is apierrors.IsNotFound.
func (l Lister[T]) Get(name string) (T, error) {
	key := object.Key{Namespace: l.namespace, Name: name}
	obj, ok, _ := read(l.view, key)
	if !ok {
		return obj, apierrors.NewNotFound(l.resource, name)
	}
	return obj, nil
}

// List returns the objects that selector selects, in no order; nil selects all.
func (l Lister[T]) List(selector labels.Selector) []T {
	if selector == nil {
		selector = labels.Everything()
	}
	var found []T
	for _, s := range l.view.stores(l.namespace) {
		found = s.contents.appendSelected(found, l.namespace, selector)
	}
	return found
}

// appendSelected appends the objects of a namespace that selector selects.
func (c *contents[T]) appendSelected(found []T, namespace string, selector labels.Selector) []T {
	all := selector.Empty()
	for obj := range c.in(namespace) {
		if all || selector.Matches(labels.Set(obj.GetLabels())) {
			found = append(found, obj)
		}
	}
	return found
}

// in returns the objects of a namespace, or all when it is "".
func (c *contents[T]) in(namespace string) iter.Seq[T] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	keys := c.items.keys()
	if t, ok := c.indexes[c.byNamespace]; ok && namespace != "" {
		keys = maps.Keys(t.(*indexTable[T, string]).keys[namespace])
	}
	return c.items.pick(func(yield func(object.Key) bool) {
		for key := range keys {
			if (namespace == "" || key.Namespace == namespace) && !yield(key) {
				return
			}
		}
	})
}
