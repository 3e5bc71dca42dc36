package crd

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// writer writes schemas as the YAML library does, without first creating JSON and generic values, which takes several
// times as long and as much memory. It uses the library for rare scalars, and reports schemas that it cannot write.
type writer struct {
	out     []byte
	refused bool
}

// writeSchema returns the YAML of a schema that is the value of a key at an indent, with the line break before it. It
// reports false if the library has to write it.
func writeSchema(schema *apiextensionsv1.JSONSchemaProps, indent int) ([]byte, bool) {
	w := &writer{}
	w.schema(schema, indent+2, false)
	return w.out, !w.refused
}

// mapping writes the fields of one mapping, in the order of its keys.
type mapping struct {
	*writer
	indent int
	// isItem is set if the first field follows the dash of a list item.
	isItem bool
	fields int
}

// key begins the line of a field, up to the colon.
func (m *mapping) key(name string) {
	if !m.isItem || m.fields > 0 {
		if m.fields == 0 {
			m.out = append(m.out, '\n')
		}
		m.spaces(m.indent)
	}
	m.fields++
	m.out = append(m.out, name...)
	m.out = append(m.out, ':')
}

// end closes a mapping, which may be empty.
func (m *mapping) end() {
	if m.fields > 0 {
		return
	}
	if !m.isItem {
		m.out = append(m.out, ' ')
	}
	m.out = append(m.out, "{}\n"...)
}

func (w *writer) spaces(n int) {
	const some = "                                                                "
	for ; n > len(some); n -= len(some) {
		w.out = append(w.out, some...)
	}
	w.out = append(w.out, some[:n]...)
}

// schema writes a schema whose fields have an indent, in the order of the library, which sorts letters last.
func (w *writer) schema(s *apiextensionsv1.JSONSchemaProps, indent int, isItem bool) {
	if s.ID != "" || s.Schema != "" || s.Ref != nil || s.PatternProperties != nil || s.Dependencies != nil ||
		s.AdditionalItems != nil ||
		s.Definitions != nil || s.ExternalDocs != nil || s.Items != nil && s.Items.Schema == nil {
		w.refused = true
		return
	}
	m := &mapping{writer: w, indent: indent, isItem: isItem}
	if p := s.AdditionalProperties; p != nil {
		m.key("additionalProperties")
		if p.Schema != nil {
			w.schema(p.Schema, indent+2, false)
		} else {
			w.bool(p.Allows)
		}
	}
	m.schemas("allOf", s.AllOf)
	m.schemas("anyOf", s.AnyOf)
	m.json("default", s.Default)
	m.text("description", s.Description)
	if len(s.Enum) > 0 {
		m.key("enum")
		w.out = append(w.out, '\n')
		for i := range s.Enum {
			w.dash(indent)
			w.value(w.parse(&s.Enum[i]), indent, true)
		}
	}
	m.json("example", s.Example)
	m.isTrue("exclusiveMaximum", s.ExclusiveMaximum)
	m.isTrue("exclusiveMinimum", s.ExclusiveMinimum)
	m.text("format", s.Format)
	if s.Items != nil {
		m.key("items")
		w.schema(s.Items.Schema, indent+2, false)
	}
	m.count("maxItems", s.MaxItems)
	m.count("maxLength", s.MaxLength)
	m.count("maxProperties", s.MaxProperties)
	m.number("maximum", s.Maximum)
	m.count("minItems", s.MinItems)
	m.count("minLength", s.MinLength)
	m.count("minProperties", s.MinProperties)
	m.number("minimum", s.Minimum)
	m.number("multipleOf", s.MultipleOf)
	if s.Not != nil {
		m.key("not")
		w.schema(s.Not, indent+2, false)
	}
	m.isTrue("nullable", s.Nullable)
	m.schemas("oneOf", s.OneOf)
	m.text("pattern", s.Pattern)
	if len(s.Properties) > 0 {
		m.key("properties")
		m.properties(s.Properties)
	}
	m.texts("required", s.Required)
	m.text("title", s.Title)
	m.text("type", s.Type)
	m.isTrue("uniqueItems", s.UniqueItems)
	m.isTrue("x-kubernetes-embedded-resource", s.XEmbeddedResource)
	m.isTrue("x-kubernetes-int-or-string", s.XIntOrString)
	m.texts("x-kubernetes-list-map-keys", s.XListMapKeys)
	m.word("x-kubernetes-list-type", s.XListType)
	m.word("x-kubernetes-map-type", s.XMapType)
	m.flag("x-kubernetes-preserve-unknown-fields", s.XPreserveUnknownFields)
	if len(s.XValidations) > 0 {
		m.key("x-kubernetes-validations")
		w.out = append(w.out, '\n')
		for i := range s.XValidations {
			w.dash(indent)
			w.rule(&s.XValidations[i], indent+2)
		}
	}
	m.end()
}

