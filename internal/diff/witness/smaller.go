package witness

import (
	"iter"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
)

// smaller removes parts of a witness while it remains a witness.
func (s *search) smaller(w *Witness) *Witness {
	for budget := mostSmaller; ; {
		next := (*Witness)(nil)
		for object := range reductions(w.Object, 0) {
			if budget--; budget < 0 {
				return w
			}
			if _, there := get(object, s.change.Path); !there && s.change.Lenient != nil &&
				s.change.Keyword != change.KeywordDefault {
				continue
			}
			if next = s.try(s.request(w.Before, object)); next != nil {
				break
			}
		}
		if next == nil {
			return w
		}
		w = next
	}
}

// reductions yields copies of an object without one of its parts.
func reductions(object map[string]any, depth int) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if depth == 0 && (name == "apiVersion" || name == "kind" || name == "metadata") {
				continue
			}
			if !yield(less(object, name)) {
				return
			}
			if inner, ok := object[name].(map[string]any); ok {
				for reduced := range reductions(inner, depth+1) {
					if !yield(with(object, name, reduced)) {
						return
					}
				}
			}
		}
	}
}
