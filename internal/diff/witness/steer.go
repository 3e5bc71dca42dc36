package witness

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
)

// candidates yields possible witnesses derived from a base.
func (s *search) candidates(ctx context.Context, base map[string]any) iter.Seq[Request] {
	c := s.change
	return func(yield func(Request) bool) {
		if c.Lenient == nil {
			s.ofKind(base, yield)
			return
		}
		if c.Keyword == change.KeywordDefault {
			if object, ok := s.make.without(s.root(), base, c.Path); ok {
				yield(s.request(nil, object))
			}
			return
		}
		from := s.with(ctx, base)
		if from == nil {
			return
		}
		current, _ := get(from, c.Path)
		s.values(current, func(v any, update bool) bool {
			object, ok := s.make.place(s.root(), from, c.Path, v, true)
			next := s.request(nil, object)
			if update {
				next.Before = from
			}
			return !ok || yield(next)
		})
	}
}

// with returns an object derived from a base that has the field of the change. The lenient server accepts it if
// possible.
func (s *search) with(ctx context.Context, base map[string]any) map[string]any {
	path := s.change.Path
	key := fmt.Sprint(s.change.Version, keyOf(path), keyOf(base), s.rule != nil && s.rule.transition)
	if known, ok := s.placed[key]; ok {
		return known
	}
	from, ok := s.make.place(s.root(), base, path, nil, false)
	if !ok {
		return nil
	}
	r := s.request(nil, from)
	has := func(object map[string]any) bool { _, there := get(object, path); return there }
	if repaired := s.repair(ctx, r, false, has); repaired != nil {
		from = repaired
	} else if got := s.lenient.Write(r); len(got.Refused) > 0 {
		s.refusal = got.Refused[0].Message
	}
	if s.rule != nil && s.rule.transition {
		// Also make an update without changes valid, so that updates fail only because of their changes.
		r.Object = from
		if stable := s.repair(ctx, r, true, has); stable != nil {
			from = stable
		}
	}
	s.placed[key] = from
	return from
}

// request returns the write of an object that shows the change. A nil before means that the object is created.
func (s *search) request(before, object map[string]any) Request {
	return Request{Version: s.version, Object: object, Before: before,
		Status: len(s.change.Path) > 0 && s.change.Path[0] == "status"}
}

func (s *search) root() *props {
	return change.SchemaOf(change.Version(s.lenient.crd, s.change.Version))
}

// ofKind yields objects for changes outside of schemas.
func (s *search) ofKind(base map[string]any, yield func(Request) bool) {
	switch s.change.Keyword {
	case change.KeywordStatus:
		status := s.root().Properties["status"]
		for value := range s.make.neighbours(&status, map[string]any{}, &hints{}, 1) {
			if !yield(s.request(nil, with(base, "status", value))) {
				return
			}
		}
		yield(s.request(nil, with(base, "status", map[string]any{"x": "x"})))
	case change.KeywordPruning:
		yield(s.request(nil, with(base, "unknownField", "x")))
	default:
		yield(s.request(nil, base))
	}
}

// values yields values of the field, derived from the current value, and whether each must replace the current value.
func (s *search) values(current any, yield func(v any, update bool) bool) {
	c := s.change
	if c.Keyword == change.KeywordRule {
		s.searchRule(current, yield)
		return
	}
	for _, v := range distinct(append(s.steered(current), s.make.scalars(c.Lenient, c.Strict, nil)...)) {
		if !yield(v, false) {
			return
		}
	}
	if s.logic() != "" {
		h := s.make.hintsOf(append(rulesOf(s.change.Lenient), s.logic())...)
		s.beside(current, h, 1, yield)
	}
}

// logic returns the schemas that the change combines as JSON, or "".
func (s *search) logic() string {
	a, b := s.change.Lenient, s.change.Strict
	switch s.change.Keyword {
	case "allOf":
		return keyOf(a.AllOf) + keyOf(b.AllOf)
	case "anyOf":
		return keyOf(a.AnyOf) + keyOf(b.AnyOf)
	case "oneOf":
		return keyOf(a.OneOf) + keyOf(b.OneOf)
	case "not":
		return keyOf(a.Not) + keyOf(b.Not)
	}
	return ""
}