func (w *writer) rule(r *apiextensionsv1.ValidationRule, indent int) {
	m := &mapping{writer: w, indent: indent, isItem: true}
	m.text("fieldPath", r.FieldPath)
	m.text("message", r.Message)
	m.text("messageExpression", r.MessageExpression)
	m.flag("optionalOldSelf", r.OptionalOldSelf)
	if r.Reason != nil {
		m.key("reason")
		w.scalar("reason", string(*r.Reason), indent, false)
	}
	m.key("rule")
	w.scalar("rule", r.Rule, indent, false)
}

func (w *writer) dash(indent int) {
	w.spaces(indent)
	w.out = append(w.out, "- "...)
}

func (m *mapping) schemas(name string, all []apiextensionsv1.JSONSchemaProps) {
	if len(all) == 0 {
		return
	}
	m.key(name)
	m.out = append(m.out, '\n')
	for i := range all {
		m.dash(m.indent)
		m.schema(&all[i], m.indent+2, true)
	}
}

func (m *mapping) properties(all map[string]apiextensionsv1.JSONSchemaProps) {
	inner := &mapping{writer: m.writer, indent: m.indent + 2}
	for _, name := range sortedKeys(all) {
		inner.key(m.keyText(name))
		schema := all[name]
		m.schema(&schema, m.indent+4, false)
	}
}

func (m *mapping) text(name, text string) {
	if text != "" {
		m.key(name)
		m.scalar(name, text, m.indent, false)
	}
}

func (m *mapping) word(name string, text *string) {
	if text != nil {
		m.key(name)
		m.scalar(name, *text, m.indent, false)
	}
}

func (m *mapping) texts(name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	m.key(name)
	m.out = append(m.out, '\n')
	for _, text := range texts {
		m.dash(m.indent)
		m.scalar("", text, m.indent, true)
	}
}

func (m *mapping) isTrue(name string, value bool) {
	if value {
		m.key(name)
		m.bool(value)
	}
}

func (m *mapping) flag(name string, value *bool) {
	if value != nil {
		m.key(name)
		m.bool(*value)
	}
}

func (w *writer) bool(value bool) {
	w.out = append(strconv.AppendBool(append(w.out, ' '), value), '\n')
}

// longestInteger is the smallest number that the library may not write as plain digits.
const longestInteger = 1e15

func (m *mapping) count(name string, value *int64) {
	if value != nil {
		m.key(name)
		m.out = append(m.out, ' ')
		m.integer(*value)
	}
}

func (m *mapping) number(name string, value *float64) {
	if value != nil {
		m.key(name)
		m.out = append(m.out, ' ')
		if *value != math.Trunc(*value) || *value == 0 && math.Signbit(*value) || math.Abs(*value) >= longestInteger {
			m.refused = true
			return
		}
		m.integer(int64(*value))
	}
}

func (w *writer) integer(value int64) {
	if value >= longestInteger || value <= -longestInteger {
		w.refused = true
	}
	w.out = append(strconv.AppendInt(w.out, value, 10), '\n')
}

