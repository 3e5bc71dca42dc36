package informer

import (
	"cmp"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// process brings c to the state after deltas, which are as [DeltaFIFO.Pop] hands them out, and returns what that means
// for handlers.
func (c *contents[T]) process(deltas Deltas[T]) batch[T] {
	switch deltas[0].Type {
	case Replaced:
		return c.replace(deltas[0])
	case Sync:
		c.mu.Lock()
		c.advanceLocked(deltas[0].ResourceVersion) // of a bookmark, or of deltas that were compacted to nothing, behind it
		c.mu.Unlock()
		return c.items.stored(Event[T]{Type: Updated})
	}
	return batch[T]{events: c.apply(deltas)}
}

// apply brings c to the state after deltas, in one step for its readers, and returns what that means for handlers.
func (c *contents[T]) apply(deltas Deltas[T]) []Event[T] {
	events, failed := c.applyAll(deltas)
	for _, err := range failed {
		c.log.Error("keep an object", "err", err)
	}
	if len(events) <= cap(events)/2 { // listeners keep them for a while
		events = slices.Clone(events)
	}
	return events
}

// applyAll is apply, and returns why objects could not be kept, which leaves what there was.
func (c *contents[T]) applyAll(deltas Deltas[T]) (events []Event[T], failed []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	events = make([]Event[T], 0, len(deltas))
	for _, d := range deltas {
		held, existed := c.items.find(d.Key)
		old := &held
		if !existed {
			old = nil
		}
		switch d.Type {
		case Added, Updated:
			now, err := c.items.rest(d.Object)
			if err != nil {
				failed = append(failed, err)
				break
			}
			before := len(events)
			events = c.setStateLocked(events, d.Key, old, &now)
			for n := range events[before:] {
				events[before+n].Merged = d.Merged
			}
		case Deleted:
			c.removeLocked(d.Key, old)
			events = appendDeletion(events, old, d)
		}
		c.advanceLocked(d.ResourceVersion)
	}
	return events, failed
}

// setStateLocked makes now the object of key in place of old and appends what that means for handlers: nothing if it is
// in the same state.
func (c *contents[T]) setStateLocked(events []Event[T], key object.Key, old, now *resting[T]) []Event[T] {
	before := old
	if old != nil && !old.sameObject(now) {
		events = append(events, missed(old.object()))
		before = nil
	}
	if before != nil && before.sameState(now) {
		return events
	}
	c.setLocked(key, now, old)
	return append(events, change(before, now))
}

// replace makes what d lists the whole content and returns what that means for handlers: the deletions that were
// missed, in the order of their keys, then the changes in the order of the list. What is in the same state as before
// stays the same object.
func (c *contents[T]) replace(d Delta[T]) batch[T] {
	listed := c.listed(d)
	items := listed.objects
	if c.items.len() == 0 && c.packs {
		c.swap(items, d.ResourceVersion)
		return listed.added()
	}
	for _, key := range d.Retained {
		if _, has := items.find(key); has {
			continue
		}
		if old, ok := c.items.find(key); ok {
			items.put(key, old)
		}
	}
	var changes []Event[T]
	if c.items.len() == 0 {
		changes = make([]Event[T], 0, items.len())
	}
	for key, now := range listed.all() {
		old, existed := c.items.find(key)
		switch {
		case !existed || !old.sameObject(&now):
			changes = append(changes, merged(change(nil, &now)))
		case old.sameState(&now):
			items.put(key, old)
		default:
			changes = append(changes, merged(change(&old, &now)))
		}
	}
	deletions := c.missing(items)
	c.swap(items, d.ResourceVersion)
	if len(deletions) == 0 {
		return batch[T]{events: changes}
	}
	return batch[T]{events: append(deletions, changes...)}
}

// byKey returns objects by their keys, and the first with each key in order.
func byKey[T object.Object](objects []T) (items map[object.Key]T, once []T) {
	items, once = make(map[object.Key]T, len(objects)), make([]T, 0, len(objects))
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
func (c *contents[T]) missing(items items[T]) []Event[T] {
	var deletions []Event[T]
	for key, old := range c.items.all() {
		if now, ok := items.find(key); !ok || !old.sameObject(&now) {
			deletions = append(deletions, missed(old.object()))
		}
	}
	slices.SortFunc(deletions, func(a, b Event[T]) int {
		return compareKeys(object.KeyOf(a.Object), object.KeyOf(b.Object))
	})
	return deletions
}

// initial returns an Added for every object, as a new handler gets it.
func (c *contents[T]) initial() batch[T] { return c.items.stored(Event[T]{Type: Added, Initial: true}) }

// change is the event of an object that is there in a new state. Nil is no old one.
func change[T object.Object](old, now *resting[T]) Event[T] {
	if old == nil {
		return Event[T]{Type: Added, Object: now.object()}
	}
	return Event[T]{Type: Updated, Object: now.object(), Old: old.object()}
}

// merged returns an event of a list: nobody has seen what led to the state.
func merged[T object.Object](e Event[T]) Event[T] {
	e.Merged = true
	return e
}

// appendDeletion appends the event of an object that is gone. That of an object that was never seen, which is nil, is told
// too.
func appendDeletion[T object.Object](events []Event[T], old *resting[T], d Delta[T]) []Event[T] {
	if d.FinalStateUnknown {
		if old != nil {
			events = append(events, missed(old.object()))
		}
		return events
	}
	if old != nil && old.object().GetUID() != d.Object.GetUID() {
		events = append(events, missed(old.object()))
	}
	return append(events, Event[T]{Type: Deleted, Object: d.Object, Merged: d.Merged})
}

// missed is the deletion of an object that the watch did not tell of.
func missed[T object.Object](last T) Event[T] {
	return Event[T]{Type: Deleted, Object: last, FinalStateUnknown: true}
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
