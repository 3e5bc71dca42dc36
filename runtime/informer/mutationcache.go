package informer

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// MutationCache reads a store as if the writes of its user had arrived there already: it lays what [MutationCache.Wrote]
// was given over the store until the store has come that far. It needs no handler, since the store's resource version
// says whether a write is in it; a write that the store never shows, because of a selector, is forgotten after a time.
// It is safe for concurrent use. Use [NewMutationCache].
type MutationCache[T object.Object] struct {
	view  View[T]
	wrote *ExpiringStore[object.Key, T]
	mu    sync.Mutex // makes one step of comparing with the write before and taking its place
}

// NewMutationCache returns a cache over view, in which a write lasts for at most ttl.
func NewMutationCache[T object.Object](view View[T], ttl time.Duration) *MutationCache[T] {
	return &MutationCache[T]{view: view, wrote: NewExpiringStore[object.Key, T](ttl)}
}

// Wrote tells of an object as the API server returned it from a create, update, patch or apply. The cache keeps obj,
// which must not be modified any more. An older state than that of an earlier call is ignored, and so is one whose
// resource version cannot be compared.
func (m *MutationCache[T]) Wrote(obj T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := object.KeyOf(obj)
	if last, ok := m.wrote.Get(key); ok && !newer(obj.GetResourceVersion(), last.GetResourceVersion()) {
		return
	}
	m.wrote.Set(key, obj)
}

// Deleted tells that the API server has deleted the object of key, so that nothing but the store speaks for it.
func (m *MutationCache[T]) Deleted(key object.Key) { m.wrote.Delete(key) }

// Get returns the newest state of the object that is known.
func (m *MutationCache[T]) Get(key object.Key) (T, bool) {
	obj, exists, version := read(m.view, key)
	wrote, ok := m.wrote.Get(key)
	if !ok || version != "" && !newer(wrote.GetResourceVersion(), version) {
		return obj, exists
	}
	if exists && !newer(wrote.GetResourceVersion(), obj.GetResourceVersion()) {
		return obj, true
	}
	return wrote, true
}

// read returns what view has of key, and how far the store that should have it has come.
func read[T object.Object](view View[T], key object.Key) (obj T, exists bool, version string) {
	if s, ok := view.store(key.Namespace); ok {
		obj, exists, version = s.contents.at(key)
	}
	return obj, exists, version
}

// newer reports whether version a is known to be after b.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
