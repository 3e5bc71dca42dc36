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

// EnsureListItem returns src, a YAML file, with value in the list at key, which is a key of the file's mapping. If the
// list lacks the value, EnsureListItem adds it as the last item. If the list is missing, null or empty, EnsureListItem
// creates it. The file keeps its style: comments, order, line ends, block or flow lists, and indentation. All other
// bytes stay.
//
// It returns a *diagnostic.Error if the file does not parse, has several documents, has another kind of node at key,
// shares the list through an anchor, or has a flow list of several lines. The error has the position, and its hint has
// the text to add.
func EnsureListItem(src []byte, filename, key, value string) ([]byte, error) {
	l, err := findList(src, filename, key, value, "add the item \"- %s\" to the list %s by hand")
	if err != nil {
		return nil, err
	}
	if l.value != nil && itemIndex(l.value, value) >= 0 {
		return src, nil
	}
	return l.verified(Apply(l.src, l.addItem(key, value)), l.at(), func() {
		if l.value == nil {
			l.value = &yaml.Node{}
			root := l.root()
			root.Kind, root.Tag, root.Value = yaml.MappingNode, "!!map", ""
			root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, l.value)
		}
		l.value.Kind, l.value.Tag, l.value.Value = yaml.SequenceNode, "!!seq", ""
		l.value.Content = append(l.value.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
	})
}

// RemoveListItem returns src, a YAML file, without value in the list at key. If the list lacks the value, src is
// unchanged. A list that loses its only item becomes []. RemoveListItem also removes a comment on the line of the item.
// All other bytes stay. RemoveListItem returns the errors of [EnsureListItem].
func RemoveListItem(src []byte, filename, key, value string) ([]byte, error) {
	for {
		l, err := findList(src, filename, key, value, "remove the item \"- %s\" from the list %s by hand")
		if err != nil {
			return nil, err
		}
		at := -1
		if l.value != nil {
			at = itemIndex(l.value, value)
		}
		if at < 0 {
			return src, nil
		}
		src, err = l.verified(Apply(l.src, l.removeItem(at)), l.at(), func() {
			l.value.Content = slices.Delete(l.value.Content, at, at+1)
		})
		if err != nil {
			return nil, err
		}
	}
}

// ReplaceListItem returns src, a YAML file, with value instead of old in the list at key. If the list has both, it
// removes old. It returns a list without old unchanged. All other bytes stay.
func ReplaceListItem(src []byte, filename, key, old, value string) ([]byte, error) {
	f, err := parseYAML(src, filename, fmt.Sprintf("write \"- %s\" instead of \"- %s\" by hand", scalarText(value),
		scalarText(old)))
	if err != nil {
		return nil, err
	}
	list := yamlnode.Value(f.root(), key)
	if list == nil || list.Kind != yaml.SequenceNode {
		return src, nil
	}
	at := itemIndex(list, old)
	switch {
	case at < 0:
		return src, nil
	case itemIndex(list, value) >= 0:
		return RemoveListItem(src, filename, key, old)
	}
	return f.replaceScalar(list.Content[at], value)
}

// yamlList is a list in the mapping of a YAML file. The value is null if the list is empty. Key and value are nil if
// the mapping has no such key.
type yamlList struct {
	*yamlFile
	key, value *yaml.Node
}

