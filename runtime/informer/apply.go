package informer

import (
	"cmp"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// process brings c to the state after deltas, which are as [DeltaFIFO.Pop] hands them out, and returns what that means
// for handlers.
func (c *contents[T]) process(deltas Deltas[T]) []Event[T] {
	switch deltas[0].Type {
	case Replaced:
		return c.replace(deltas[0])
	case Sync:
		return c.all()
	}
	return c.apply(deltas)
}

// markInitial marks the events of a first list.
func markInitial[T object.Object](events []Event[T]) {
	for n := range events {
		events[n].Initial = events[n].Type == Added
	}
}

// apply brings c to the state after deltas, in one step for its readers, and returns what that means for handlers.
func (c *contents[T]) apply(deltas Deltas[T]) []Event[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := make([]Event[T], 0, len(deltas))
	for _, d := range deltas {
		old, existed := c.items[d.Key]
		switch d.Type {
		case Added, Updated:
			if existed && !sameIncarnation(old, d.Object) {
				events = append(events, missed(old))
				existed = false
			}
			if !existed || !sameState(old, d.Object) {
				c.setLocked(d.Key, d.Object)
				events = append(events, change(old, existed, d.Object))
			}
		case Deleted:
			c.removeLocked(d.Key)
			events = appendDeletion(events, old, existed, d)
		}
		c.advanceLocked(d.ResourceVersion)
	}
	if len(events) <= cap(events)/2 { // listeners keep them for a while
		events = slices.Clone(events)
	}
	return events
}

// replace makes what d lists the whole content and returns what that means for handlers: the deletions that were
// missed, in the order of their keys, then the changes in the order of the list. What is in the same state as before
// stays the same object.
func (c *contents[T]) replace(d Delta[T]) []Event[T] {
	items, objects := d.byKey, d.Objects
	if items == nil {
		items, objects = byKey(d.Objects)
	}
	for _, key := range d.Retained {
		if _, listed := items[key]; listed {
			continue
		}
		if old, ok := c.items[key]; ok {
			items[key] = old
		}
	}
	var changes []Event[T]
	if len(c.items) == 0 {
		changes = make([]Event[T], 0, len(objects))
	}
	for _, obj := range objects {
		key := object.KeyOf(obj)
		old, existed := c.items[key]
		existed = existed && sameIncarnation(old, obj)
		if existed && sameState(old, obj) {
			items[key] = old
		} else {
			changes = append(changes, change(old, existed, obj))
		}
	}
	deletions := c.missing(items)
	c.swap(items, d.ResourceVersion)
	if len(deletions) == 0 {
		return changes
	}
	return append(deletions, changes...)
}

// byKey returns objects by their keys, and the first with each key in order.
func byKey[T object.Object](objects []T) (items map[object.Key]T, once []T) {
	items = make(map[object.Key]T, len(objects))
	for _, obj := range objects {
		key := object.KeyOf(obj)
		if _, twice := items[key]; !twice {
			items[key] = obj
			once = append(once, obj)
		}
	}
	return items, once
}

// missing returns deletions of the objects that are not in items, in the order of their keys.
func (c *contents[T]) missing(items map[object.Key]T) []Event[T] {
	var deletions []Event[T]
	for key, old := range c.items {
		if obj, ok := items[key]; !ok || !sameIncarnation(old, obj) {
			deletions = append(deletions, missed(old))
		}
	}
	slices.SortFunc(deletions, func(a, b Event[T]) int {
		return compareKeys(object.KeyOf(a.Object), object.KeyOf(b.Object))
	})
	return deletions
}

// all returns an Updated for every object, as a resync delivers it.
func (c *contents[T]) all() []Event[T] {
	events := make([]Event[T], 0, len(c.items))
	for _, obj := range c.items {
		events = append(events, Event[T]{Type: Updated, Object: obj, Old: obj})
	}
	return events
}

// initial returns an Added for every object, as a new handler gets it.
func (c *contents[T]) initial() []Event[T] {
	events := make([]Event[T], 0, len(c.items))
	for _, obj := range c.items {
		events = append(events, Event[T]{Type: Added, Object: obj, Initial: true})
	}
	return events
}

// change is the event of an object that is there in a new state.
func change[T object.Object](old T, existed bool, obj T) Event[T] {
	if !existed {
		return Event[T]{Type: Added, Object: obj}
	}
	return Event[T]{Type: Updated, Object: obj, Old: old}
}

// appendDeletion appends the event of an object that is gone. That of an object that was never seen is told too.
func appendDeletion[T object.Object](events []Event[T], old T, existed bool, d Delta[T]) []Event[T] {
	if d.FinalStateUnknown {
		if existed {
			events = append(events, missed(old))
		}
		return events
	}
	if existed && !sameIncarnation(old, d.Object) {
		events = append(events, missed(old))
	}
	return append(events, Event[T]{Type: Deleted, Object: d.Object})
}

// missed is the deletion of an object that the watch did not tell of.
func missed[T object.Object](last T) Event[T] {
	return Event[T]{Type: Deleted, Object: last, FinalStateUnknown: true}
}

// sameIncarnation reports whether a and b, which have one key, are states of one object and not of one that was
// deleted and created again.
func sameIncarnation[T object.Object](a, b T) bool { return a.GetUID() == b.GetUID() }

// sameState reports whether a and b, which are states of one object, are one state.
func sameState[T object.Object](a, b T) bool {
	return a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion()
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
