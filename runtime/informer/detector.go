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

// mutationPeriod is the interval of checks for modified objects.
const mutationPeriod = time.Second

// MutationError reports that a reader modified an object in a store.
type MutationError struct {
	// Informer is the name of the informer.
	Informer string
	// Key is the key of the object when it entered the store.
	Key object.Key
	// Diff describes the modification in lines of JSON, with "-" for the original and "+" for the modified object.
	Diff string
}

// Error returns a message with the object and its modification.
func (e *MutationError) Error() string {
	return fmt.Sprintf("%s %s was modified in the store; copy what you change:\n%s", e.Informer, e.Key, e.Diff)
}

// mutationDetector detects modifications of shared objects in a store. A nil detector does nothing.
type mutationDetector[T object.Object] struct {
	informer string
	report   func(*MutationError)

	mu     sync.Mutex
	copies map[object.Key]original[T] // one for each object in the store
	left   []original[T]              // objects that have left the store since the last check
}

// original is an object in the store, with a copy from the time when it entered.
type original[T object.Object] struct {
	key object.Key
	obj T
	was T
}

func copied[T object.Object](key object.Key, obj T) original[T] {
	return original[T]{key: key, obj: obj, was: obj.DeepCopyObject().(T)}
}

// enter records the state of obj. The store must not have an object of that key yet.
func (d *mutationDetector[T]) enter(key object.Key, obj T) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copies[key] = copied(key, obj)
}

// leave schedules a last comparison of the object of key for the next check.
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

// replace calls leave and enter for a store whose whole content changes from old to items.
func (d *mutationDetector[T]) replace(old, items items[T]) {
	if d == nil {
		return
	}
	for key := range old.all() {
		d.leave(key)
	}
	for key, obj := range items.all() {
		d.enter(key, obj.whole)
	}
}

// check compares the objects in the store, and those that have left it, with their originals, and reports changes once.
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

// accept makes the current state of o its original, if it is still in the store.
func (d *mutationDetector[T]) accept(o original[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now, ok := d.copies[o.key]; ok && any(now.obj) == any(o.obj) {
		d.copies[o.key] = copied(o.key, o.obj)
	}
}

// diff returns the lines that differ between the JSON of was and is, without the common beginning and end.
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