// steered returns values for the keyword of the change, derived from the current value.
func (s *search) steered(current any) []any {
	c := s.change
	fields, _ := current.(map[string]any)
	lenient, strict := c.Lenient, c.Strict
	switch c.Keyword {
	case change.KeywordField, change.KeywordStorage:
		of := merged(property(lenient, c.Name))
		var all []any
		least := s.make.object(merged(lenient), 0, 0)
		for _, v := range append([]any{s.make.minimal(of, 0)}, s.make.scalars(of, nil, nil)...) {
			all = append(all, with(fields, c.Name, v), with(least, c.Name, v))
		}
		return all
	case change.KeywordRequired:
		return []any{less(fields, c.Name)}
	case change.KeywordNullable:
		return []any{nil}
	case change.KeywordValues, change.KeywordPruning:
		v := any("x")
		if of := change.ValuesOf(lenient); of != nil {
			v = s.make.minimal(of, 0)
		}
		return []any{with(fields, "unknownField", v)}
	case change.KeywordListType:
		return s.twins()
	case "minItems", "maxItems":
		return counted(func(n int) any { return s.make.items(merged(lenient), n, 0) }, lenient.MinItems, lenient.MaxItems,
			strict.MinItems, strict.MaxItems)
	case "minProperties", "maxProperties":
		return counted(func(n int) any { return s.make.object(merged(lenient), n, 0) }, lenient.MinProperties,
			lenient.MaxProperties, strict.MinProperties, strict.MaxProperties)
	}
	return nil
}

// counted returns values with no part and one part, and with as many parts as each bound, one less and one more.
func counted(make func(n int) any, bounds ...*int64) []any {
	counts := []int{0, 1}
	for _, b := range bounds {
		if b != nil {
			counts = append(counts, max(at(b)-1, 0), at(b), at(b)+1)
		}
	}
	slices.Sort(counts)
	var values []any
	for _, n := range slices.Compact(counts) {
		values = append(values, make(n))
	}
	return values
}

// twins returns lists with two items that are equal for the strict schema.
func (s *search) twins() []any {
	of := change.ItemsOf(s.change.Lenient)
	if of == nil {
		return nil
	}
	first := s.make.item(s.change.Lenient, of, 0, 0)
	lists := []any{[]any{first, cloned(first)}}
	if object, ok := first.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
			a, b := with(object, name, s.make.nth(property(of, name), 0, 0)),
				with(object, name, s.make.nth(property(of, name), 1, 0))
			lists = append(lists, []any{a, b})
		}
	}
	return lists
}

// beside yields the neighbours of the current value that show the change, and their neighbours, nearest first.
func (s *search) beside(current any, h *hints, depth int, yield func(v any, update bool) bool) {
	queue, seen := []any{current}, map[string]bool{}
	for made := 0; len(queue) > 0; {
		from := queue[0]
		queue = queue[1:]
		for v := range s.make.neighbours(s.change.Lenient, from, h, depth) {
			key := keyOf(v)
			if seen[key] {
				continue
			}
			seen[key] = true
			if made += len(key); made > mostValues || s.ended() {
				return
			}
			if s.broken(nil, v) && !yield(v, false) ||
				s.rule != nil && s.rule.transition && s.broken(current, v) && !yield(v, true) {
				return
			}
			queue = append(queue, v)
		}
	}
}

// searchRule yields values for which a rule is false, nearest to the current value first.
func (s *search) searchRule(current any, yield func(v any, update bool) bool) {
	if s.rule == nil {
		return
	}
	h := s.make.hintsOf(append([]string{s.change.Name}, rulesOf(s.change.Lenient)...)...)
	if wholeSelf.MatchString(s.change.Name) {
		h.names = nil
	}
	depth := 1
	if len(s.change.Path) == 0 {
		depth = 0
	}
	if !s.broken(nil, current) || yield(current, false) {
		s.beside(current, h, depth, yield)
	}
}
