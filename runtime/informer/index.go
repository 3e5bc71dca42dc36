package informer

import "github.com/kctrl-dev/kctrl/runtime/object"

// IndexFunc returns the values under which an object is found in an index; none leaves it out. It must be a pure
// function of the object, and must not read the store: it is called while the store is being changed.
type IndexFunc[T object.Object] func(obj T) []string

// index finds keys by the values of one IndexFunc. It is guarded by the store that it belongs to.
type index[T object.Object] struct {
	values IndexFunc[T]
	keys   map[string]map[object.Key]struct{} // no set is empty
}

func newIndex[T object.Object](values IndexFunc[T], items map[object.Key]T) *index[T] {
	ix := &index[T]{values: values, keys: make(map[string]map[object.Key]struct{})}
	for key, obj := range items {
		ix.insert(key, obj)
	}
	return ix
}

func (ix *index[T]) insert(key object.Key, obj T) {
	for _, value := range ix.values(obj) {
		set, ok := ix.keys[value]
		if !ok {
			set = make(map[object.Key]struct{})
			ix.keys[value] = set
		}
		set[key] = struct{}{}
	}
}

func (ix *index[T]) remove(key object.Key, obj T) {
	for _, value := range ix.values(obj) {
		set := ix.keys[value]
		delete(set, key)
		if len(set) == 0 {
			delete(ix.keys, value)
		}
	}
}
