package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/expression"
)

// walk compares the schemas of one version in one direction.
type walk struct {
	version  string
	backward bool
	found    []Change
}

// schemas returns the changes from one schema to another in both directions.
func schemas(version string, before, after *Schema) []Change {
	forward, backward := walk{version: version}, walk{version: version, backward: true}
	forward.node(nil, before, after)
	backward.node(nil, after, before)
	return append(forward.found, backward.found...)
}

// emit adds a change. In the backward direction, a change breaks only downgrades, and also readers if they get unknown
// values.
func (w *walk) emit(c Change, toReaders bool) {
	c.Version, c.Backward = w.version, w.backward
	if w.backward {
		c.Breaks = []Class{Downgrade}
		if toReaders {
			c.Breaks = []Class{Readers, Downgrade}
		}
	}
	w.found = append(w.found, c)
}

// texts describes how the value of a keyword changes from the old to the new CRD.
func (w *walk) texts(keyword, lenient, strict string) string {
	if w.backward {
		lenient, strict = strict, lenient
	}
	return changed(keyword, lenient, strict)
}

// anything is the schema of unspecified values.
var anything = &Schema{XPreserveUnknownFields: new(true)}

// Preserves reports whether a schema keeps unknown fields.
func Preserves(s *Schema) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// ValuesOf returns the schema of the values of a map, or nil.
func ValuesOf(s *Schema) *Schema {
	switch more := s.AdditionalProperties; {
	case more == nil || more.Schema == nil && !more.Allows:
		return nil
	case more.Schema == nil:
		return anything
	default:
		return more.Schema
	}
}

