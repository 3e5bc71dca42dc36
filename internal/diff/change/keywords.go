package change

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// keyword is a schema keyword, or several keywords that have one meaning together.
type keyword struct {
	name string
	// text returns the value, or "" if the keyword is not set.
	text func(s *Schema) string
	// loose reports whether b allows every value that a allows. Both schemas have the keyword. A nil function means
	// unknown.
	loose func(a, b *Schema) bool
	// copy copies the value of the keyword from one schema to another.
	copy func(to, from *Schema)
	// readers reports whether readers are affected if the keyword is relaxed.
	readers bool
}

// keywords are the keywords that constrain values but do not change the set of fields.
var keywords = []keyword{
	{
		name: KeywordEnum, text: func(s *Schema) string { return list(s.Enum) },
		loose: func(a, b *Schema) bool { return containsAll(b.Enum, a.Enum) },
		copy:  func(to, from *Schema) { to.Enum = from.Enum }, readers: true,
	},
	{
		name: "minimum", text: func(s *Schema) string { return bound(s.Minimum, s.ExclusiveMinimum) },
		loose: func(a, b *Schema) bool {
			return *b.Minimum < *a.Minimum || *b.Minimum == *a.Minimum && (!b.ExclusiveMinimum || a.ExclusiveMinimum)
		},
		copy: func(to, from *Schema) { to.Minimum, to.ExclusiveMinimum = from.Minimum, from.ExclusiveMinimum },
	},
	{
		name: "maximum", text: func(s *Schema) string { return bound(s.Maximum, s.ExclusiveMaximum) },
		loose: func(a, b *Schema) bool {
			return *b.Maximum > *a.Maximum || *b.Maximum == *a.Maximum && (!b.ExclusiveMaximum || a.ExclusiveMaximum)
		},
		copy: func(to, from *Schema) { to.Maximum, to.ExclusiveMaximum = from.Maximum, from.ExclusiveMaximum },
	},
	{
		name: "multipleOf", text: func(s *Schema) string { return bound(s.MultipleOf, false) },
		loose: func(a, b *Schema) bool { n := *a.MultipleOf / *b.MultipleOf; return n == float64(int64(n)) },
		copy:  func(to, from *Schema) { to.MultipleOf = from.MultipleOf },
	},
	least("minLength", func(s *Schema) **int64 { return &s.MinLength }),
	most("maxLength", func(s *Schema) **int64 { return &s.MaxLength }),
	least("minItems", func(s *Schema) **int64 { return &s.MinItems }),
	most("maxItems", func(s *Schema) **int64 { return &s.MaxItems }),
	least("minProperties", func(s *Schema) **int64 { return &s.MinProperties }),
	most("maxProperties", func(s *Schema) **int64 { return &s.MaxProperties }),
	{name: KeywordPattern, text: func(s *Schema) string { return s.Pattern },
		copy: func(to, from *Schema) { to.Pattern = from.Pattern }},
	{
		name: KeywordFormat, text: func(s *Schema) string { return s.Format },
		copy: func(to, from *Schema) { to.Format = from.Format }, readers: true,
	},
	{
		name: "uniqueItems", text: func(s *Schema) string { return truth(s.UniqueItems) },
		copy: func(to, from *Schema) { to.UniqueItems = from.UniqueItems },
	},
	{
		name: KeywordEmbedded, text: func(s *Schema) string { return truth(s.XEmbeddedResource) },
		copy: func(to, from *Schema) { to.XEmbeddedResource = from.XEmbeddedResource },
	},
	logic("allOf", func(s *Schema) *[]Schema { return &s.AllOf }, func(a, b []Schema) bool { return containsAll(a, b) }),
	logic("anyOf", func(s *Schema) *[]Schema { return &s.AnyOf }, func(a, b []Schema) bool { return containsAll(b, a) }),
	logic("oneOf", func(s *Schema) *[]Schema { return &s.OneOf }, func(a, b []Schema) bool { return false }),
	{
		name: "not", copy: func(to, from *Schema) { to.Not = from.Not },
		text: func(s *Schema) string {
			if s.Not == nil {
				return ""
			}
			return jsonOf(s.Not)
		},
	},
}

func least(name string, of func(*Schema) **int64) keyword {
	k := counted(name, of)
	k.loose = func(a, b *Schema) bool { return **of(b) <= **of(a) }
	return k
}