// json writes a value, unless it is null, which the API server omits.
func (m *mapping) json(name string, raw *apiextensionsv1.JSON) {
	if raw == nil {
		return
	}
	if value := m.parse(raw); value != nil {
		m.key(name)
		m.value(value, m.indent, false)
	}
}

// parse reads JSON as the API server does.
func (w *writer) parse(raw *apiextensionsv1.JSON) any {
	var value any
	if len(raw.Raw) > 0 && json.Unmarshal(raw.Raw, &value) != nil {
		w.refused = true
	}
	return value
}

// value writes a value of a mapping or a list at an indent: after the colon of its key, or after a dash.
func (w *writer) value(value any, indent int, isItem bool) {
	switch value := value.(type) {
	case string:
		w.scalar("", value, indent, isItem)
		return
	case map[string]any:
		m := &mapping{writer: w, indent: indent + 2, isItem: isItem}
		for _, name := range sortedKeys(value) {
			m.key(w.keyText(name))
			w.value(value[name], indent+2, false)
		}
		m.end()
		return
	case []any:
		if len(value) > 0 && !isItem {
			w.out = append(w.out, '\n')
			for _, item := range value {
				w.dash(indent)
				w.value(item, indent, true)
			}
			return
		}
	}
	if !isItem {
		w.out = append(w.out, ' ')
	}
	switch value := value.(type) {
	case int64:
		w.integer(value)
	case bool:
		w.out = append(strconv.AppendBool(w.out, value), '\n')
	case nil:
		w.out = append(w.out, "null\n"...)
	case []any:
		w.refused = w.refused || len(value) > 0
		w.out = append(w.out, "[]\n"...)
	default:
		w.refused = true
	}
}

// width is the length of a line after which the library breaks a long string.
const width = 80

// scalar writes a string after the colon of a key at an indent, or after the dash of an item of such a key.
func (w *writer) scalar(key, text string, indent int, isItem bool) {
	if !isItem {
		w.out = append(w.out, ' ')
	}
	column := len(w.out) - bytes.LastIndexByte(w.out, '\n') - 1
	switch shapeOf(text) {
	case plain:
		w.fold(text, column, indent+2)
	case literal:
		w.lines(text, indent+2)
	case foreign:
		w.refused = true
	default:
		w.ask(text, column, indent, isItem)
	}
}

// fold writes a plain scalar, and breaks lines at the first single space beyond the width.
func (w *writer) fold(text string, column, indent int) {
	for column+len(text) > width {
		from := max(0, width+1-column)
		at := from
		for at < len(text) && !(text[at] == ' ' && text[at-1] != ' ' && text[at+1] != ' ') {
			at++
		}
		if at >= len(text) {
			break
		}
		w.out = append(append(w.out, text[:at]...), '\n')
		w.spaces(indent)
		text, column = text[at+1:], indent
	}
	w.out = append(append(w.out, text...), '\n')
}

// lines writes a string as a literal block scalar.
func (w *writer) lines(text string, indent int) {
	w.out = append(w.out, '|')
	if !strings.HasSuffix(text, "\n") {
		w.out = append(w.out, '-')
	}
	w.out = append(w.out, '\n')
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			w.spaces(indent)
			w.out = append(w.out, line...)
		}
		w.out = append(w.out, '\n')
	}
}

// ask lets the library write a string in the same place: at the same depth, and after a key of the same length.
func (w *writer) ask(text string, column, indent int, isItem bool) {
	var value any = text
	key := "a"
	if isItem {
		value = []string{text}
	} else if key = strings.Repeat("a", max(1, column-indent-len(": "))); len(key) > longestKey {
		w.refused = true
		return
	}
	value = yaml.MapSlice{{Key: key, Value: value}}
	for range indent / 2 {
		value = yaml.MapSlice{{Key: "a", Value: value}}
	}
	asked, err := yaml.Marshal(value)
	begin := strings.Repeat(" ", indent) + key + ": "
	if isItem {
		begin = strings.Repeat(" ", indent) + "- "
	}
	_, written, found := bytes.Cut(append([]byte("\n"), asked...), []byte("\n"+begin))
	if err != nil || !found {
		w.refused = true
		return
	}
	w.out = append(w.out, written...)
}