// ItemsOf returns the schema of the items of a list, or nil.
func ItemsOf(s *Schema) *Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// TypeOf returns the type of the values of a schema.
func TypeOf(s *Schema) string {
	switch {
	case s.XIntOrString:
		return "int-or-string"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// wider reports whether every value of type a is valid for type b.
func wider(a, b string) bool {
	return b == "any" || a == "integer" && b == "number" || b == "int-or-string" && (a == "integer" || a == "string")
}

// composite reports whether values of the schema may have parts. An update of one part validates the whole value again.
func composite(s *Schema) bool { return s.Type == "object" || s.Type == "array" || s.Type == "" }

// breaksOf returns the classes that a constraint breaks. A constraint breaks stored objects only if an update of
// another field violates it, because API servers since 1.30 accept invalid values that an update does not change.
func breaksOf(s *Schema) []Class {
	if composite(s) {
		return []Class{Writers, Stored}
	}
	return []Class{Writers}
}

func (w *walk) node(path []string, a, b *Schema) {
	ta, tb := TypeOf(a), TypeOf(b)
	if ta != tb {
		if !wider(ta, tb) {
			w.emit(Change{
				Path: path, Keyword: KeywordType, Lenient: a, Strict: b, Breaks: []Class{Writers, Readers, Stored},
				Message: w.texts("type", ta, tb),
			}, true)
		}
		return
	}
	w.keywords(path, a, b)
	w.rules(path, a, b)
	if !w.backward {
		w.defaults(path, a, b)
	}
	if ta == "array" || tb == "array" {
		w.list(path, a, b)
	}
	w.fields(path, a, b)
}

func (w *walk) list(path []string, a, b *Schema) {
	ia, ib := ItemsOf(a), ItemsOf(b)
	if ia == nil && TypeOf(a) == "any" {
		ia = anything
	}
	if ia != nil && ib != nil {
		w.node(below(path, expression.Items), ia, ib)
	}
	la, lb := listType(a), listType(b)
	if la == lb {
		return
	}
	c := Change{
		Path: path, Keyword: KeywordListType, Lenient: a, Strict: b, Breaks: []Class{Writers},
		Message: w.texts("list type", la, lb),
		Otherwise: "the same objects are valid, but server-side apply identifies items by another key, also items of other " +
			"field managers",
	}
	if w.backward {
		c.Otherwise = ""
	}
	if lb != "atomic" {
		w.emit(c, false)
	} else if !w.backward {
		c.Why = c.Otherwise
		w.emit(c, false)
	}
}

func listType(s *Schema) string {
	if s.XListType == nil || *s.XListType == "" {
		return "atomic"
	}
	if *s.XListType == "map" {
		return "map by " + strings.Join(s.XListMapKeys, ", ")
	}
	return *s.XListType
}

// implicit reports whether every object has the field.
func implicit(path []string, name string) bool {
	return len(path) == 0 && (name == "apiVersion" || name == "kind" || name == "metadata")
}

func (w *walk) fields(path []string, a, b *Schema) {
	va, vb := ValuesOf(a), ValuesOf(b)
	if va == nil && (Preserves(a) || TypeOf(a) == "any") {
		va = anything
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		sa := a.Properties[name]
		sb, found := b.Properties[name]
		switch {
		case implicit(path, name):
		case found:
			w.node(below(path, name), &sa, &sb)
		case vb != nil:
			w.node(below(path, name), &sa, vb)
		case !Preserves(b) && TypeOf(b) != "any":
			w.removed(path, name, a, b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Properties)) {
		if sb := b.Properties[name]; va != nil && !implicit(path, name) {
			if _, found := a.Properties[name]; !found {
				w.node(below(path, name), va, &sb)
			}
		}
	}
	w.values(path, a, b, va, vb)
}

func (w *walk) removed(path []string, name string, a, b *Schema) {
	what := "field " + name + " was removed"
	if w.backward {
		what = "field " + name + " was added"
	}
	breaks := []Class{Writers, Readers, Stored}
	if slices.Contains(a.Required, name) {
		breaks = append(breaks, Downgrade) // for objects without the field
	}
	w.emit(Change{Path: path, Keyword: KeywordField, Name: name, Lenient: a, Strict: b, Breaks: breaks, Message: what},
		false)
}

// values compares the schemas of additional fields.
func (w *walk) values(path []string, a, b *Schema, va, vb *Schema) {
	switch {
	case va == nil:
	case vb != nil:
		w.node(below(path, expression.Values), va, vb)
	case Preserves(b) || TypeOf(b) == "any" || b.Type == "array":
	default:
		c := Change{Path: path, Keyword: KeywordValues, Lenient: a, Strict: b, Breaks: []Class{Writers, Readers, Stored}}
		c.Message = w.texts("additionalProperties", "of any name", "")
		if Preserves(a) || TypeOf(a) == "any" {
			c.Keyword, c.Breaks = KeywordPruning, []Class{Writers, Stored}
			c.Message = w.texts("preserve-unknown-fields", "true", "")
		}
		w.emit(c, false)
	}
}

func (w *walk) defaults(path []string, a, b *Schema) {
	text := func(s *Schema) string {
		if s.Default == nil {
			return ""
		}
		return string(s.Default.Raw)
	}
	before, after := text(a), text(b)
	if sameJSON(before, after) || len(path) == 0 {
		return
	}
	c := Change{Path: path, Keyword: KeywordDefault, Lenient: a, Strict: b, Breaks: []Class{Writers},
		Message: changed("default", before, after)}
	switch {
	case before == "":
		c.Breaks = []Class{Writers, Stored}
	case after == "":
		c.Breaks = []Class{Writers, Readers}
	}
	w.emit(c, false)
}

// rules compares validation rules by their text, ignoring white space.
func (w *walk) rules(path []string, a, b *Schema) {
	known := map[string]bool{}
	for _, r := range a.XValidations {
		known[ruleKey(r)] = true
	}
	verb := "added"
	if w.backward {
		verb = "removed"
	}
	for _, r := range b.XValidations {
		if known[ruleKey(r)] {
			continue
		}
		known[ruleKey(r)] = true
		w.emit(Change{
			Path: path, Keyword: KeywordRule, Name: r.Rule, Lenient: a, Strict: b, Breaks: breaksOf(b),
			Message: fmt.Sprintf("the rule %s was %s", strings.Join(strings.Fields(r.Rule), " "), verb),
		}, false)
	}
}

func ruleKey(r apiextensionsv1.ValidationRule) string {
	var key strings.Builder
	quote := rune(0)
	for _, c := range r.Rule {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && strings.ContainsRune(" \t\r\n", c):
			continue
		}
		key.WriteRune(c)
	}
	if r.OptionalOldSelf != nil && *r.OptionalOldSelf {
		key.WriteString("?")
	}
	return key.String()
}

func below(path []string, step string) []string { return append(slices.Clone(path), step) }
