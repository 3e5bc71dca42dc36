package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"go.yaml.in/yaml/v3"
)

// EnsureListItem returns src, a YAML file, with value in the list at path, which is a sequence of mapping keys. If the
// list lacks the value, EnsureListItem adds it as the last item. If the list is missing, null or empty, EnsureListItem
// creates it, with its parents. The file keeps its style: comments, order, line ends, block or flow lists, and
// indentation. All other bytes stay.
//
// It returns a *diagnostic.Error if the file does not parse, has several documents, has another kind of node at path,
// or shares the list through an anchor. The error has the position, and its hint has the text to add.
func EnsureListItem(src []byte, filename string, path []string, value string) ([]byte, error) {
	f, place, err := findList(src, filename, path, value, "add the item \"- %s\" to the list %s by hand")
	if err != nil {
		return nil, err
	}
	if len(place.rest) == 0 && itemIndex(place.value, value) >= 0 {
		return src, nil
	}
	return f.verified(Apply(f.src, f.addItem(place, value)), place, func() {
		list := place.make()
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
	})
}

// RemoveListItem returns src, a YAML file, without value in the list at path. If the list lacks the value, src is
// unchanged. A list that loses its only item becomes []. RemoveListItem also removes a comment on the line of the item.
// All other bytes stay. RemoveListItem returns the errors of [EnsureListItem].
func RemoveListItem(src []byte, filename string, path []string, value string) ([]byte, error) {
	for {
		f, place, err := findList(src, filename, path, value, "remove the item \"- %s\" from the list %s by hand")
		if err != nil {
			return nil, err
		}
		at := -1
		if len(place.rest) == 0 {
			at = itemIndex(place.value, value)
		}
		if at < 0 {
			return src, nil
		}
		src, err = f.verified(Apply(f.src, f.removeItem(place, at)), place, func() {
			place.value.Content = slices.Delete(place.value.Content, at, at+1)
		})
		if err != nil {
			return nil, err
		}
	}
}

// ReplaceListItem returns src, a YAML file, with value instead of old in the list at keys. If the list has both, it
// removes old. It returns a list without old unchanged. All other bytes stay.
func ReplaceListItem(src []byte, filename string, keys []string, old, value string) ([]byte, error) {
	f, err := parseYAML(src, filename, fmt.Sprintf("write \"- %s\" instead of \"- %s\" by hand", scalarText(value),
		scalarText(old)))
	if err != nil {
		return nil, err
	}
	list := yamlnode.Value(f.root(), keys...)
	if list == nil || list.Kind != yaml.SequenceNode {
		return src, nil
	}
	at := itemIndex(list, old)
	switch {
	case at < 0:
		return src, nil
	case itemIndex(list, value) >= 0:
		return RemoveListItem(src, filename, keys, old)
	}
	return f.replaceScalar(list.Content[at], value)
}

// findList parses a YAML file and returns it with the place of the list at path. remedy is a format string for a hint
// about the manual change; its arguments are the value and the path.
func findList(src []byte, filename string, path []string, value, remedy string) (*yamlFile, listPlace, error) {
	if len(path) == 0 || !utf8.ValidString(value) || slices.ContainsFunc(path,
		func(key string) bool { return !utf8.ValidString(key) }) {
		return nil, listPlace{}, &diagnostic.Error{Message: fmt.Sprintf("cannot edit %s: %q in %q is not UTF-8", filename,
			value, path)}
	}
	f, err := parseYAML(src, filename, fmt.Sprintf(remedy, scalarText(value), strings.Join(path, ".")))
	if err != nil {
		return nil, listPlace{}, err
	}
	place, err := f.find(path)
	return f, place, err
}

// verified returns the edited text. It returns an error unless the text parses to the nodes that edit produces from f.
func (f *yamlFile) verified(out []byte, place listPlace, edit func()) ([]byte, error) {
	at := place.value
	if at == nil {
		at = place.mapping
	}
	refusal := f.fail(at, "no place in this layout for a change that kctrl is sure of")
	edit()
	edited, err := Documents(out)
	if err != nil || len(edited) != 1 || !sameNode(edited[0], f.doc) {
		return nil, refusal
	}
	return out, nil
}

// make returns the list at a place, and creates it if it is missing.
func (p listPlace) make() *yaml.Node {
	node := p.value
	if node == nil {
		node = &yaml.Node{}
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.rest[0]}
		p.mapping.Content = append(p.mapping.Content, key, node)
		p.rest = p.rest[1:]
	}
	for _, key := range p.rest {
		child := &yaml.Node{}
		node.Kind, node.Tag, node.Value = yaml.MappingNode, "!!map", ""
		node.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, child}
		node = child
	}
	node.Kind, node.Tag, node.Value = yaml.SequenceNode, "!!seq", ""
	return node
}

// itemIndex returns the index of a string in a list, or -1.
func itemIndex(list *yaml.Node, value string) int {
	return slices.IndexFunc(list.Content, func(item *yaml.Node) bool {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		return item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" && item.Value == value
	})
}

