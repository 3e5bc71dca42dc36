package apiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// document is an object as JSON, in the bytes in which clients get it but for its version: that is known once it is written, and
// another one when it is deleted. Nobody changes it.
type document struct {
	data    []byte
	version int // where in data the version goes
}

// newDocument is the document of an object, which has metadata.
func newDocument(object map[string]any) (document, error) {
	e := encoder{version: -1}
	metadata, ok := object["metadata"].(map[string]any)
	if ok {
		metadata["resourceVersion"] = ""
	}
	if err := e.object(object, 0); err != nil {
		return document{}, err
	}
	return document{slices.Clip(e.data), e.version}, nil
}

// appendTo appends the document in a version.
func (d document) appendTo(data []byte, revision int64) []byte {
	data = append(data, d.data[:d.version]...)
	data = strconv.AppendInt(data, revision, 10)
	return append(data, d.data[d.version:]...)
}

// decode is the object in a version, which is the caller's.
func (d document) decode(revision int64) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(d.data, &u.Object); err != nil {
		return nil, err
	}
	u.SetResourceVersion(strconv.FormatInt(revision, 10))
	return u, nil
}

// encoder writes what JSON can say as encoding/json does, without its reflection: that is a fifth of its time.
type encoder struct {
	data    []byte
	keys    []string // of the objects that are open, each with those of the ones in it behind it
	version int      // where the version of the object goes
}

// object writes an object. One of depth 0 is that of a kind, whose metadata have the version.
func (e *encoder) object(object map[string]any, depth int) error {
	first := len(e.keys)
	e.keys = slices.AppendSeq(e.keys, maps.Keys(object))
	last := len(e.keys)
	slices.Sort(e.keys[first:])
	e.data = append(e.data, '{')
	for i := first; i < last; i++ {
		if i > first {
			e.data = append(e.data, ',')
		}
		name := e.keys[i]
		e.text(name)
		e.data = append(e.data, ':')
		inner := depth + 2 // which has no version
		switch {
		case depth == 0 && name == "metadata":
			inner = 1
		case depth == 1 && name == "resourceVersion":
			e.version = len(e.data) + 1
		}
		if err := e.value(object[name], inner); err != nil {
			return err
		}
	}
	e.data = append(e.data, '}')
	e.keys = e.keys[:first]
	return nil
}

func (e *encoder) value(value any, depth int) error {
	switch value := value.(type) {
	case map[string]any:
		if value == nil {
			break
		}
		return e.object(value, depth)
	case []any:
		if value == nil {
			break
		}
		e.data = append(e.data, '[')
		for i, member := range value {
			if i > 0 {
				e.data = append(e.data, ',')
			}
			if err := e.value(member, depth+2); err != nil {
				return err
			}
		}
		e.data = append(e.data, ']')
		return nil
	case string:
		e.text(value)
		return nil
	case int64:
		e.data = strconv.AppendInt(e.data, value, 10)
		return nil
	case bool:
		e.data = strconv.AppendBool(e.data, value)
		return nil
	}
	data, err := json.Marshal(value)
	e.data = append(e.data, data...)
	return err
}

func (e *encoder) text(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // which never fails
			e.data = append(e.data, quoted...)
			return
		}
	}
	e.data = append(e.data, '"')
	e.data = append(e.data, text...)
	e.data = append(e.data, '"')
}

// scanner reads JSON as upstream's strict decoders do, in a third of their time, or says that it is not certain: of what is not valid, of
// members that are there twice, of numbers that Kubernetes writes otherwise, and of what hardly anybody sends.
type scanner struct {
	data []byte
	at   int
	yaml bool // who reads it else reads it as YAML
}

// parse is the object that a body has.
func parse(data []byte, yaml bool) (map[string]any, bool) {
	p := scanner{data: data, yaml: yaml}
	p.space()
	value, ok := p.value(0)
	object, isObject := value.(map[string]any)
	p.space()
	return object, ok && isObject && p.at == len(data)
}

