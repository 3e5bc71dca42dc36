package witness

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/language"
)

// included reports whether each text that the lenient pattern matches is matched by the strict one.
func (s *search) included() bool {
	a, b := s.change.Lenient, s.change.Strict
	q := language.Query{Avoid: []string{b.Pattern}, Min: at(a.MinLength), Max: limit(a.MaxLength)}
	if a.Pattern != "" {
		q.Match = []string{a.Pattern}
	}
	answer, err := language.Find(q)
	return err == nil && answer.Complete && !answer.Found
}

// harmless reports whether no value can show the change: each value of an enum is allowed, or servers do not know the
// format.
func (s *search) harmless() bool {
	a, b := s.change.Lenient, s.change.Strict
	if a == nil {
		return false
	}
	if s.change.Keyword == change.KeywordRule {
		return s.aboutNewFields()
	}
	if len(a.Enum) > 0 && s.change.Keyword != change.KeywordDefault {
		return !slices.ContainsFunc(a.Enum, func(e apiextensionsv1.JSON) bool { return s.broken(nil, decode(e)) })
	}
	if s.change.Keyword != change.KeywordFormat || change.TypeOf(a) != change.TypeOf(b) {
		return false
	}
	only := &props{Type: b.Type, Format: b.Format}
	c := newChecker(only)
	return !slices.ContainsFunc(s.make.scalars(&props{Type: a.Type}, nil, nil), c.refuses)
}

// aboutNewFields reports whether a rule holds for all values of the lenient schema because it speaks of fields that
// this schema does not have, or only at a greater depth, and of others for each of whose values the rule holds.
func (s *search) aboutNewFields() bool {
	has, had := map[string]int{}, map[string]int{}
	fieldsOf(s.change.Strict, has, 1)
	fieldsOf(s.change.Lenient, had, 1)
	isNew, values := false, []map[string]any{{}}
	for _, name := range identifier.FindAllString(quoted.ReplaceAllString(s.change.Name, ""), -1) {
		switch {
		case name == "size" || name == "oldSelf":
			return false
		case had[name] > 0 && had[name] <= has[name]:
			if values = s.combined(values, name); len(values) == 0 {
				return false
			}
		default:
			isNew = isNew || has[name] > 0
		}
	}
	holds := !slices.ContainsFunc(values, func(v map[string]any) bool { return len(v) > 0 && s.broken(nil, v) })
	return isNew && holds && !change.Preserves(s.change.Lenient)
}

// mostCombined is how many combinations of fields a rule is checked with.
const mostCombined = 500

// combined returns objects with each value that a field may have, or nothing if there are too many.
func (s *search) combined(objects []map[string]any, name string) []map[string]any {
	of, ok := s.change.Lenient.Properties[name]
	if !ok || len(of.Enum) == 0 && of.Type != "boolean" {
		return nil
	}
	values := []any{true, false}
	if len(of.Enum) > 0 {
		values = s.make.scalars(&props{Enum: of.Enum, Type: "enum"}, nil, nil)
	}
	var all []map[string]any
	for _, object := range objects {
		if !slices.Contains(s.change.Lenient.Required, name) {
			all = append(all, object)
		}
		for _, v := range values {
			all = append(all, with(object, name, v))
		}
	}
	if len(all) > mostCombined {
		return nil
	}
	return all
}

// fieldsOf adds the names of all fields in a schema to a map, with the smallest depth.
func fieldsOf(s *props, names map[string]int, depth int) {
	for name, p := range s.Properties {
		if known := names[name]; known == 0 || depth < known {
			names[name] = depth
		}
		fieldsOf(&p, names, depth+1)
	}
	if of := change.ItemsOf(s); of != nil {
		fieldsOf(of, names, depth+1)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		fieldsOf(s.AdditionalProperties.Schema, names, depth+1)
	}
}
