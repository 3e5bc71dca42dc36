package witness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/language"
)

type props = change.Schema

const (
	deepest = 30     // depth of the schemas of created values
	longest = 20_000 // length of created lists, maps and strings
)

// maker creates values of schemas. It caches the strings for patterns.
type maker struct{ known map[string]language.Answer }

func newMaker() *maker { return &maker{known: map[string]language.Answer{}} }

// find is language.Find with a cache.
func (m *maker) find(q language.Query) language.Answer {
	key := fmt.Sprintf("%q %q %d %d", q.Match, q.Avoid, q.Min, q.Max)
	answer, known := m.known[key]
	if !known {
		// No string matches an invalid expression.
		answer, _ = language.Find(q)
		m.known[key] = answer
	}
	return answer
}

// decode returns the JSON value in a schema.
func decode(raw apiextensionsv1.JSON) any {
	var value any
	if err := utiljson.Unmarshal(raw.Raw, &value); err != nil {
		return nil
	}
	return value
}

// merged returns a schema merged with its allOf and with the first alternative of anyOf and oneOf, to the extent that
// creating values requires. Servers decide whether the values are valid.
func merged(s *props) *props {
	if len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 {
		return s
	}
	out := s.DeepCopy()
	parts := slices.Clone(s.AllOf)
	for _, alternatives := range [][]props{s.AnyOf, s.OneOf} {
		if len(alternatives) > 0 {
			parts = append(parts, alternatives[0])
		}
	}
	out.AllOf, out.AnyOf, out.OneOf = nil, nil, nil
	for i := range parts {
		merge(out, merged(&parts[i]))
	}
	return out
}

// merge adds the constraints of a schema to another one.
func merge(to, from *props) {
	if !to.XIntOrString {
		to.Type = cmp.Or(to.Type, from.Type)
	}
	if len(to.Enum) == 0 {
		to.Enum = from.Enum
	}
	to.Pattern, to.Format = cmp.Or(to.Pattern, from.Pattern), cmp.Or(to.Format, from.Format)
	for _, bound := range []struct {
		to   **int64
		from *int64
		sign int64 // -1 for an upper bound
	}{
		{&to.MinLength, from.MinLength, 1}, {&to.MinItems, from.MinItems, 1}, {&to.MinProperties, from.MinProperties, 1},
		{&to.MaxLength, from.MaxLength, -1}, {&to.MaxItems, from.MaxItems, -1}, {&to.MaxProperties, from.MaxProperties, -1},
	} {
		if bound.from != nil && (*bound.to == nil || *bound.from*bound.sign > **bound.to*bound.sign) {
			*bound.to = bound.from
		}
	}
	if from.Minimum != nil && (to.Minimum == nil || *from.Minimum >= *to.Minimum) {
		to.Minimum, to.ExclusiveMinimum = from.Minimum, from.ExclusiveMinimum
	}
	if from.Maximum != nil && (to.Maximum == nil || *from.Maximum <= *to.Maximum) {
		to.Maximum, to.ExclusiveMaximum = from.Maximum, from.ExclusiveMaximum
	}
	for _, name := range from.Required {
		if !slices.Contains(to.Required, name) {
			to.Required = append(to.Required, name)
		}
	}
	for name, property := range from.Properties {
		if to.Properties == nil {
			to.Properties = map[string]props{}
		}
		both := to.Properties[name]
		merge(&both, &property)
		to.Properties[name] = both
	}
	if items := change.ItemsOf(from); items != nil && change.ItemsOf(to) != nil {
		merge(to.Items.Schema, items)
	}
}

// minimal returns a small value of a schema.
func (m *maker) minimal(s *props, depth int) any {
	s = merged(s)
	if len(s.Enum) > 0 {
		return decode(s.Enum[0])
	}
	switch change.TypeOf(s) {
	case "object":
		return m.object(s, at(s.MinProperties), depth)
	case "array":
		return m.items(s, at(s.MinItems), depth)
	case "boolean":
		return true
	case "any":
		if s.XEmbeddedResource {
			return embedded()
		}
		return "x"
	}
	if of := m.scalars(s, nil, nil); len(of) > 0 {
		return of[0]
	}
	return "x"
}

func at(n *int64) int {
	if n == nil {
		return 0
	}
	return int(min(*n, longest))
}

func embedded() map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}}
}

// property returns the schema of a field of an object.
func property(s *props, name string) *props {
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	return change.ValuesOf(s)
}