// addItem returns the changes that add an item to the list at a place.
func (f *yamlFile) addItem(p listPlace, value string) []Splice {
	switch {
	case p.value == nil && p.mapping.Style&yaml.FlowStyle != 0:
		return f.addToFlow(p.mapping, flowEntry(p.rest, value, p.mapping.Content))
	case p.value == nil:
		first := p.mapping.Content[0]
		indent := first.Column - 1
		last := f.lastLine(first.Line-1, indent, func(string) bool { return true })
		return []Splice{f.insertLines(last, f.blockLines(indent, p.rest, value)...)}
	case p.value.Kind == yaml.SequenceNode && p.value.Style&yaml.FlowStyle != 0:
		return f.addToFlow(p.value, quoteLike(value, append([]*yaml.Node{p.key}, p.value.Content...)))
	case p.value.Kind == yaml.SequenceNode:
		first, indent := f.listStart(p.value)
		last := f.lastLine(first, indent, isListItem)
		text := strings.Repeat(" ", indent) + "- " + quoteLike(value, p.value.Content)
		return []Splice{f.insertLines(last, text)}
	case p.key == nil:
		return f.addToEmpty(p.rest, value)
	}
	return f.replaceNull(p, value)
}

// addToEmpty returns the change that adds an item to a file without content.
func (f *yamlFile) addToEmpty(path []string, value string) []Splice {
	eol := lineEnd(f.src)
	text := strings.Join(f.blockLines(0, path, value), eol) + eol
	if n := len(f.src); n > 0 && f.src[n-1] != '\n' {
		text = eol + text
	}
	return []Splice{{len(f.src), len(f.src), text}}
}

// replaceNull returns the changes that write a list, or its parent mappings, in place of an empty or null value.
func (f *yamlFile) replaceNull(p listPlace, value string) []Splice {
	from, to := f.offset(p.value), f.offset(p.value)+len(p.value.Value)
	if p.mapping.Style&yaml.FlowStyle != 0 {
		text := flowEntry(p.rest, value, p.mapping.Content)
		if len(p.rest) > 0 {
			text = "{" + text + "}"
		}
		return []Splice{{from, to, text}}
	}
	indent := p.key.Column - 1
	lines := []string{strings.Repeat(" ", indent+f.listIndent()) + "- " + scalarText(value)}
	if len(p.rest) > 0 {
		lines = f.blockLines(indent+f.mappingIndent(), p.rest, value)
	}
	if p.value.Value == "" {
		return []Splice{f.insertLines(p.key.Line-1, lines...)}
	}
	for from > 0 && f.src[from-1] == ' ' {
		from--
	}
	return []Splice{{from, to, ""}, f.insertLines(p.value.Line-1, lines...)}
}

// blockLines returns the lines for nested keys whose last key has a list of one item.
func (f *yamlFile) blockLines(indent int, path []string, value string) []string {
	var lines []string
	for i, key := range path {
		if i > 0 {
			indent += f.mappingIndent()
		}
		lines = append(lines, strings.Repeat(" ", indent)+scalarText(key)+":")
	}
	return append(lines, strings.Repeat(" ", indent+f.listIndent())+"- "+scalarText(value))
}

// listIndent returns how far the file indents list items from their key, or 0 if it has no list.
func (f *yamlFile) listIndent() int {
	n, _ := indentOf(f.root(), yaml.SequenceNode)
	return n
}

// mappingIndent returns how far the file indents a mapping from its key, or 2 if it has none.
func (f *yamlFile) mappingIndent() int {
	if n, ok := indentOf(f.root(), yaml.MappingNode); ok && n > 0 {
		return n
	}
	return 2
}

// indentOf returns the indentation of the first block of the given kind below node, relative to its key.
func indentOf(node *yaml.Node, kind yaml.Kind) (int, bool) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			key := node.Content[i-1]
			if child.Kind == kind && child.Style&yaml.FlowStyle == 0 && child.Line > key.Line && child.Column >= key.Column {
				return child.Column - key.Column, true
			}
		}
		if n, ok := indentOf(child, kind); ok {
			return n, true
		}
	}
	return 0, false
}

// removeItem returns the changes that remove an item from the list at a place.
func (f *yamlFile) removeItem(p listPlace, at int) []Splice {
	if p.value.Style&yaml.FlowStyle != 0 {
		return f.removeFromFlow(p.value, at)
	}
	start, indent := f.listStart(p.value)
	first := p.value.Content[at].Line - 1
	for first > start {
		if in, text := f.line(first); in == indent && isListItem(text) {
			break
		}
		first--
	}
	last := f.lastLine(first, indent, func(string) bool { return false })
	for last > first {
		if _, text := f.line(last); !strings.HasPrefix(text, "#") {
			break
		}
		last--
	}
	list := []Splice{{f.lineStart(first), f.lineStart(last + 1), ""}}
	if len(p.value.Content) == 1 {
		if n := bytes.IndexByte(f.src[f.offset(p.key):], ':'); n >= 0 {
			at := f.offset(p.key) + n + 1
			list = append(list, Splice{at, at, " []"})
		}
	}
	return list
}
