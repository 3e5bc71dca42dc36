package informer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// mutationPeriod is how often the objects in a store are compared with what they were.
const mutationPeriod = time.Second

// MutationError reports an object in a store that was modified by somebody who got it from there.
type MutationError struct {
	// Informer is the name of the informer.
	Informer string
	// Key is that of the object when it entered the store.
	Key object.Key
	// Diff is what was modified, as lines of JSON: "-" what the object was, "+" what it has become.
	Diff string
}

// Error names the object and says what was modified.
func (e *MutationError) Error() string {
	return fmt.Sprintf("%s %s was modified in the store; copy what you change:\n%s", e.Informer, e.Key, e.Diff)
}

// mutationDetector finds out who modifies the objects of a store, which are whole and which everybody shares. A nil detector does nothing.
type mutationDetector[T object.Object] struct {
	informer string
	report   func(*MutationError)

	mu     sync.Mutex
	copies map[object.Key]original[T] // one for each object in the store
	left   []original[T]              // of objects that have left the store since the last check
}

// original is an object in the store and a copy of it from when it entered.
type original[T object.Object] struct {
	key object.Key
	obj T
	was T
}

func copied[T object.Object](key object.Key, obj T) original[T] {
	return original[T]{key: key, obj: obj, was: obj.DeepCopyObject().(T)}
}

// enter remembers what obj is. Nothing is in the store under key.
func (d *mutationDetector[T]) enter(key object.Key, obj T) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copies[key] = copied(key, obj)
}

// leave makes the object of key be compared for the last time at the next check.
func (d *mutationDetector[T]) leave(key object.Key) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o, ok := d.copies[key]; ok {
		d.left = append(d.left, o)
		delete(d.copies, key)
	}
}

// replace does what leave and enter do for a store whose whole content changes from old to items.
func (d *mutationDetector[T]) replace(old, items items[T]) {
	if d == nil {
		return
	}
	for key, obj := range old.all() {
		if now, ok := items.find(key); !ok || any(now.whole) != any(obj.whole) {
			d.leave(key)
		}
	}
	for key, obj := range items.all() {
		if was, ok := old.find(key); !ok || any(was.whole) != any(obj.whole) {
			d.enter(key, obj.whole)
		}
	}
}

// check compares all objects in the store with what they were, and those that have left it. Each modification is
// reported once.
func (d *mutationDetector[T]) check() {
	if d == nil {
		return
	}
	d.mu.Lock()
	all := append(slices.Collect(maps.Values(d.copies)), d.left...)
	d.left = nil
	d.mu.Unlock()
	for _, o := range all {
		if !reflect.DeepEqual(o.obj, o.was) {
			d.accept(o)
			d.report(&MutationError{Informer: d.informer, Key: o.key, Diff: diff(o.was, o.obj)})
		}
	}
}

// accept makes what o has become what it is compared with, if it is still in the store.
func (d *mutationDetector[T]) accept(o original[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now, ok := d.copies[o.key]; ok && any(now.obj) == any(o.obj) {
		d.copies[o.key] = copied(o.key, o.obj)
	}
}

// diff returns the lines in which the JSON of was and is differ: what is left without the lines that they begin and end
// with alike.
func diff(was, is any) string {
	a, b := lines(was), lines(is)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for i := range a {
		a[i] = "- " + a[i]
	}
	for i := range b {
		b[i] = "+ " + b[i]
	}
	return strings.Join(slices.Concat(a, b), "\n")
}

func lines(o any) []string {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(string(text), "\n")
}
