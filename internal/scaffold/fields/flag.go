package fields

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// flag has the parts of one flag's value: path:type,constraint,constraint=value.
type flag struct {
	name string // of the flag, such as --field
	text string // value of the flag

	path, typ   string
	constraints []argument
}

// argument is one constraint as the user wrote it.
type argument struct {
	text        string // whole text
	name, value string // value is unquoted
	hasValue    bool
}

// refuse returns the error for an invalid part of the flag.
func (f *flag) refuse(part, message, hint string) error {
	text := f.name + " " + diagnostic.Quote(f.text)
	if part != "" && part != f.text {
		text += ": at " + diagnostic.Quote(part)
	}
	return &diagnostic.Error{Message: text + ": " + message, Hint: hint, Class: diagnostic.ErrUsage}
}

// parseFlag splits a value into its parts. It does not interpret them.
func parseFlag(name, text string) (*flag, error) {
	f := &flag{name: name, text: text}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, f.refuse("", "it contains a control character", "write it as one line of text")
	}
	parts, open := split(text)
	if open != "" {
		return nil, f.refuse(open, "a quote or bracket is not closed", "close it, and quote the flag for the shell: "+name+
			" 'size:int32,rule=\"self > 0\"'")
	}
	path, typ, ok := strings.Cut(parts[0], ":")
	f.path, f.typ = strings.TrimSpace(path), strings.TrimSpace(typ)
	if !ok || f.typ == "" {
		return nil, f.refuse(parts[0], "the type is missing", fmt.Sprintf("write %s %s:string", name, cmp.Or(f.path, "size")))
	}
	for _, part := range parts[1:] {
		a := argument{text: strings.TrimSpace(part)}
		a.name, a.value, a.hasValue = strings.Cut(a.text, "=")
		a.name, a.value = strings.TrimSpace(a.name), unquote(strings.TrimSpace(a.value))
		if a.name == "" {
			return nil, f.refuse(cmp.Or(a.text, ","), "empty constraint",
				"put one comma between two constraints, and none at the end")
		}
		f.constraints = append(f.constraints, a)
	}
	return f, nil
}

// split splits text at commas outside quotes and brackets. If a quote or bracket is not closed, open is the text from
// there.
func split(text string) (parts []string, open string) {
	const openers, closers = "\"'`([{", "\"'`)]}"
	begin := 0
	var opened []int // positions of the open quotes and brackets, innermost last
	for i := 0; i < len(text); i++ {
		c, innermost := text[i], -1
		if len(opened) > 0 {
			innermost = strings.IndexByte(openers, text[opened[len(opened)-1]])
		}
		inQuotes := innermost >= 0 && openers[innermost] == closers[innermost]
		switch {
		case inQuotes && c == '\\' && closers[innermost] != '`':
			i++
		case innermost >= 0 && c == closers[innermost]:
			opened = opened[:len(opened)-1]
		case inQuotes:
		case strings.IndexByte(openers, c) >= 0:
			opened = append(opened, i)
		case c == ',' && innermost < 0:
			parts, begin = append(parts, text[begin:i]), i+1
		}
	}
	if len(opened) > 0 {
		open = text[opened[0]:]
	}
	return append(parts, text[begin:]), open
}

// quotation matches values that quotes enclose.
var quotation = regexp.MustCompile("^(?:\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`)$")

// unquote removes quotes that enclose the whole value. Inside quotes, a backslash escapes the quote and a backslash
// before the quote; most patterns contain neither. Inside backquotes, nothing is escaped.
func unquote(value string) string {
	if !quotation.MatchString(value) {
		return value
	}
	quote, inner := value[:1], value[1:len(value)-1]
	if quote == "`" {
		return inner
	}
	return strings.NewReplacer(`\\`, `\`, `\`+quote, quote).Replace(inner)
}
