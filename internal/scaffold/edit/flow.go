package edit

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// flow is a flow collection in the text: [a, b] or {a: b}.
type flow struct {
	open, close int
	entries     []span
	// commas are the offsets of the commas after the entries. The last entry may have a trailing comma.
	commas []int
}

// span is a part of the text from offset from to offset to, exclusive.
type span struct{ from, to int }

// flowEntry returns nested keys and a list with one item as text for an entry of a flow mapping with the given content.
// Without keys, it returns the list itself.
func flowEntry(path []string, value string, content []*yaml.Node) string {
	var like []*yaml.Node
	if len(content) > 0 {
		like = content[:1]
	}
	text := "[" + quoteLike(value, like) + "]"
	for i := len(path) - 1; i >= 0; i-- {
		text = quoteLike(path[i], like) + ": " + text
		if i > 0 {
			text = "{" + text + "}"
		}
	}
	return text
}

// addToFlow returns the changes that add an entry to a flow collection. The entry gets its own line if the closing
// bracket has its own line. Otherwise it is added to the line of the last entry.
func (f *yamlFile) addToFlow(node *yaml.Node, text string) []Splice {
	c, ok := f.scanFlow(node)
	n := len(c.entries)
	switch {
	case !ok:
		return nil
	case n == 0 && len(bytes.TrimSpace(f.src[c.open+1:c.close])) == 0:
		return []Splice{{c.open + 1, c.close, text}}
	case n == 0:
		return nil
	}
	end, hasComma := c.entries[n-1].to, len(c.commas) == n
	if hasComma {
		end = c.commas[n-1] + 1
	}
	if f.lineOf(end) == f.lineOf(c.close) {
		if hasComma {
			return []Splice{{end, end, " " + text}}
		}
		return []Splice{{end, end, ", " + text}}
	}
	line := f.lineOf(c.entries[n-1].from)
	indent, _ := f.line(line)
	if line == f.lineOf(c.open) {
		closing, _ := f.line(f.lineOf(c.close))
		indent = closing + 2
	}
	text = strings.Repeat(" ", indent) + text
	if hasComma {
		return []Splice{f.insertLines(f.lineOf(end), text+",")}
	}
	return []Splice{{end, end, ","}, f.insertLines(f.lineOf(end), text)}
}

// removeFromFlow returns the changes that remove an item from a flow list. They remove the whole line if it has no
// other item.
func (f *yamlFile) removeFromFlow(node *yaml.Node, at int) []Splice {
	c, ok := f.scanFlow(node)
	if !ok || len(c.entries) != len(node.Content) {
		return nil
	}
	item, n := c.entries[at], len(c.entries)
	hasComma := at < len(c.commas)
	if f.isAlone(c, at) {
		first, last := f.lineOf(item.from), f.lineOf(item.to)
		list := []Splice{{f.lineStart(first), f.lineStart(last + 1), ""}}
		if !hasComma && n > 1 {
			list = append(list, Splice{c.commas[at-1], c.commas[at-1] + 1, ""})
		}
		return list
	}
	switch {
	case hasComma && f.lineOf(item.to) == f.lineOf(c.commas[at]):
		to := c.commas[at] + 1
		for to < len(f.src) && f.src[to] == ' ' {
			to++
		}
		return []Splice{{item.from, to, ""}}
	case hasComma:
		return []Splice{{item.from, item.to, ""}, {c.commas[at], c.commas[at] + 1, ""}}
	case n == 1:
		return []Splice{{item.from, item.to, ""}}
	case f.lineOf(c.commas[at-1]) == f.lineOf(item.from):
		return []Splice{{c.commas[at-1], item.to, ""}}
	}
	return []Splice{{c.commas[at-1], c.commas[at-1] + 1, ""}, {item.from, item.to, ""}}
}

// isAlone reports whether a line has only the entry, its comma and possibly a comment.
func (f *yamlFile) isAlone(c flow, at int) bool {
	item := c.entries[at]
	_, text := f.line(f.lineOf(item.from))
	if !strings.HasPrefix(text, string(f.src[item.from:min(item.to, endOfLine(f.src, item.from))])) {
		return false
	}
	rest := string(f.src[item.to:endOfLine(f.src, item.to)])
	if at < len(c.commas) && f.lineOf(c.commas[at]) == f.lineOf(item.to) {
		rest = string(f.src[c.commas[at]+1 : endOfLine(f.src, item.to)])
	} else if at < len(c.commas) {
		return false
	}
	rest = strings.TrimSpace(rest)
	return rest == "" || strings.HasPrefix(rest, "#")
}

// scanFlow finds the entries of a flow collection in the text.
func (f *yamlFile) scanFlow(node *yaml.Node) (flow, bool) {
	c := flow{open: f.offset(node)}
	if c.open >= len(f.src) || f.src[c.open] != '[' && f.src[c.open] != '{' {
		return c, false
	}
	s := flowScanner{src: f.src, at: c.open + 1, valueNext: true}
	entry := span{from: -1}
	for depth := 1; ; {
		from := s.at
		switch tok := s.next(); {
		case tok == 0:
			return c, false
		case tok == ' ':
			continue
		case tok == '[' || tok == '{':
			depth++
		case tok == ']' || tok == '}':
			depth--
			if depth == 0 {
				if entry.from >= 0 {
					c.entries = append(c.entries, entry)
				}
				c.close = from
				return c, true
			}
		case tok == ',' && depth == 1:
			if entry.from < 0 {
				return c, false
			}
			c.entries, c.commas = append(c.entries, entry), append(c.commas, from)
			entry = span{from: -1}
			continue
		}
		if entry.from < 0 {
			entry.from = from
		}
		entry.to = s.at
	}
}

// flowScanner scans the text of a flow collection.
type flowScanner struct {
	src []byte
	at  int
	// valueNext is set if a value may begin here, so that a quote opens a string.
	valueNext bool
}

// next skips one token and returns its class: ' ' for white space and comments, the character itself for a bracket or
// comma, and 'x' for anything else. At the end of the text it returns 0.
func (s *flowScanner) next() byte {
	if s.at >= len(s.src) {
		return 0
	}
	switch c := s.src[s.at]; {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		s.at++
		return ' '
	case c == '#' && strings.IndexByte(" \t\n[{,", s.src[s.at-1]) >= 0:
		s.at = endOfLine(s.src, s.at)
		return ' '
	case strings.IndexByte("[]{},", c) >= 0:
		s.at++
		s.valueNext = c != ']' && c != '}'
		return c
	case (c == '"' || c == '\'') && s.valueNext:
		s.quoted(c)
		if s.at < len(s.src) && s.src[s.at] == ':' {
			s.at++
			s.valueNext = true
		}
		return 'x'
	}
	from := s.at
	for s.at < len(s.src) && strings.IndexByte(" \t\r\n[]{},", s.src[s.at]) < 0 {
		s.at++
	}
	word := s.src[from:s.at]
	isProperty := s.valueNext && (word[0] == '!' || word[0] == '&')
	s.valueNext = isProperty || word[len(word)-1] == ':' || string(word) == "?"
	return 'x'
}

// quoted skips a string and its quotes.
func (s *flowScanner) quoted(quote byte) {
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '\\' && quote == '"':
			s.at++
		case c == quote && quote == '\'' && s.at+1 < len(s.src) && s.src[s.at+1] == quote:
			s.at++
		case c == quote:
			s.at++
			s.valueNext = false
			return
		}
	}
}