func (p *scanner) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\n':
		case '\t', '\r':
			if p.yaml {
				return
			}
		default:
			return
		}
		p.at++
	}
}

// next reports whether a character is next, and takes it.
func (p *scanner) next(c byte) bool {
	p.space()
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *scanner) value(depth int) (any, bool) {
	const deepest = 64
	p.space()
	if p.at == len(p.data) || depth > deepest {
		return nil, false
	}
	switch c := p.data[p.at]; {
	case c == '{':
		p.at++
		return p.object(depth)
	case c == '[':
		p.at++
		return p.list(depth)
	case c == '"':
		return p.text()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for word, value := range words {
		if bytes.HasPrefix(p.data[p.at:], []byte(word)) {
			p.at += len(word)
			return value, true
		}
	}
	return nil, false
}

var words = map[string]any{"true": true, "false": false, "null": nil}

func (p *scanner) object(depth int) (any, bool) {
	object := map[string]any{}
	if p.next('}') {
		return object, true
	}
	for {
		p.space()
		name, ok := p.text()
		if !ok || !p.next(':') || p.yaml && (name == "<<" || len(name) > 512) {
			return nil, false
		}
		value, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		count := len(object)
		if object[name] = value; len(object) == count {
			return nil, false // it was there
		}
		switch {
		case p.next('}'):
			return object, true
		case !p.next(','):
			return nil, false
		}
	}
}

func (p *scanner) list(depth int) (any, bool) {
	items := []any{}
	if p.next(']') {
		return items, true
	}
	for {
		item, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		items = append(items, item)
		switch {
		case p.next(']'):
			return items, true
		case !p.next(','):
			return nil, false
		}
	}
}

func (p *scanner) text() (string, bool) {
	if p.at == len(p.data) || p.data[p.at] != '"' {
		return "", false
	}
	p.at++
	start, ascii := p.at, true
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			text := string(p.data[start:p.at])
			p.at++
			return text, ascii || !p.yaml && utf8.ValidString(text)
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", false
		case c > '~':
			ascii = false
		}
	}
	return "", false
}

// escaped is a text in which something is escaped, which began at start.
func (p *scanner) escaped(start int) (string, bool) {
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			var text string
			err := json.Unmarshal(p.data[start-1:p.at], &text)
			return text, err == nil
		case c == '\\':
			p.at++
			if p.at == len(p.data) || !strings.ContainsRune(`"\bfnrt`, rune(p.data[p.at])) && !p.unicode() {
				return "", false
			}
		case c < ' ' || c > '~':
			return "", false
		}
	}
	return "", false
}

// unicode reports whether the escape is of a character that stands for itself, and not half of one.
func (p *scanner) unicode() bool {
	if p.data[p.at] != 'u' || p.at+4 >= len(p.data) {
		return false
	}
	code, err := strconv.ParseUint(string(p.data[p.at+1:p.at+5]), 16, 16)
	return err == nil && (code < 0xd800 || code > 0xdfff) && code != 0 && (code < 0x7f || !p.yaml)
}

// number is a whole number, or one that has a fraction.
func (p *scanner) number() (any, bool) {
	start := p.at
	for p.at < len(p.data) && strings.IndexByte("+-.0123456789eE", p.data[p.at]) >= 0 {
		p.at++
	}
	text := string(p.data[start:p.at])
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || digits[0] == '0' && text != "0" && !strings.HasPrefix(digits, "0.") {
		return nil, false
	}
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		return number, !p.yaml || -1<<53 < number && number < 1<<53
	}
	number, err := strconv.ParseFloat(text, 64)
	before, after, fraction := strings.Cut(digits, ".")
	plain := fraction && before != "" && after != "" && strings.Trim(before+after, "0123456789") == ""
	return number, err == nil && plain && !p.yaml && number != math.Trunc(number)
}
