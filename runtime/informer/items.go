package informer

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// items holds the objects of a store by key, in the form in which the store keeps them: whole or packed.
type items[T object.Object] interface {
	len() int
	find(key object.Key) (stored[T], bool)
	// lookUp is like find, but does not allocate memory for the key.
	lookUp(namespace, name []byte) (stored[T], bool)
	// form returns obj in the form of the store, without storing it.
	form(obj T) (stored[T], error)
	// put sets the object of key. It returns the key with strings that the object keeps alive in any case.
	put(key object.Key, obj stored[T]) object.Key
	remove(key object.Key)
	// all iterates over the current objects.
	all() iter.Seq2[object.Key, stored[T]]
	// count returns the number of objects in a namespace, or in all if it is "".
	count(namespace string) int
	// label returns the value of a label of obj, and whether it exists.
	label(obj *stored[T], label string) (value string, ok bool)
	// snapshot returns the objects of a query, and their number. The iteration needs no lock.
	snapshot(q query) (objects iter.Seq2[object.Key, T], count int)
	// pick returns the objects of the given keys, which must exist, in that order. The iteration needs no lock.
	pick(keys iter.Seq[object.Key]) iter.Seq[T]
	// events returns a copy of example for each current object.
	events(example Event[T]) batch[T]
	// empty returns empty items of the same form.
	empty() items[T]
}

// query selects objects of a store.
type query struct {
	namespace string // "" means all
	selector  labels.Selector
	selected  func(object.Key) bool
	among     iter.Seq[object.Key] // keys of existing objects, including all that are selected; nil means all keys
}

// stored is an object in the form of a store.
type stored[T object.Object] struct {
	whole  T // for a packed object, set by object
	packed pack.Packed
	packer *pack.Packer[T] // unpacks packed; nil for a whole object
}

// object returns the object: the stored one, or a new one if it is packed.
func (r *stored[T]) object() T {
	if r.packer != nil {
		r.whole, r.packer = unpack(r.packer, r.packed), nil
	}
	return r.whole
}

// sameObject reports whether r and other, which have the same key and form, are states of the same object. It reports
// false if that object was deleted and created again in between.
func (r *stored[T]) sameObject(other *stored[T]) bool {
	if r.packed != "" {
		return r.packed.SameObject(other.packed)
	}
	return r.whole.GetUID() == other.whole.GetUID()
}

// sameState reports whether r and other, which are states of the same object, are the same state.
func (r *stored[T]) sameState(other *stored[T]) bool {
	if r.packed != "" {
		return r.packed.SameState(other.packed)
	}
	version := r.whole.GetResourceVersion()
	return version != "" && version == other.whole.GetResourceVersion()
}

// sameContent reports whether r and other, which have the same form, are certainly equal.
func (r *stored[T]) sameContent(other *stored[T]) bool {
	if r.packed != "" {
		return r.packed == other.packed
	}
	return reflect.DeepEqual(r.whole, other.whole)
}

// is reports whether r is in the state with that UID and that resource version, which must not be empty.
func (r *stored[T]) is(uid, version []byte) bool {
	if r.packed != "" {
		return r.packed.IsState(uid, version)
	}
	return len(version) > 0 && string(r.whole.GetUID()) == string(uid) && r.whole.GetResourceVersion() == string(version)
}

// unpack returns a new object from its packed form.
func unpack[T object.Object](packer *pack.Packer[T], packed pack.Packed) T {
	obj, err := packer.Unpack(packed)
	if err != nil {
		panic(fmt.Sprintf("informer: what was packed cannot be unpacked: %v", err))
	}
	return obj
}

// newItems returns empty items of whole objects, or of packed ones if packer is not nil.
func newItems[T object.Object](packer *pack.Packer[T]) items[T] {
	if packer == nil {
		return &keyed[T, T]{
			spaces:   map[string]map[string]T{},
			storedOf: func(whole T) stored[T] { return stored[T]{whole: whole} },
			valueOf:  func(r stored[T]) T { return r.whole },
		}
	}
	return &keyed[T, pack.Packed]{
		spaces:   map[string]map[string]pack.Packed{},
		packer:   packer,
		storedOf: func(packed pack.Packed) stored[T] { return stored[T]{packed: packed, packer: packer} },
		valueOf:  func(r stored[T]) pack.Packed { return r.packed },
	}
}

