package witness

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/expression"
)

// get returns the value at a path of names and indexes. It follows the first item of a list and the first key of a map
// where the path has expression.Items and expression.Values.
func get(value any, path []string) (any, bool) {
	for _, step := range path {
		switch at := value.(type) {
		case map[string]any:
			next, there := at[keyIn(at, step)]
			if !there {
				return nil, false
			}
			value = next
		case []any:
			i := indexAt(step)
			if i < 0 || i >= len(at) {
				return nil, false
			}
			value = at[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// keyIn returns the key of an object for a step of a path.
func keyIn(object map[string]any, step string) string {
	if step != expression.Values {
		return step
	}
	if names := slices.Sorted(maps.Keys(object)); len(names) > 0 {
		return names[0]
	}
	return "key"
}

// indexAt returns the index of an item for a step of a path, or -1.
func indexAt(step string) int {
	if step == expression.Items {
		return 0
	}
	if i, err := strconv.Atoi(step); err == nil {
		return i
	}
	return -1
}

// schemaAt returns the schema at a path, or nil.
func schemaAt(s *props, path []string) *props {
	for _, step := range path {
		if s == nil {
			return nil
		}
		if s = merged(s); s.Type == "array" {
			s = change.ItemsOf(s)
		} else {
			s = property(s, step)
		}
	}
	return s
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
	if list, there := current.([]any); there && indexAt(path[0]) >= 0 || path[0] == expression.Items {
		of := cmp.Or(change.ItemsOf(s), anything)
		if len(list) == 0 {
			list = m.items(s, max(1, at(s.MinItems)), 0)
		}
		list = slices.Clone(list)
		i := indexAt(path[0])
		list[i] = m.placed(merged(of), list[i], path[1:], v, set)
		return list
	}
	object, there := current.(map[string]any)
	if !there {
		object, _ = m.minimal(s, 0).(map[string]any)
	}
	step := keyIn(object, path[0])
	of := cmp.Or(property(s, step), anything)
	return with(object, step, m.placed(merged(of), object[step], path[1:], v, set))
}

// anything is the schema of unspecified values.
var anything = &props{XPreserveUnknownFields: new(true)}

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
	return m.place(s, from, path[:len(path)-1], less(fields, last), true)
}