// object returns an object with the required fields, and with at least n fields.
func (m *maker) object(s *props, n, depth int) map[string]any {
	out := map[string]any{}
	if s.XEmbeddedResource {
		out = embedded()
	}
	if depth > deepest {
		return out
	}
	for _, name := range s.Required {
		if of := property(s, name); of != nil && of.Default == nil {
			out[name] = m.minimal(of, depth+1)
		} else if of == nil {
			out[name] = "x"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if _, there := out[name]; !there && len(out) < n {
			out[name] = m.minimal(property(s, name), depth+1)
		}
	}
	of := change.ValuesOf(s)
	for i := 0; len(out) < n && (of != nil || change.Preserves(s)); i++ {
		value := any("x")
		if of != nil {
			value = m.minimal(of, depth+1)
		}
		out["key"+strconv.Itoa(i)] = value
	}
	return out
}

// items returns a list of n items, which differ if required.
func (m *maker) items(s *props, n, depth int) []any {
	out := []any{}
	of := change.ItemsOf(s)
	if depth > deepest {
		return out
	}
	for i := range min(n, longest) {
		out = append(out, m.item(s, of, i, depth))
	}
	return out
}

// item returns an item of a list that has i other items.
func (m *maker) item(s, of *props, i, depth int) any {
	if of == nil {
		return "x" + strconv.Itoa(i)
	}
	switch {
	case s.XListType != nil && *s.XListType == "map":
		value, ok := m.minimal(of, depth+1).(map[string]any)
		for _, key := range s.XListMapKeys {
			if k := property(of, key); ok && k != nil {
				value[key] = m.nth(k, i, depth+1)
				break
			}
		}
		return value
	case s.XListType != nil && *s.XListType == "set" || s.UniqueItems:
		return m.nth(of, i, depth+1)
	}
	return m.minimal(of, depth+1)
}

// nth returns one of several different values of a schema.
func (m *maker) nth(s *props, i, depth int) any {
	s = merged(s)
	if len(s.Enum) > 0 {
		return decode(s.Enum[i%len(s.Enum)])
	}
	switch change.TypeOf(s) {
	case "integer", "number", "int-or-string":
		from := int64(0)
		if s.Minimum != nil {
			from = int64(math.Ceil(*s.Minimum)) + 1
		}
		return from + int64(i)
	case "boolean":
		return i%2 == 0
	case "string":
		if s.Pattern == "" && s.Format == "" {
			text := "x" + strconv.Itoa(i)
			return text + strings.Repeat("x", max(at(s.MinLength)-len(text), 0))
		}
		if text, ok := m.text(s, "", at(s.MinLength)+i, limit(s.MaxLength)); ok {
			return text
		}
	case "object":
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if p := property(s, name); p.Type == "string" || p.Type == "integer" {
				value := m.object(s, 0, depth)
				value[name] = m.nth(p, i, depth+1)
				return value
			}
		}
	}
	return m.minimal(s, depth)
}

func limit(n *int64) int {
	if n == nil {
		return -1
	}
	return int(min(*n, math.MaxInt32))
}

// text returns a string that matches the pattern of a schema but not another pattern.
func (m *maker) text(s *props, avoid string, least, most int) (string, bool) {
	if least > longest {
		return "", false
	}
	q := language.Query{Match: []string{s.Pattern}, Min: least, Max: most}
	if s.Pattern == "" {
		q.Match = nil
	}
	if avoid != "" {
		q.Avoid = []string{avoid}
	}
	if len(q.Match)+len(q.Avoid) == 0 {
		return strings.Repeat("x", max(least, min(1, most))), most < 0 || least <= most
	}
	answer := m.find(q)
	return answer.Text, answer.Found
}

// formats has examples of each format.
var formats = []string{
	"1", "99999999999999999999h", "2006-01-02T15:04:05Z", "2006-01-02", "1h30m", "a@example.com",
	"192.0.2.1", "::ffff:192.0.2.1", "0000:0000:0000:0000:0000:ffff:192.168.100.228", "2001:db8::1", "192.0.2.0/24",
	"https://example.com/x", "eA==", "123e4567-e89b-42d3-a456-426614174000", "example.com", "00:00:5e:00:53:01",
	"#ffffff", "978-0-306-40615-7", "4111111111111111", "000-00-0000", "x", "", "a b/%",
}

