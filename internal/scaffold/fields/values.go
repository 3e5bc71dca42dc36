package fields

import (
	"encoding/base64"
	"iter"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// format is a format that API servers check, with examples.
type format struct {
	has    func(string) bool
	values []any
}

// formats are the formats that API servers check.
var formats = map[string]format{
	"uri": {func(s string) bool { u, err := url.ParseRequestURI(s); return err == nil && u.Scheme != "" },
		[]any{"https://example.com", "https://example.org"}},
	"email": {func(s string) bool { _, err := mail.ParseAddress(s); return err == nil },
		[]any{"ada@example.com", "alan@example.com"}},
	"hostname": {func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 },
		[]any{"example.com", "example.org"}},
	"ipv4": {func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
		[]any{"192.0.2.1", "192.0.2.2"}},
	"ipv6": {func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
		[]any{"2001:db8::1", "2001:db8::2"}},
	"cidr": {func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil },
		[]any{"192.0.2.0/24", "198.51.100.0/24"}},
	"mac": {regexp.MustCompile(`^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$`).MatchString,
		[]any{"00:00:5e:00:53:01", "00:00:5e:00:53:02"}},
	"uuid": {
		regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`).MatchString,
		[]any{"123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001"},
	},
	"byte": {func(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil && s != "" },
		[]any{"aGVsbG8=", "d29ybGQ="}},
	"date": {func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
		[]any{"2026-01-02", "2027-01-02"}},
	"date-time": {func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil },
		[]any{"2026-01-02T15:04:05Z", "2027-01-02T15:04:05Z"}},
	"duration": {func(s string) bool { _, err := time.ParseDuration(s); return err == nil }, []any{"90s", "5m"}},
}

// enough is the number of candidates after which the search for a value stops.
const enough = 4096

// values yields valid values of the field without duplicates, starting with the example and the default.
func (f *Field) values() iter.Seq[any] {
	return distinct(f.accept, func(yield func(any) bool) {
		for _, v := range []any{f.example, f.byDefault} {
			if v != nil && !yield(v) {
				return
			}
		}
		if !f.collection() {
			f.candidates()(yield)
			return
		}
		for from := range 8 {
			if !yield(f.collected(from)) {
				return
			}
		}
	})
}

// collected returns a list or map of values, starting with the value at index from.
func (f *Field) collected(from int) any {
	size := int(max(1, f.limits["minItems"], f.limits["minProperties"]))
	if size > enough {
		return nil // nil is never valid
	}
	items := take(distinct(f.acceptOne, f.candidates()), from+size)
	if len(items) == 0 {
		return nil
	}
	at := func(i int) any { return items[(from+i)%len(items)] }
	if f.isList {
		list := make([]any, size)
		for i := range list {
			list[i] = at(i)
		}
		return list
	}
	entries := map[string]any{}
	for i := range size {
		entries["key"+suffix(i)] = at(i)
	}
	return entries
}

func suffix(i int) string {
	if i == 0 {
		return ""
	}
	return "-" + inJSON(i+1)
}

// distinct yields the accepted values without duplicates.
func distinct(accept func(any) error, from iter.Seq[any]) iter.Seq[any] {
	return func(yield func(any) bool) {
		seen, tried := map[string]bool{}, 0
		for value := range from {
			if tried++; tried > enough {
				return
			}
			if id := inJSON(value); !seen[id] && accept(value) == nil {
				seen[id] = true
				if !yield(value) {
					return
				}
			}
		}
	}
}

// candidates yields values that may be valid for the field, or for the items of a list or map.
func (f *Field) candidates() iter.Seq[any] {
	switch {
	case f.object != nil:
		return f.objects()
	case f.scalar.name == "condition":
		return func(yield func(any) bool) {
			yield(map[string]any{})
		}
	case len(f.enum) > 0:
		return each(f.enum)
	case len(f.scalar.values) > 0:
		return each(f.scalar.values)
	case f.scalar.kind == kindInteger:
		return f.integers()
	}
	return f.texts()
}

func each(values []any) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, v := range values {
			if !yield(v) {
				return
			}
		}
	}
}

// integers yields small numbers and the numbers next to the limits.
func (f *Field) integers() iter.Seq[any] {
	return func(yield func(any) bool) {
		step := max(1, f.limits["multipleOf"])
		least, hasLeast := f.limits["min"]
		most, hasMost := f.limits["max"]
		for i := int64(1); i <= 64; i++ {
			for _, n := range []int64{i * step, ceil(least, step) + (i-1)*step, floor(most, step) - (i-1)*step} {
				if !yield(n) {
					return
				}
			}
		}
		_ = yield(int64(0)) && (!hasLeast || yield(least)) && (!hasMost || yield(most))
	}
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

// texts yields strings that match the format, strings that match the pattern, and the name of the field.
func (f *Field) texts() iter.Seq[any] {
	return func(yield func(any) bool) {
		if f.format != "" && !all(formats[f.format].values, yield) {
			return
		}
		var tree *syntax.Regexp
		if f.pattern != nil {
			tree, _ = syntax.Parse(f.pattern.String(), syntax.Perl) // the pattern compiles
		}
		name := strings.ToLower(strings.Join(words(f.name), "-"))
		for n := range 256 {
			text := name + suffix(n)
			if tree != nil && !all([]any{text, f.fit(text), generate(tree, n)}, yield) {
				return
			}
			if tree == nil && !all([]any{text, f.fit(text)}, yield) {
				return
			}
		}
	}
}

func all(values []any, yield func(any) bool) bool {
	for _, v := range values {
		if !yield(v) {
			return false
		}
	}
	return true
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

// generate returns the nth string that a regular expression may match.
func generate(tree *syntax.Regexp, n int) string {
	more, pick := n%16, n/16
	var out strings.Builder
	var write func(*syntax.Regexp)
	write = func(re *syntax.Regexp) {
		times := func(least, most int) {
			count := least + more
			if most >= 0 {
				count = min(count, most)
			}
			for range count {
				write(re.Sub[0])
			}
		}
		switch re.Op {
		case syntax.OpLiteral:
			out.WriteString(string(re.Rune))
		case syntax.OpCharClass:
			out.WriteRune(runeIn(re.Rune, pick))
		case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
			out.WriteByte("abcdefgh"[pick%8])
		case syntax.OpCapture, syntax.OpConcat:
			for _, sub := range re.Sub {
				write(sub)
			}
		case syntax.OpAlternate:
			write(re.Sub[pick%len(re.Sub)])
		case syntax.OpStar:
			times(0, -1)
		case syntax.OpPlus:
			times(1, -1)
		case syntax.OpQuest:
			times(0, 1)
		case syntax.OpRepeat:
			times(re.Min, re.Max)
		}
	}
	write(tree)
	return out.String()
}

// runeIn returns a rune of a class: the letter or digit with index pick, or the first rune.
func runeIn(ranges []rune, pick int) rune {
	var plain []rune
	for _, wanted := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}} {
		for r := wanted[0]; r <= wanted[1]; r++ {
			for i := 0; i+1 < len(ranges); i += 2 {
				if ranges[i] <= r && r <= ranges[i+1] {
					plain = append(plain, r)
				}
			}
		}
	}
	if len(plain) > 0 {
		return plain[pick%len(plain)]
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if unicode.IsPrint(r) {
				return r
			}
		}
	}
	return '?'
}

// objects yields objects whose fields all have their first values, their second values, and so on.
func (f *Field) objects() iter.Seq[any] {
	return func(yield func(any) bool) {
		const different = 16
		values := map[string][]any{}
		for _, child := range f.object.fields {
			values[child.name] = take(child.values(), max(different, int(f.limits["minItems"])))
		}
		for n := range different + int(min(f.limits["minItems"], enough)) {
			object := map[string]any{}
			for _, child := range f.object.fields {
				if list := values[child.name]; len(list) > 0 && f.holds(child) {
					object[child.name] = list[n%len(list)]
				}
			}
			if !yield(object) {
				return
			}
		}
	}
}

// holds reports whether the sample contains a field of an object. The sample contains all fields unless maxProperties
// limits their number.
func (f *Field) holds(child *Field) bool {
	most, bounded := f.limits["maxProperties"]
	return !bounded || f.collection() || int64(len(f.object.fields)) <= most || child.mustBeSet()
}

// take returns the first n values.
func take(from iter.Seq[any], n int) []any {
	var values []any
	if n <= 0 {
		return nil
	}
	for v := range from {
		if values = append(values, v); len(values) == n {
			break
		}
	}
	return values
}

func first(from iter.Seq[any]) (any, bool) {
	for v := range from {
		return v, true
	}
	return nil, false
}
