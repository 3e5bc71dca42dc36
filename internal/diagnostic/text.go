package diagnostic

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestQuote is the number of characters that is enough to recognize a value.
const longestQuote = 80

// Quote returns a value from the user in quotes, on one line, with escaped terminal control characters. It truncates
// long values.
func Quote(value string) string {
	n := 0
	for i := range value {
		if n++; n > longestQuote {
			return strconv.Quote(value[:i]) + "..."
		}
	}
	return strconv.Quote(value)
}

// longestLine limits the bytes of a message.
const longestLine = 4000

// OneLine returns a text on one line: it joins the lines with "; ", escapes terminal control characters, and truncates
// the text after longestLine bytes.
func OneLine(text string) string {
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "") + "..."
	}
	if !strings.ContainsFunc(text, escaped) && utf8.ValidString(text) {
		return text
	}
	var lines []string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	var out strings.Builder
	for _, r := range strings.Join(lines, "; ") {
		if escaped(r) || r == utf8.RuneError {
			quoted := strconv.QuoteToASCII(string(r))
			out.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// escaped reports whether a terminal would interpret a character, or show the text around it in another order.
func escaped(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
