package informer

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Lister reads the objects of one kind from the store or stores of an informer. Readers share the objects and must not
// modify them. A Lister is a small value and safe for concurrent use.
type Lister[T object.Object] struct {
	view      View[T]
	resource  schema.GroupResource
	namespace string // "" means all
}

// Lister returns a lister of the informer's store.
func (i *Informer[T]) Lister() Lister[T] { return newLister[T](i, i.name) }

// newLister returns a lister of all objects of view. name is the informer's name, by convention the resource's name.
func newLister[T object.Object](view View[T], name string) Lister[T] {
	return Lister[T]{view: view, resource: schema.ParseGroupResource(name)}
}

// Namespace returns a lister of the objects in one namespace, or in all if it is "".
func (l Lister[T]) Namespace(namespace string) Lister[T] {
	l.namespace = namespace
	return l
}

// Get returns the object with that name in the lister's namespace. A lister without a namespace finds only
// cluster-scoped objects. If the object does not exist, apierrors.IsNotFound reports true for the error.
func (l Lister[T]) Get(name string) (T, error) {
	key := object.Key{Namespace: l.namespace, Name: name}
	for _, s := range l.view.stores(l.namespace) {
		if obj, ok := s.Get(key); ok {
			return obj, nil
		}
	}
	var none T
	return none, apierrors.NewNotFound(l.resource, name)
}

// List returns the objects that match selector, in no particular order. A nil selector matches all objects. If the
// lister has a namespace, the cost depends only on the objects in it; see [Store.Select].
func (l Lister[T]) List(selector labels.Selector) []T {
	if selector != nil && selector.Empty() {
		selector = nil
	}
	var found []T
	for _, s := range l.view.stores(l.namespace) {
		for _, obj := range s.Select(l.namespace, selector, nil) {
			found = append(found, obj)
		}
	}
	return found
}