// findList parses a YAML file and returns the list at key. remedy is a format string for a hint about the manual
// change; its arguments are the value and the key.
func findList(src []byte, filename, key, value, remedy string) (yamlList, error) {
	if !utf8.ValidString(value) {
		return yamlList{}, &diagnostic.Error{Message: fmt.Sprintf("cannot edit %s: %q is not UTF-8", filename, value)}
	}
	f, err := parseYAML(src, filename, fmt.Sprintf(remedy, scalarText(value), key))
	if err != nil || isNull(f.root()) {
		return yamlList{yamlFile: f}, err
	}
	root := f.root()
	if err := f.usable(root, yaml.MappingNode, "the file", "a mapping"); err != nil {
		return yamlList{}, err
	}
	at := yamlnode.Index(root, key, 0)
	switch {
	case at < 0 && yamlnode.Index(root, "<<", 0) >= 0:
		return yamlList{}, f.fail(root, fmt.Sprintf("%s may come from the mapping merged here", key))
	case at < 0:
		return yamlList{yamlFile: f}, nil
	}
	if again := yamlnode.Index(root, key, at+2); again >= 0 {
		return yamlList{}, f.fail(root.Content[again], key+" is given twice")
	}
	l := yamlList{f, root.Content[at], root.Content[at+1]}
	if isNull(l.value) {
		return l, nil
	}
	return l, f.usable(l.value, yaml.SequenceNode, key, "a list")
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// at returns the node for the position of errors.
func (l yamlList) at() *yaml.Node {
	if l.value == nil {
		return l.root()
	}
	return l.value
}

// verified returns the edited text. It returns an error at a node unless the text parses to the nodes that edit
// produces from f.
func (f *yamlFile) verified(out []byte, at *yaml.Node, edit func()) ([]byte, error) {
	refusal := f.fail(at, "no place in this layout for a change that kctrl is sure of")
	edit()
	edited, err := Documents(out)
	if err != nil || len(edited) != 1 || !sameNode(edited[0], f.doc) {
		return nil, refusal
	}
	return out, nil
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

// addItem returns the changes that add an item to the list.
func (l yamlList) addItem(key, value string) []Splice {
	lines := []string{scalarText(key) + ":", strings.Repeat(" ", l.listIndent()) + "- " + scalarText(value)}
	switch {
	case isNull(l.root()):
		return l.addToEmpty(lines)
	case l.value == nil && l.root().Style&yaml.FlowStyle != 0:
		return nil
	case l.value == nil:
		last := l.lastLine(l.root().Content[0].Line-1, 0, func(string) bool { return true })
		return []Splice{l.insertLines(last, lines...)}
	case isNull(l.value):
		return l.replaceNull(lines[1])
	case l.value.Style&yaml.FlowStyle != 0:
		return l.addToFlow(quoteLike(value, append([]*yaml.Node{l.key}, l.value.Content...)))
	}
	first, indent := l.listStart(l.value)
	last := l.lastLine(first, indent, isListItem)
	text := strings.Repeat(" ", indent) + "- " + quoteLike(value, l.value.Content)
	return []Splice{l.insertLines(last, text)}
}

// addToEmpty returns the change that adds lines to a file without content.
func (f *yamlFile) addToEmpty(lines []string) []Splice {
	eol := lineEnd(f.src)
	text := strings.Join(lines, eol) + eol
	if n := len(f.src); n > 0 && f.src[n-1] != '\n' {
		text = eol + text
	}
	return []Splice{{len(f.src), len(f.src), text}}
}

// replaceNull returns the changes that write a list with one item in place of an empty or null value.
func (l yamlList) replaceNull(line string) []Splice {
	if l.value.Value == "" {
		return []Splice{l.insertLines(l.key.Line-1, line)}
	}
	from, to := l.offset(l.value), l.offset(l.value)+len(l.value.Value)
	for from > 0 && l.src[from-1] == ' ' {
		from--
	}
	return []Splice{{from, to, ""}, l.insertLines(l.value.Line-1, line)}
}

// addToFlow returns the change that adds an item to a flow list.
func (l yamlList) addToFlow(text string) []Splice {
	end := l.flowEnd()
	if end < 0 {
		return nil
	}
	at := len(bytes.TrimRight(l.src[:end], " "))
	switch l.src[at-1] {
	case '[':
	case ',':
		text = " " + text
	default:
		text = ", " + text
	}
	return []Splice{{at, at, text}}
}

// flowEnd returns the offset of the bracket that closes a flow list, or -1 if the list has several lines.
func (l yamlList) flowEnd() int {
	from := l.offset(l.value)
	for at := from; at < len(l.src) && l.src[at] != '\n'; at++ {
		if l.src[at] != ']' {
			continue
		}
		docs, err := Documents(l.src[from : at+1])
		if err == nil && len(docs) == 1 && sameNode(docs[0].Content[0], l.value) {
			return at
		}
	}
	return -1
}

// listIndent returns how far the file indents list items from their key, or 0 if it has no list.
func (f *yamlFile) listIndent() int {
	n, _ := listIndentBelow(f.root())
	return n
}

// listIndentBelow returns the indentation of the first block list below a node, relative to the list's key.
func listIndentBelow(node *yaml.Node) (int, bool) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			key := node.Content[i-1]
			if child.Kind == yaml.SequenceNode && child.Style&yaml.FlowStyle == 0 && child.Line > key.Line &&
				child.Column >= key.Column {
				return child.Column - key.Column, true
			}
		}
		if n, ok := listIndentBelow(child); ok {
			return n, true
		}
	}
	return 0, false
}

// removeItem returns the changes that remove an item from the list.
func (l yamlList) removeItem(at int) []Splice {
	if l.value.Style&yaml.FlowStyle != 0 {
		return l.removeFromFlow(at)
	}
	start, indent := l.listStart(l.value)
	first := l.value.Content[at].Line - 1
	for first > start {
		if in, text := l.line(first); in == indent && isListItem(text) {
			break
		}
		first--
	}
	last := l.lastLine(first, indent, func(string) bool { return false })
	for last > first {
		if _, text := l.line(last); !strings.HasPrefix(text, "#") {
			break
		}
		last--
	}
	list := []Splice{{l.lineStart(first), l.lineStart(last + 1), ""}}
	if len(l.value.Content) == 1 {
		if n := bytes.IndexByte(l.src[l.offset(l.key):], ':'); n >= 0 {
			at := l.offset(l.key) + n + 1
			list = append(list, Splice{at, at, " []"})
		}
	}
	return list
}

// removeFromFlow returns the change that removes an item from a flow list, with the comma after or before it.
func (l yamlList) removeFromFlow(at int) []Splice {
	from, to, items := l.offset(l.value.Content[at]), l.flowEnd(), l.value.Content
	switch {
	case to < 0:
		return nil
	case at+1 < len(items):
		to = l.offset(items[at+1])
	case at > 0:
		from = bytes.LastIndexByte(l.src[:from], ',')
	}
	return []Splice{{from, to, ""}}
}
