package fields

import (
	"iter"
	"regexp"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/language"
)

// formats are the formats that API servers check, with examples.
var formats = map[string][]any{
	"uri":       {"https://example.com", "https://example.org"},
	"email":     {"ada@example.com", "alan@example.com"},
	"hostname":  {"example.com", "example.org"},
	"ipv4":      {"192.0.2.1", "192.0.2.2"},
	"ipv6":      {"2001:db8::1", "2001:db8::2"},
	"cidr":      {"192.0.2.0/24", "198.51.100.0/24"},
	"mac":       {"00:00:5e:00:53:01", "00:00:5e:00:53:02"},
	"uuid":      {"123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001"},
	"byte":      {"aGVsbG8=", "d29ybGQ="},
	"date":      {"2026-01-02", "2027-01-02"},
	"date-time": {"2026-01-02T15:04:05Z", "2027-01-02T15:04:05Z"},
	"duration":  {"90s", "5m"},
}

// enough is the number of candidates after which the search for values stops.
const enough = 4096

// values returns at most n different valid values of the field, starting with the example and the default.
func (f *Field) values(n int) []any {
	return pick(n, f.accept, func(yield func(any) bool) {
		if !yield(f.example) || !yield(f.byDefault) { // nil is never valid
			return
		}
		if !f.collection() {
			f.candidates(yield)
			return
		}
		for from := range 8 {
			if !yield(f.collected(from)) {
				return
			}
		}
	})
}

// pick returns the first n different values that accept allows.
func pick(n int, accept func(any) error, from iter.Seq[any]) []any {
	var values []any
	seen, tried := map[string]bool{}, 0
	for value := range from {
		if id := inJSON(value); !seen[id] && accept(value) == nil {
			seen[id] = true
			values = append(values, value)
		}
		if tried++; tried >= enough || len(values) >= n {
			break
		}
	}
	return values
}

// collected returns a list or map of values, starting with the value at index from.
func (f *Field) collected(from int) any {
	size := int(max(1, f.limits[f.form.low]))
	if size > enough {
		return nil
	}
	items := pick(from+size, f.acceptOne, f.candidates)
	if len(items) == 0 {
		return nil
	}
	all, entries := make([]any, size), map[string]any{}
	for i := range all {
		all[i] = items[(from+i)%len(items)]
		entries["key"+suffix(i)] = all[i]
	}
	if f.form == mapping {
		return entries
	}
	return all
}

func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return "-" + inJSON(i+1)
}

// candidates yields values that may be valid for the field, or for the items of a list or map.
func (f *Field) candidates(yield func(any) bool) {
	switch {
	case f.object != nil:
		f.objects(yield)
	case len(f.enum) > 0:
		each(f.enum, yield)
	case len(f.scalar.values) > 0:
		each(f.scalar.values, yield)
	case f.scalar.kind == kindInteger:
		f.integers(yield)
	default:
		f.texts(yield)
	}
}

// each yields values. It returns false if yield did.
func each(values []any, yield func(any) bool) bool {
	for _, v := range values {
		if !yield(v) {
			return false
		}
	}
	return true
}

// integers yields small numbers and the numbers next to the limits.
func (f *Field) integers(yield func(any) bool) {
	step := max(1, f.limits["multipleOf"])
	least, most := f.limits["min"], f.limits["max"]
	for i := int64(1); i <= 64; i++ {
		for _, n := range []int64{i * step, ceil(least, step) + (i-1)*step, floor(most, step) - (i-1)*step} {
			if !yield(n) {
				return
			}
		}
	}
	each([]any{int64(0), least, most}, yield)
}

// ceil and floor return n rounded up or down to a multiple of step.
func ceil(n, step int64) int64 { return -floor(-n, step) }

func floor(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}

// texts yields examples of the format, the name of the field with numbers, and strings that match the pattern.
func (f *Field) texts(yield func(any) bool) {
	if !each(formats[f.format], yield) {
		return
	}
	name := strings.ToLower(strings.Join(words.FindAllString(f.name, -1), "-"))
	for n := range 256 {
		text := name + suffix(n)
		if !yield(text) || !yield(f.fit(text)) {
			return
		}
	}
	if f.pattern == nil {
		return
	}
	query := language.Query{Match: []string{f.pattern.String()}, Min: int(f.limits["minLength"]), Max: -1}
	if most, ok := f.limits["maxLength"]; ok {
		query.Max = int(most)
	}
	var known []string
	for range 256 {
		answer, _ := language.Find(query) // the pattern compiles
		if !answer.Found || !yield(answer.Text) {
			return
		}
		known = append(known, regexp.QuoteMeta(answer.Text))
		query.Avoid = []string{"^(" + strings.Join(known, "|") + ")$"}
	}
}

// fit adapts a string to the length limits. It keeps the end of the string.
func (f *Field) fit(text string) string {
	if most, ok := f.limits["maxLength"]; ok && int64(len(text)) > most {
		text = text[int64(len(text))-most:]
	}
	if least := f.limits["minLength"]; int64(len(text)) < least && least <= 1<<16 {
		text = strings.Repeat("a", int(least)-len(text)) + text
	}
	return text
}

// objects yields objects whose fields all have their first values, their second values, and so on.
func (f *Field) objects(yield func(any) bool) {
	count := 16 + int(min(f.limits["minItems"], enough))
	values := map[string][]any{}
	for _, child := range f.object.fields {
		if f.holds(child) {
			values[child.name] = child.values(count)
		}
	}
	for n := range count {
		object := map[string]any{}
		for name, all := range values {
			if len(all) > 0 {
				object[name] = all[n%len(all)]
			}
		}
		if !yield(object) {
			return
		}
	}
}

// holds reports whether the sample contains a field of an object. The sample contains all fields unless maxProperties
// limits their number.
func (f *Field) holds(child *Field) bool {
	most, bounded := f.limits["maxProperties"]
	return !bounded || f.collection() || int64(len(f.object.fields)) <= most || child.mustBeSet()
}