// hints are values that occur in rules.
type hints struct {
	texts   []string
	numbers []float64
	// names are the fields that the rules may use. Empty means all.
	names map[string]bool
}

// scalars returns useful values of a type, probably valid ones first. Some of the values violate strict, which may be
// nil.
func (m *maker) scalars(s, strict *props, h *hints) []any {
	if strict == nil {
		strict = s
	}
	if h == nil {
		h = &hints{}
	}
	var values []any
	for _, e := range s.Enum {
		values = append(values, decode(e))
	}
	switch change.TypeOf(s) {
	case "string":
		values = append(values, m.texts(s, strict, h)...)
	case "integer", "number":
		values = append(values, m.numbers(s, strict, h)...)
	case "boolean":
		values = append(values, true, false)
	case "int-or-string":
		values = append(values, m.numbers(s, strict, h)...)
		values = append(values, m.texts(s, strict, h)...)
	case "any":
		values = append(values, "x", int64(1), 1.5, true, []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": "x"})
		values = append(values, m.numbers(strict, strict, h)...)
	case "object":
		values = append(values, map[string]any{}, m.object(merged(s), 1, 0), m.object(merged(s), 100, 0))
	case "array":
		values = append(values, []any{}, m.items(merged(s), 1, 0), m.items(merged(s), 2, 0))
		if of := change.ItemsOf(s); of != nil && of.Type == "string" && len(of.Enum) == 0 {
			values = append(values, []any{"1"}) // rules parse numbers in strings
		}
	}
	if s.Nullable {
		values = append(values, nil)
	}
	return values
}

func (m *maker) texts(s, strict *props, h *hints) []any {
	var values []any
	add := func(avoid string, least, most int) {
		if text, ok := m.text(s, avoid, least, most); ok {
			values = append(values, text)
		}
	}
	least, most := at(s.MinLength), limit(s.MaxLength)
	if most > 1 && least == 0 || most < 0 && least == 0 {
		add("", 1, most)
	}
	add("", least, most)
	if strict.Pattern != "" && strict.Pattern != s.Pattern {
		add(strict.Pattern, least, most)
	}
	for _, bound := range []*int64{strict.MinLength, strict.MaxLength, s.MaxLength} {
		for _, n := range []int{at(bound) - 1, at(bound) + 1} {
			if bound != nil && n >= least && (most < 0 || n <= most) {
				add("", n, n)
			}
		}
	}
	for _, t := range h.texts {
		values = append(values, t)
	}
	for _, n := range h.numbers {
		for _, length := range []int{int(n) - 1, int(n), int(n) + 1} {
			if length >= least && (most < 0 || length <= most) && length < 2000 {
				add("", length, length)
			}
		}
	}
	for _, t := range formats {
		values = append(values, t)
	}
	return values
}

func (m *maker) numbers(s, strict *props, h *hints) []any {
	var found []float64
	step := 1.0
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		step = *s.MultipleOf
	}
	if s.Minimum != nil {
		found = append(found, math.Ceil(*s.Minimum/step)*step, math.Ceil(*s.Minimum/step)*step+step)
	}
	found = append(found, 1, 0, step)
	for _, bound := range []*float64{strict.Minimum, strict.Maximum, s.Maximum, strict.MultipleOf} {
		if bound == nil {
			continue
		}
		up, down := math.Ceil(*bound/step)*step, math.Floor(*bound/step)*step
		found = append(found, up, down, up+step, down-step, *bound)
		if s.Type == "number" {
			found = append(found, *bound+0.5, *bound-0.5)
		}
	}
	for _, n := range h.numbers {
		found = append(found, n, n+1, n-1)
	}
	found = append(found, -1, 2, 3, 5, 7, 10, 100, 1000, math.MaxInt32+1, math.MinInt32-1, 1<<40)
	if s.Type == "number" {
		found = append(found, 0.5, 1e300)
	}
	var values []any
	for _, n := range found {
		if whole := int64(n); float64(whole) == n {
			values = append(values, whole)
		} else if s.Type == "number" {
			values = append(values, n)
		}
	}
	return values
}

// distinct returns values without duplicates.
func distinct(values []any) []any {
	seen := map[string]bool{}
	return slices.DeleteFunc(values, func(v any) bool {
		key := keyOf(v)
		known := seen[key]
		seen[key] = true
		return known
	})
}

func keyOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func cloned(v any) any { return runtime.DeepCopyJSONValue(v) }
