package witness

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/language"
)

// neighbours yields values of a schema that differ from a value in one place.
func (m *maker) neighbours(s *props, value any, h *hints, depth int) iter.Seq[any] {
	return func(yield func(any) bool) {
		if depth > deepest {
			return
		}
		all := merged(s)
		switch v := value.(type) {
		case map[string]any:
			m.eachField(all, s.Required, v, h, depth, yield)
		case []any:
			m.eachItem(all, v, h, depth, yield)
		default:
			for _, other := range distinct(m.scalars(all, nil, h)) {
				if keyOf(other) != keyOf(value) && !yield(other) {
					return
				}
			}
		}
	}
}

// with returns a copy of an object with another value of a field.
func with(object map[string]any, name string, value any) map[string]any {
	out := maps.Clone(object)
	out[name] = value
	return out
}

// less returns a copy of an object without a field.
func less(object map[string]any, name string) map[string]any {
	out := maps.Clone(object)
	delete(out, name)
	return out
}

// eachField yields the neighbours of an object.
func (m *maker) eachField(s *props, required []string, v map[string]any, h *hints, depth int, yield func(any) bool) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if _, there := v[name]; there || depth == 0 && (name == "metadata" || name == "status") || !h.about(name) {
			continue
		}
		of := property(s, name)
		tries := distinct(append([]any{m.minimal(of, depth)}, m.scalars(merged(of), nil, h)...))
		for _, value := range tries[:min(len(tries), 5)] {
			if !yield(with(v, name, value)) {
				return
			}
		}
	}
	if values := change.ValuesOf(s); values != nil {
		for _, name := range h.keys() {
			if _, there := v[name]; !there && !yield(with(v, name, m.minimal(values, depth))) {
				return
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if depth == 0 && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		if !slices.Contains(required, name) && (h.about(name) || depth > 0) && !yield(less(v, name)) {
			return
		}
		of := property(s, name)
		if _, listed := s.Properties[name]; of == nil || listed && !h.about(name) && !holds(of) {
			continue
		}
		for value := range m.neighbours(of, v[name], h, depth+1) {
			if !yield(with(v, name, value)) {
				return
			}
		}
	}
}

// eachItem yields the neighbours of a list.
func (m *maker) eachItem(s *props, v []any, h *hints, depth int, yield func(any) bool) {
	of := change.ItemsOf(s)
	if of == nil || !yield(m.longer(s, of, v, len(v)+1, depth)) {
		return
	}
	if len(v) > 0 && (!yield(append(slices.Clone(v), v[0])) || !yield(slices.Clone(v[:len(v)-1]))) {
		return
	}
	for _, length := range h.lengths(s.MaxItems) {
		if length != len(v) && length < mostItems && !yield(m.longer(s, of, v, length, depth)) {
			return
		}
	}
	for i := range v[:min(len(v), 2)] {
		for value := range m.neighbours(of, v[i], h, depth+1) {
			out := slices.Clone(v)
			out[i] = value
			if !yield(out) {
				return
			}
		}
	}
}

var (
	quoted  = regexp.MustCompile(`'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"`)
	numeral = regexp.MustCompile(`\b\d+(\.\d+)?\b`)
	// identifier matches possible names of fields. Rules escape names that CEL reserves.
	identifier = regexp.MustCompile(`[A-Za-z_$][\w$]*`)
)

// mostItems is the maximum length of a list that is created because of a number in a rule.
const mostItems = 130

// about reports whether changing a field may affect the rules.
func (h *hints) about(name string) bool { return len(h.names) == 0 || h.names[name] }

// holds reports whether a value may have parts.
func holds(s *props) bool { return s.Type == "object" || s.Type == "array" }

// keys returns keys for maps.
func (h *hints) keys() []string {
	keys := append([]string{"key", "key2"}, h.texts[:min(len(h.texts), 10)]...)
	for _, length := range h.lengths(nil) {
		if length > 0 && length < 2000 {
			keys = append(keys, strings.Repeat("x", length))
		}
	}
	return keys
}

// lengths returns the lengths to try: a bound, and the numbers in the rules with their neighbours.
func (h *hints) lengths(bound *int64) []int {
	var all []int
	if bound != nil {
		all = append(all, at(bound))
	}
	for _, n := range h.numbers {
		if n < longest {
			all = append(all, int(n), int(n)+1, max(int(n)-1, 0))
		}
	}
	return all
}

// longer returns a list of the given length that starts with the items of v.
func (m *maker) longer(s, of *props, v []any, length, depth int) []any {
	out := slices.Clone(v[:min(len(v), length)])
	for len(out) < length {
		out = append(out, m.item(s, of, len(out), depth))
	}
	return out
}

// mostHints is the maximum number of strings and numbers from rules that are tried.
const mostHints = 40

// hintsOf returns the strings and numbers in rules, and strings that match or do not match their regular expressions.
func (m *maker) hintsOf(rules ...string) *hints {
	h := &hints{names: map[string]bool{}}
	for _, rule := range rules {
		for _, name := range identifier.FindAllString(rule, -1) {
			h.names[name] = true
			if unescaped, ok := apiservercel.Unescape(name); ok {
				h.names[unescaped] = true
			}
		}
		for _, found := range quoted.FindAllStringSubmatch(rule, -1) {
			literal := found[1] + found[2]
			if unquoted, err := strconv.Unquote(`"` + strings.ReplaceAll(literal, `\'`, `'`) + `"`); err == nil {
				literal = unquoted
			}
			h.texts = append(h.texts, literal, literal+"x")
			if strings.ContainsAny(literal, `^$[]()*+\`) && strings.Contains(rule, "matches") {
				for _, q := range []language.Query{{Match: []string{literal}, Max: -1}, {Match: []string{literal}, Min: 2, Max: -1},
					{Avoid: []string{literal}, Min: 1, Max: -1}} {
					if answer := m.find(q); answer.Found {
						h.texts = append(h.texts, answer.Text)
					}
				}
			}
		}
		for _, digits := range numeral.FindAllString(quoted.ReplaceAllString(rule, ""), -1) {
			if n, err := strconv.ParseFloat(digits, 64); err == nil {
				h.numbers = append(h.numbers, n)
			}
		}
	}
	slices.Sort(h.numbers)
	h.numbers = slices.Compact(h.numbers)
	h.numbers = h.numbers[:min(len(h.numbers), mostHints)]
	h.texts = h.texts[:min(len(h.texts), mostHints)]
	return h
}

// rulesOf returns all rules in a schema.
func rulesOf(s *props) []string {
	var rules []string
	for _, r := range s.XValidations {
		rules = append(rules, r.Rule)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		rules = append(rules, rulesOf(property(s, name))...)
	}
	if of := change.ItemsOf(s); of != nil {
		rules = append(rules, rulesOf(of)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		rules = append(rules, rulesOf(s.AdditionalProperties.Schema)...)
	}
	return rules
}