// tables returns a table of i for each index. It unpacks each object once, for all of them.
func tables[T object.Object](i items[T], indexes ...Indexer[T]) map[Indexer[T]]table[T] {
	all := make(map[Indexer[T]]table[T], len(indexes))
	for _, ix := range indexes {
		all[ix] = ix.table()
	}
	if len(all) == 0 {
		return all
	}
	for key, obj := range i.all() {
		for _, t := range all {
			t.insert(key, obj.object())
		}
	}
	return all
}

// keyed implements items. It holds values of type R: objects that readers share with the store, or packed objects. The
// names in the keys are substrings of the packed objects.
type keyed[T object.Object, R any] struct {
	spaces   map[string]map[string]R // no inner map is empty
	total    int
	packer   *pack.Packer[T] // nil for whole objects
	storedOf func(R) stored[T]
	valueOf  func(stored[T]) R
}

func (k *keyed[T, R]) empty() items[T] { return newItems(k.packer) }
func (k *keyed[T, R]) len() int        { return k.total }

func (k *keyed[T, R]) count(namespace string) int {
	if namespace == "" {
		return k.total
	}
	return len(k.spaces[namespace])
}

func (k *keyed[T, R]) find(key object.Key) (stored[T], bool) {
	value, ok := k.spaces[key.Namespace][key.Name]
	return k.storedOf(value), ok
}

func (k *keyed[T, R]) lookUp(namespace, name []byte) (stored[T], bool) {
	value, ok := k.spaces[string(namespace)][string(name)]
	return k.storedOf(value), ok
}

func (k *keyed[T, R]) form(obj T) (stored[T], error) {
	if k.packer == nil {
		return stored[T]{whole: obj}, nil
	}
	packed, err := k.packer.Pack(obj)
	return stored[T]{whole: obj, packed: packed}, err
}

func (k *keyed[T, R]) put(key object.Key, obj stored[T]) object.Key {
	if k.packer != nil {
		k.remove(key) // its name is a substring of the previous packed object
		key = k.packer.Key(obj.packed)
	}
	space := k.spaces[key.Namespace]
	if space == nil {
		space = map[string]R{}
		k.spaces[strings.Clone(key.Namespace)] = space // the string of the key may be part of an object
	}
	k.total -= len(space)
	space[key.Name] = k.valueOf(obj)
	k.total += len(space)
	return key
}

func (k *keyed[T, R]) remove(key object.Key) {
	space := k.spaces[key.Namespace]
	k.total -= len(space)
	delete(space, key.Name)
	k.total += len(space)
	if len(space) == 0 {
		delete(k.spaces, key.Namespace)
	}
}

// each iterates over the values in a namespace, or over all if it is "".
func (k *keyed[T, R]) each(namespace string) iter.Seq2[object.Key, R] {
	spaces := k.spaces
	if namespace != "" {
		spaces = map[string]map[string]R{namespace: spaces[namespace]}
	}
	return func(yield func(object.Key, R) bool) {
		for namespace, space := range spaces {
			for name, value := range space {
				if !yield(object.Key{Namespace: namespace, Name: name}, value) {
					return
				}
			}
		}
	}
}

// among iterates over the values of keys that are in a namespace, or of all keys if it is "".
func (k *keyed[T, R]) among(keys iter.Seq[object.Key], namespace string) iter.Seq2[object.Key, R] {
	return func(yield func(object.Key, R) bool) {
		for key := range keys {
			if namespace != "" && key.Namespace != namespace {
				continue
			}
			if value, ok := k.spaces[key.Namespace][key.Name]; ok && !yield(key, value) {
				return
			}
		}
	}
}

func (k *keyed[T, R]) all() iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		for key, value := range k.each("") {
			if !yield(key, k.storedOf(value)) {
				return
			}
		}
	}
}

func (k *keyed[T, R]) label(obj *stored[T], label string) (value string, ok bool) {
	if k.packer == nil {
		value, ok = obj.whole.GetLabels()[label]
		return value, ok
	}
	var of pack.Labels
	k.packer.LabelsOf(obj.packed, &of)
	return of.Lookup(label)
}

