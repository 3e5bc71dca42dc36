package crd

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// writer writes generic values and schemas as the YAML library does. It writes schemas without first creating JSON and
// generic values, which takes several times as long and as much memory. It uses the library for rare scalars, and
// reports values that it cannot write.
type writer struct {
	out     []byte
	refused bool
}

// writeYAML returns the YAML of a mapping. It reports false if the library has to write it.
func writeYAML(fields map[string]any) ([]byte, bool) {
	w := &writer{}
	writeMap(w, fields, -2, true)
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

// field is a field of a struct in JSON.
type field struct {
	name     string
	index    int
	required bool // written even if it is empty
}

// structs are the fields of the structs in schemas, in the order of the library.
var structs = func() map[reflect.Type][]field {
	all := map[reflect.Type][]field{}
	for _, of := range []reflect.Type{reflect.TypeFor[apiextensionsv1.JSONSchemaProps](),
		reflect.TypeFor[apiextensionsv1.ValidationRule](), reflect.TypeFor[apiextensionsv1.ExternalDocumentation]()} {
		byName := map[string]field{}
		for i := range of.NumField() {
			name, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			byName[name] = field{name, i, options != "omitempty"}
		}
		for _, name := range (&writer{}).sorted(slices.Collect(maps.Keys(byName))) {
			all[of] = append(all[of], byName[name])
		}
	}
	return all
}()

// structure writes a struct. It refuses types whose JSON differs from their fields.
func (w *writer) structure(v reflect.Value, indent int, isItem bool) {
	switch v.Type() {
	case reflect.TypeFor[apiextensionsv1.JSON]():
		w.value(w.parse(v), indent, isItem)
		return
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray](),
		reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():
		of := v.FieldByName("Schema")
		if of.IsNil() {
			of = v.FieldByName("Allows")
		}
		w.refused = w.refused || !of.IsValid()
		w.value(of, indent, isItem)
		return
	}
	fields, known := structs[v.Type()]
	w.refused = w.refused || !known
	m := &mapping{writer: w, indent: indent + 2, isItem: isItem}
	for _, f := range fields {
		of := v.Field(f.index)
		if !f.required && (of.IsZero() || (of.Kind() == reflect.Slice || of.Kind() == reflect.Map) && of.Len() == 0) {
			continue
		}
		if of.Type() == reflect.TypeFor[*apiextensionsv1.JSON]() {
			if of = w.parse(of.Elem()); !of.IsValid() {
				continue // The API server omits null.
			}
		}
		m.key(f.name)
		w.value(of, indent+2, false)
	}
	m.end()
}

// parse reads JSON as the API server does. The value of null is invalid.
func (w *writer) parse(v reflect.Value) reflect.Value {
	var value any
	raw := v.FieldByName("Raw").Bytes()
	w.refused = w.refused || len(raw) > 0 && json.Unmarshal(raw, &value) != nil
	return reflect.ValueOf(value)
}

func writeMap[T any](w *writer, all map[string]T, indent int, isItem bool) {
	m := &mapping{writer: w, indent: indent + 2, isItem: isItem}
	for _, name := range w.sorted(slices.AppendSeq(make([]string, 0, len(all)), maps.Keys(all))) {
		value := all[name]
		m.key(w.keyText(name))
		w.value(reflect.ValueOf(&value), indent+2, false)
	}
	m.end()
}

// value writes a value after the colon of a key at an indent, or after the dash of a list item at an indent.
func (w *writer) value(v reflect.Value, indent int, isItem bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		w.value(v.Elem(), indent, isItem)
		return
	case reflect.Struct:
		w.structure(v, indent, isItem)
		return
	case reflect.Map:
		switch all := v.Interface().(type) {
		case map[string]any:
			writeMap(w, all, indent, isItem)
		case map[string]apiextensionsv1.JSONSchemaProps:
			writeMap(w, all, indent, isItem)
		default:
			w.refused = true
		}
		return
	case reflect.String:
		w.scalar(v.String(), indent, isItem)
		return
	case reflect.Slice:
		if v.Len() > 0 && !isItem {
			w.out = append(w.out, '\n')
			for i := range v.Len() {
				w.spaces(indent)
				w.out = append(w.out, "- "...)
				w.value(v.Index(i), indent, true)
			}
			return
		}
	}
	if !isItem {
		w.out = append(w.out, ' ')
	}
	w.word(v)
	w.out = append(w.out, '\n')
}

// longestInteger is the smallest number that the library may not write as plain digits.
const longestInteger = 1e15

// word writes a value that is not a string, or an empty list.
func (w *writer) word(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		w.out = append(w.out, "null"...)
	case reflect.Bool:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case reflect.Slice:
		w.refused = w.refused || v.Len() > 0
		w.out = append(w.out, "[]"...)
	case reflect.Int64:
		w.integer(v.Int())
	case reflect.Float64:
		value := v.Float()
		w.refused = w.refused || value != math.Trunc(value) || value == 0 && math.Signbit(value)
		w.integer(int64(max(-longestInteger, min(value, longestInteger))))
	default:
		w.refused = true
	}
}

func (w *writer) integer(value int64) {
	w.refused = w.refused || value >= longestInteger || value <= -longestInteger
	w.out = strconv.AppendInt(w.out, value, 10)
}

// width is the length of a line after which the library breaks a long string.
const width = 80

// scalar writes a string after the colon of a key at an indent, or after the dash of an item of such a key.
func (w *writer) scalar(text string, indent int, isItem bool) {
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

// isWord reports whether UTF-8 text begins with a byte of a character from U+00A0 to U+1FFF, or from U+2010 to U+2026:
// letters, and the punctuation of prose.
func isWord(text []byte) bool {
	switch c := text[0]; {
	case c >= 0x80 && c < 0xc0:
		return true // A later byte of a character that was looked at.
	case c == 0xc2:
		return len(text) > 1 && text[1] >= 0xa0
	case c == 0xe2:
		return len(text) > 2 && text[1] == 0x80 && text[2] >= 0x90 && text[2] <= 0xa6
	}
	return text[0] > 0xc2 && text[0] <= 0xe1
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

// sorted sorts the keys of a mapping as the library does, which sorts letters last and digits as numbers.
func (w *writer) sorted(keys []string) []string {
	sure := true
	slices.SortFunc(keys, func(a, b string) int {
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] {
			i++
		}
		if i == len(a) || i == len(b) {
			return cmp.Compare(len(a), len(b))
		}
		switch aIs, bIs := isLetter(a[i]), isLetter(b[i]); {
		case a[i] >= utf8.RuneSelf || b[i] >= utf8.RuneSelf || !aIs && !bIs:
			sure = false
		case !aIs:
			return -1
		case !bIs:
			return 1
		}
		return cmp.Compare(a[i], b[i])
	})
	if !sure {
		w.sortByLibrary(keys)
	}
	return keys
}

// sortByLibrary lets the library sort keys.
func (w *writer) sortByLibrary(keys []string) {
	all := map[string]bool{}
	for _, key := range keys {
		all[key] = true
	}
	text, err := yaml.Marshal(all)
	var ordered yaml.MapSlice
	if err != nil || yaml.Unmarshal(text, &ordered) != nil || len(ordered) != len(keys) {
		w.refused = true
		return
	}
	for i, item := range ordered {
		key, ok := item.Key.(string)
		w.refused = w.refused || !ok || !all[key]
		keys[i] = key
	}
}