func most(name string, of func(*Schema) **int64) keyword {
	k := counted(name, of)
	k.loose = func(a, b *Schema) bool { return **of(b) >= **of(a) }
	return k
}

func counted(name string, of func(*Schema) **int64) keyword {
	return keyword{
		name: name, copy: func(to, from *Schema) { *of(to) = *of(from) },
		text: func(s *Schema) string {
			if n := *of(s); n != nil {
				return strconv.FormatInt(*n, 10)
			}
			return ""
		},
	}
}

func logic(name string, of func(*Schema) *[]Schema, loose func(a, b []Schema) bool) keyword {
	return keyword{
		name: name, text: func(s *Schema) string { return list(*of(s)) },
		loose: func(a, b *Schema) bool { return loose(*of(a), *of(b)) },
		copy:  func(to, from *Schema) { *of(to) = *of(from) },
	}
}

// Copy copies the value of a keyword from one schema to another. It returns false for keywords that do not constrain
// values.
func Copy(name string, to, from *Schema) bool {
	switch name {
	case KeywordType:
		to.Type, to.XIntOrString = from.Type, from.XIntOrString
		return true
	case KeywordRequired:
		to.Required = from.Required
		return true
	case KeywordListType:
		to.XListType, to.XListMapKeys = from.XListType, from.XListMapKeys
		return true
	}
	for _, k := range keywords {
		if k.name == name {
			k.copy(to, from)
			return true
		}
	}
	return false
}

func (w *walk) keywords(path []string, a, b *Schema) {
	for _, k := range keywords {
		ta, tb := k.text(a), k.text(b)
		if tb == "" || sameJSON(ta, tb) || ta != "" && k.loose != nil && k.loose(a, b) {
			continue
		}
		w.emit(Change{Path: path, Keyword: k.name, Lenient: a, Strict: b, Breaks: breaksOf(b),
			Message: w.texts(k.name, ta, tb)}, k.readers)
	}
	if a.Nullable && !b.Nullable {
		w.emit(Change{
			Path: path, Keyword: KeywordNullable, Lenient: a, Strict: b, Breaks: []Class{Writers, Stored},
			Message: w.texts("nullable", "true", ""),
		}, true)
	}
	for _, name := range b.Required {
		if _, known := a.Properties[name]; w.backward && !known && ValuesOf(a) == nil && !Preserves(a) {
			continue // the change that removed the field reports it
		}
		if !slices.Contains(a.Required, name) && a.Properties[name].Default == nil && b.Properties[name].Default == nil {
			w.emit(Change{
				Path: path, Keyword: KeywordRequired, Name: name, Lenient: a, Strict: b, Breaks: []Class{Writers, Stored},
				Message: w.texts("required", "", name),
			}, true)
		}
	}
	if ma, mb := mapType(a), mapType(b); ma != mb && !w.backward && a.Type == b.Type {
		w.emit(Change{
			Path: path, Keyword: KeywordMapType, Lenient: a, Strict: b, Breaks: []Class{Writers},
			Message: changed("map type", ma, mb),
			Why: "the same objects are valid, but server-side apply has other owners of the fields: those of existing " +
				"objects conflict or are lost",
		}, false)
	}
}

func mapType(s *Schema) string {
	if s.XMapType == nil || *s.XMapType == "" {
		return "granular"
	}
	return *s.XMapType
}

func bound(value *float64, exclusive bool) string {
	if value == nil {
		return ""
	}
	text := strconv.FormatFloat(*value, 'g', -1, 64)
	if exclusive {
		text += " (exclusive)"
	}
	return text
}

func truth(value bool) string {
	if value {
		return "true"
	}
	return ""
}

// list returns the elements of a list as JSON, or "" for an empty list.
func list[T any](values []T) string {
	if len(values) == 0 {
		return ""
	}
	return jsonOf(values)
}

func containsAll[T apiextensionsv1.JSON | Schema](all, some []T) bool {
	known := map[string]bool{}
	for i := range all {
		known[normal(jsonOf(all[i]))] = true
	}
	return !slices.ContainsFunc(some, func(value T) bool { return !known[normal(jsonOf(value))] })
}

// normal returns JSON in a canonical form.
func normal(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return jsonOf(value)
}

// sameJSON reports whether two JSON texts have the same value.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var va, vb any
	return a != "" && b != "" && json.Unmarshal([]byte(a), &va) == nil && json.Unmarshal([]byte(b), &vb) == nil &&
		reflect.DeepEqual(va, vb)
}