// matcher returns a function that reports whether selector matches a value, or nil if selector is nil.
func (k *keyed[T, R]) matcher(selector labels.Selector) func(R) bool {
	if selector == nil {
		return nil
	}
	var of pack.Labels
	return func(value R) bool {
		obj := k.storedOf(value)
		if k.packer == nil {
			return selector.Matches(labels.Set(obj.whole.GetLabels()))
		}
		k.packer.LabelsOf(obj.packed, &of)
		return selector.Matches(&of)
	}
}

func (k *keyed[T, R]) snapshot(q query) (objects iter.Seq2[object.Key, T], count int) {
	type entry struct {
		key   object.Key
		value R
	}
	var found []entry
	all, matches := k.each(q.namespace), k.matcher(q.selector)
	switch {
	case q.among != nil:
		all = k.among(q.among, q.namespace)
	case q.selected == nil && matches == nil:
		found = make([]entry, 0, k.count(q.namespace))
	}
	for key, value := range all {
		if (q.selected == nil || q.selected(key)) && (matches == nil || matches(value)) {
			found = append(found, entry{key, value})
		}
	}
	return func(yield func(object.Key, T) bool) {
		for _, e := range found {
			if !yield(e.key, k.open(e.value)) {
				return
			}
		}
	}, len(found)
}

func (k *keyed[T, R]) pick(keys iter.Seq[object.Key]) iter.Seq[T] {
	var values []R
	for key := range keys {
		values = append(values, k.spaces[key.Namespace][key.Name])
	}
	return func(yield func(T) bool) {
		for _, value := range values {
			if !yield(k.open(value)) {
				return
			}
		}
	}
}

// open returns the object: the stored one, or a new one if it is packed.
func (k *keyed[T, R]) open(value R) T {
	obj := k.storedOf(value)
	return obj.object()
}

func (k *keyed[T, R]) events(example Event[T]) batch[T] {
	if k.packer == nil {
		events := make([]Event[T], 0, k.total)
		for _, obj := range k.all() {
			events = append(events, about(obj.whole, example))
		}
		return batch[T]{events: events}
	}
	packed := make([]pack.Packed, 0, k.total)
	for _, obj := range k.all() {
		packed = append(packed, obj.packed)
	}
	return batch[T]{packed: &packedEvents[T]{packed: packed, packer: k.packer, example: example}}
}

// about returns a copy of example in which the object is obj.
func about[T object.Object](obj T, example Event[T]) Event[T] {
	example.Object = obj
	if example.Type == Updated {
		example.Old = obj
	}
	return example
}

// Packing packs objects of one Go type for the stores of informers. It is safe for concurrent use. Informers of the
// same type can use the same Packing, so that their stores share the strings that repeat in their objects.
type Packing[T object.Object] struct{ packer *pack.Packer[T] }

// NewPacking returns a Packing for objects with the Go type of prototype. T may be that pointer type or an interface
// such as object.Object. NewPacking fails if the type has a field that cannot be packed: a channel, a function, or a
// struct with unexported fields that does not implement its own JSON encoding.
func NewPacking[T object.Object](prototype T) (*Packing[T], error) {
	packer, err := pack.New(prototype)
	if err != nil {
		return nil, err
	}
	return &Packing[T]{packer}, nil
}

// packedEvents holds events of packed objects, which are unpacked on delivery.
type packedEvents[T object.Object] struct {
	packed  []pack.Packed
	packer  *pack.Packer[T]
	example Event[T]
	byKey   bool // the events contain placeholders instead of the objects
}

func (s *packedEvents[T]) event(packed pack.Packed) Event[T] {
	if s.byKey {
		if obj, ok := any(&kept[T]{packed: packed, packer: s.packer}).(T); ok {
			return about(obj, s.example)
		}
	}
	return about(unpack(s.packer, packed), s.example)
}

// take removes and returns at most the given number of events.
func (s *packedEvents[T]) take(most int) []Event[T] {
	count := min(most, len(s.packed))
	events := make([]Event[T], count)
	for i, packed := range s.packed[:count] {
		events[i] = s.event(packed)
	}
	s.packed = s.packed[count:]
	return events
}
