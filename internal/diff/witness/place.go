package witness

import (
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/expression"
)

// get returns the value at a path. It follows the first item of a list and the first key of a map.
func get(object any, path []string) (any, bool) {
	for _, step := range path {
		switch at := object.(type) {
		case map[string]any:
			if step == expression.Values {
				names := slices.Sorted(maps.Keys(at))
				if len(names) == 0 {
					return nil, false
				}
				step = names[0]
			}
			next, there := at[step]
			if !there {
				return nil, false
			}
			object = next
		case []any:
			if len(at) == 0 {
				return nil, false
			}
			object = at[0]
		default:
			return nil, false
		}
	}
	return object, true
}

// place returns a copy of an object to which it adds the missing values on a path. If set is true, the value at the
// path is v.
func (m *maker) place(s *props, object any, path []string, v any, set bool) (map[string]any, bool) {
	out, ok := m.placed(merged(s), object, path, v, set).(map[string]any)
	return out, ok
}

func (m *maker) placed(s *props, current any, path []string, v any, set bool) any {
	if len(path) == 0 {
		if set {
			return v
		}
		if current == nil {
			return m.minimal(s, 0)
		}
		return current
	}
	switch step := path[0]; step {
	case expression.Items:
		list, _ := current.([]any)
		of := change.ItemsOf(s)
		if of == nil {
			of = &props{XPreserveUnknownFields: new(true)}
		}
		if len(list) == 0 {
			list = m.items(s, max(1, at(s.MinItems)), 0)
		}
		list = slices.Clone(list)
		list[0] = m.placed(merged(of), list[0], path[1:], v, set)
		return list
	default:
		object, there := current.(map[string]any)
		if !there {
			object, _ = m.minimal(s, 0).(map[string]any)
		}
		if step == expression.Values {
			step = "key"
			if names := slices.Sorted(maps.Keys(object)); len(names) > 0 {
				step = names[0]
			}
		}
		of := property(s, step)
		if of == nil {
			of = &props{XPreserveUnknownFields: new(true)}
		}
		return with(object, step, m.placed(merged(of), object[step], path[1:], v, set))
	}
}

// without returns a copy of an object without a field, but with the values on the path to it.
func (m *maker) without(s *props, object map[string]any, path []string) (map[string]any, bool) {
	last := path[len(path)-1]
	if last == expression.Items || last == expression.Values {
		return nil, false
	}
	from, ok := m.place(s, object, path[:len(path)-1], nil, false)
	if !ok {
		return nil, false
	}
	parent, _ := get(from, path[:len(path)-1])
	fields, _ := parent.(map[string]any)
	less := maps.Clone(fields)
	delete(less, last)
	return m.place(s, from, path[:len(path)-1], less, true)
}