// longestKey exceeds the length of the keys that the library writes on one line with their colon.
const longestKey = 100

// keyText returns a key as the library writes it.
func (w *writer) keyText(name string) string {
	if shapeOf(name) == plain && len(name) <= longestKey {
		return name
	}
	written, err := yaml.Marshal(yaml.MapSlice{{Key: name, Value: nil}})
	text, found := strings.CutSuffix(string(written), ": null\n")
	if err != nil || !found || len(text) > longestKey || !isASCII(name) {
		w.refused = true
	}
	return text
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// shape is the style of a scalar.
type shape int

const (
	unsure  shape = iota // the library must decide
	plain                // plain scalar
	literal              // literal block scalar
	foreign              // has characters that the library treats in its own way
)

// shapeOf returns the style of a string. It recognizes the style of nearly all strings in schemas.
func shapeOf(text string) shape {
	if text == "" {
		return unsure
	}
	breaks, doubtful, words := false, false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			breaks = true
			doubtful = doubtful || i == 0 || text[i-1] == ' '
		case c < ' ' || c == 0x7f:
			if c != '\t' {
				return foreign
			}
			doubtful = true
		case c >= 0x80:
			if !isWord([]byte(text[i:min(len(text), i+4)])) {
				return foreign
			}
			words = true
		}
	}
	if words && !utf8.ValidString(text) {
		return foreign
	}
	last := text[len(text)-1]
	if breaks {
		if doubtful || text[0] == ' ' || last == ' ' || strings.HasSuffix(text, "\n\n") {
			return unsure
		}
		return literal
	}
	if doubtful || words || last == ' ' || last == ':' || !isLetter(text[0]) || strings.Contains(text, ": ") ||
		strings.Contains(text, " #") || isConstant(text) {
		return unsure
	}
	return plain
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// isConstant reports whether YAML may read a string that begins with a letter as a value of another type.
func isConstant(text string) bool {
	if len(text) > len("false") {
		return false
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// sortedKeys returns the keys of a mapping in the order of the library.
func sortedKeys[T any](all map[string]T) []string {
	keys := make([]string, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// compareKeys compares digits as numbers, and sorts letters last.
func compareKeys(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	if isLetter(a[i]) && isLetter(b[i]) {
		return cmp.Compare(a[i], b[i])
	}
	return compareRunes([]rune(a), []rune(b))
}

func compareRunes(a, b []rune) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	switch aIs, bIs := unicode.IsLetter(a[i]), unicode.IsLetter(b[i]); {
	case aIs && bIs:
		return cmp.Compare(a[i], b[i])
	case aIs:
		return 1
	case bIs:
		return -1
	}
	// A zero after other digits continues the number and does not begin a new one.
	var start int64
	if a[i] == '0' || b[i] == '0' {
		for j := i - 1; j >= 0 && unicode.IsDigit(a[j]); j-- {
			if a[j] != '0' {
				start = 1
				break
			}
		}
	}
	aNumber, aEnd := numberAt(a, i, start)
	bNumber, bEnd := numberAt(b, i, start)
	return cmp.Or(cmp.Compare(aNumber, bNumber), cmp.Compare(aEnd, bEnd), cmp.Compare(a[i], b[i]))
}

// numberAt continues the number start with the digits from i on. It returns the number and the end of the digits.
func numberAt(text []rune, i int, start int64) (number int64, end int) {
	for number, end = start, i; end < len(text) && unicode.IsDigit(text[end]); end++ {
		number = number*10 + int64(text[end]-'0')
	}
	return number, end
}
