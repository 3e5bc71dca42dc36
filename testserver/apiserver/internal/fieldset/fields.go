package fieldset

import (
	"maps"
	"slices"
)

// all is the node of a value that is new, or gone: it and each field in it.
func (t *Type) all(value any) (Set, bool) {
	switch value := value.(type) {
	case map[string]any:
		if t.object == nil || value == nil {
			return nil, false
		}
		if t.object.atomic || len(value) == 0 {
			return Set{}, t.conforms(value, false)
		}
		fields := make(Set, len(value)+1)
		for name, member := range value {
			of := t.object.of(name)
			if of == nil {
				return nil, false
			}
			child, ok := of.all(member)
			if !ok {
				return nil, false
			}
			fields["f:"+name] = child
		}
		return node(fields, true), true
	case []any:
		if t.list == nil || value == nil {
			return nil, false
		}
		if t.list.atomic || len(value) == 0 {
			return Set{}, t.conforms(value, false)
		}
		items, ok := t.list.index(value)
		if !ok {
			return nil, false
		}
		fields := make(Set, len(items)+1)
		for path, item := range items {
			child, ok := t.list.element.all(item)
			if !ok {
				return nil, false
			}
			fields[path] = child
		}
		return node(fields, true), true
	}
	return Set{}, t.has(value)
}

// stated are the fields of a node that an applied configuration says something of. In it, a field of a struct is not in the set for
// what is in it.
func (t *Type) stated(value any, declared bool) (Set, bool) {
	switch value := value.(type) {
	case map[string]any:
		if t.object == nil {
			return nil, false
		}
		if t.object.atomic {
			return Set{}, t.conforms(value, true)
		}
		fields := make(Set, len(value)+1)
		for name, member := range value {
			of, known := t.object.fields[name]
			if !known {
				of = t.object.element
			}
			if of == nil {
				return nil, false
			}
			child, ok := of.stated(member, known)
			if !ok {
				return nil, false
			}
			if child != nil {
				fields["f:"+name] = child
			}
		}
		return node(fields, !declared || len(value) == 0), true
	case []any:
		if t.list == nil {
			return nil, false
		}
		if t.list.atomic {
			return Set{}, t.conforms(value, true)
		}
		items, ok := t.list.index(value)
		if !ok {
			return nil, false
		}
		fields := make(Set, len(items)+1)
		for path, item := range items {
			child, ok := t.list.element.stated(item, false)
			if !ok {
				return nil, false
			}
			fields[path] = child
		}
		return node(fields, !declared), true
	}
	return Set{}, t.has(value)
}

// change is what differs between two values: nodes of what the new one has added or changed, and of what the old one had besides.
type change struct{ touched, removed Set }

func (t *Type) compare(was, now any) (c change, ok bool) {
	switch now := now.(type) {
	case map[string]any:
		was, ok := was.(map[string]any)
		if !ok || t.object == nil {
			return c, false
		}
		if t.object.atomic || len(was) == 0 && len(now) == 0 {
			return t.leaf(was, now)
		}
		return t.object.compare(was, now)
	case []any:
		was, ok := was.([]any)
		if !ok || t.list == nil {
			return c, false
		}
		if t.list.atomic || len(was) == 0 && len(now) == 0 {
			return t.leaf(was, now)
		}
		return t.list.compare(was, now)
	}
	if !t.has(was) {
		return c, false
	}
	return t.leaf(was, now)
}

func (t *Type) leaf(was, now any) (c change, ok bool) {
	if Equal(was, now) {
		return c, true
	}
	c.touched = Set{}
	return c, t.conforms(now, false) && t.conforms(was, false)
}

func (o *object) compare(was, now map[string]any) (c change, ok bool) {
	for name, member := range now {
		of := o.of(name)
		if of == nil {
			return c, false
		}
		before, there := was[name]
		if !c.add("f:"+name, of, before, there, member, true) {
			return c, false
		}
	}
	for name, before := range was {
		if _, there := now[name]; there {
			continue
		}
		of := o.of(name)
		if of == nil || !c.add("f:"+name, of, before, true, nil, false) {
			return c, false
		}
	}
	return c, true
}

func (l *list) compare(was, now []any) (c change, ok bool) {
	before, ok := l.index(was)
	if !ok {
		return c, false
	}
	after, ok := l.index(now)
	if !ok {
		return c, false
	}
	for path, item := range after {
		old, there := before[path]
		if !c.add(path, l.element, old, there, item, true) {
			return c, false
		}
	}
	for path, old := range before {
		if _, there := after[path]; !there && !c.add(path, l.element, old, true, nil, false) {
			return c, false
		}
	}
	return c, true
}

// add adds what has become of a member, which was there or is there now.
func (c *change) add(path string, t *Type, before any, was bool, after any, is bool) bool {
	switch {
	case !was:
		child, ok := t.all(after)
		set(&c.touched, path, child)
		return ok
	case !is:
		child, ok := t.all(before)
		set(&c.removed, path, child)
		return ok
	}
	inner, ok := t.compare(before, after)
	if inner.touched != nil {
		set(&c.touched, path, inner.touched)
	}
	if inner.removed != nil {
		set(&c.removed, path, inner.removed)
	}
	return ok
}

func set(s *Set, path string, child Set) {
	if *s == nil {
		*s = Set{}
	}
	(*s)[path] = child
}

// Equal reports whether two JSON values are the same.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for name, member := range a {
			if other, there := b[name]; !there || !Equal(member, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i, item := range a {
			if !Equal(item, b[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// Merge is a value with what an applied configuration says of it, in a value of its own where it differs.
func (t *Type) Merge(live, applied any) (any, bool) {
	switch applied := applied.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		if !ok || t.object == nil {
			return nil, false
		}
		if t.object.atomic || len(live) == 0 {
			return applied, true
		}
		return t.object.merge(live, applied)
	case []any:
		live, ok := live.([]any)
		if !ok || t.list == nil {
			return nil, false
		}
		if t.list.atomic || len(live) == 0 {
			return applied, true
		}
		return t.list.merge(live, applied)
	}
	return applied, t.has(applied) && t.has(live)
}

func (o *object) merge(live, applied map[string]any) (any, bool) {
	merged := maps.Clone(live)
	for name, member := range applied {
		of := o.of(name)
		if of == nil {
			return nil, false
		}
		if before, there := live[name]; there {
			var ok bool
			if member, ok = of.Merge(before, member); !ok {
				return nil, false
			}
		}
		merged[name] = member
	}
	return merged, true
}

// merge brings items into a list that has them already, in this order: what else there may be has rules that the library knows.
func (l *list) merge(live, applied []any) (any, bool) {
	merged, at := slices.Clone(live), 0
	if _, ok := l.index(live); !ok {
		return nil, false
	}
	for _, item := range applied {
		path, ok := l.path(item)
		if !ok {
			return nil, false
		}
		for ; ; at++ {
			if at == len(live) {
				return nil, false
			}
			if other, _ := l.path(live[at]); other == path {
				break
			}
		}
		if merged[at], ok = l.element.Merge(live[at], item); !ok {
			return nil, false
		}
		at++
	}
	return merged, true
}
