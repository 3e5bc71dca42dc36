package witness

import (
	"slices"

	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/language"
)

// has reports whether the lenient pattern may match a string of a query.
func (s *search) has(q language.Query) bool {
	if pattern := s.change.Lenient.Pattern; pattern != "" {
		q.Match = []string{pattern}
	} else if len(q.Avoid) == 0 {
		return true
	}
	answer, err := language.Find(q)
	return err != nil || answer.Found || !answer.Complete
}

// neverMissing reports whether the lenient schema requires the field of the change, so that its default does not
// matter.
func (s *search) neverMissing() bool {
	path := s.change.Path
	if len(path) == 0 || s.change.Lenient.Default != nil {
		return false
	}
	parent := schemaAt(s.root(), path[:len(path)-1])
	if parent == nil {
		return false
	}
	return slices.Contains(merged(parent).Required, path[len(path)-1])
}

// harmless reports whether no value can show the change, for one of these reasons: a rule is true for all values of the
// lenient schema, the other rules exclude the field, every value of an enum is allowed, or servers ignore the format.
func (s *search) harmless() bool {
	a, b := s.change.Lenient, s.change.Strict
	if a == nil {
		return false
	}
	switch s.change.Keyword {
	case change.KeywordRule:
		return always(s.change.Name, a, "", types.True)
	case change.KeywordField, change.KeywordStorage:
		return slices.ContainsFunc(a.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return always(r.Rule, a, s.change.Name, types.False)
		})
	case change.KeywordDefault:
		return s.neverMissing()
	case "minLength":
		if !s.has(language.Query{Min: at(a.MinLength), Max: at(b.MinLength) - 1}) {
			return true
		}
	case "maxLength":
		if !s.has(language.Query{Min: at(b.MaxLength) + 1, Max: limit(a.MaxLength)}) {
			return true
		}
	}
	if len(a.Enum) > 0 {
		return !slices.ContainsFunc(a.Enum, func(e apiextensionsv1.JSON) bool { return s.broken(nil, decode(e)) })
	}
	if s.change.Keyword != change.KeywordFormat || change.TypeOf(a) != change.TypeOf(b) {
		return false
	}
	invalid := refuses(&props{Type: b.Type, Format: b.Format})
	return !slices.ContainsFunc(s.make.scalars(&props{Type: a.Type}, nil, nil), invalid)
}
