package edit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"go.yaml.in/yaml/v3"
)

var byteOrderMark = []byte("\ufeff")

// yamlFile is a YAML file of the user, as text and parsed.
type yamlFile struct {
	name string
	src  []byte
	// lines has the offset of each line.
	lines []int
	// doc is the document. It has one content node, which is null if the file is empty.
	doc *yaml.Node
	// remedy is the hint for errors.
	remedy string
}

func parseYAML(src []byte, filename, remedy string) (*yamlFile, error) {
	f := newLines(src, filename)
	f.remedy = remedy
	docs, err := Documents(src)
	if err != nil {
		return nil, diagnostic.YAML(filename, src, err, "repair it, then "+remedy)
	}
	switch len(docs) {
	case 0:
		f.doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1,
			Column: 1}}}
	case 1:
		f.doc = docs[0]
	default:
		return nil, f.fail(docs[1], "the file has several documents")
	}
	return f, nil
}

// Documents returns the documents of a file.
func Documents(src []byte) (docs []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the yaml package panics on some malformed comments
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	if !utf8.Valid(src) {
		return nil, errors.New("yaml: not UTF-8")
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, &doc)
	}
}

// Roots returns the root nodes of the documents of a file, or nil if the file is not valid YAML.
func Roots(src []byte) []*yaml.Node {
	docs, err := Documents(src)
	if err != nil {
		return nil
	}
	var roots []*yaml.Node
	for _, doc := range docs {
		roots = append(roots, doc.Content[0])
	}
	return roots
}

func (f *yamlFile) root() *yaml.Node { return f.doc.Content[0] }

func (f *yamlFile) fail(at *yaml.Node, message string) *diagnostic.Error {
	return diagnostic.At(Position(f.name, at), message, f.remedy)
}

// listPlace is the place of a list, or the deepest existing node on the path to it.
type listPlace struct {
	// mapping contains key and value, or lacks the first key of rest. It is nil if the file is empty.
	mapping *yaml.Node
	// key and value are the last existing pair of the path. The value is null, or a list if rest is empty.
	key, value *yaml.Node
	// rest has the missing keys of the path.
	rest []string
}

// find follows a path of mapping keys to a list.
func (f *yamlFile) find(path []string) (listPlace, error) {
	place := listPlace{value: f.root()}
	for i, key := range path {
		node := place.value
		place.rest = path[i:]
		if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
			return place, nil
		}
		if err := f.usable(node, yaml.MappingNode, "a mapping", path[:i]); err != nil {
			return place, err
		}
		at := yamlnode.Index(node, key, 0)
		switch {
		case at < 0 && yamlnode.Index(node, "<<", 0) >= 0:
			return place, f.fail(node, fmt.Sprintf("%s may come from the mapping merged here", key))
		case at < 0:
			return listPlace{mapping: node, rest: path[i:]}, nil
		}
		if again := yamlnode.Index(node, key, at+2); again >= 0 {
			return place, f.fail(node.Content[again], key+" is given twice")
		}
		place = listPlace{mapping: node, key: node.Content[at], value: node.Content[at+1]}
	}
	if place.value.Kind == yaml.ScalarNode && place.value.Tag == "!!null" {
		return place, nil
	}
	return place, f.usable(place.value, yaml.SequenceNode, "a list", path)
}

// usable rejects a node of an unexpected kind, and a node to which an alias refers.
func (f *yamlFile) usable(node *yaml.Node, kind yaml.Kind, want string, path []string) error {
	where := "the file"
	if len(path) > 0 {
		where = strings.Join(path, ".")
	}
	switch {
	case node.Kind != kind:
		return f.fail(node, fmt.Sprintf("%s: want %s, got %s", where, want, Describe(node)))
	case isShared(f.doc, node):
		return f.fail(node, fmt.Sprintf("%s is used in other places through the anchor &%s", where, node.Anchor))
	}
	return nil
}

// isShared reports whether an alias below root refers to a node.
func isShared(root, node *yaml.Node) bool {
	return root.Alias == node || slices.ContainsFunc(root.Content,
		func(child *yaml.Node) bool { return isShared(child, node) })
}

// offset returns the offset of a node in the text. Columns count characters, without the byte order mark.
func (f *yamlFile) offset(node *yaml.Node) int {
	at := f.lineStart(node.Line - 1)
	if node.Line == 1 && bytes.HasPrefix(f.src, byteOrderMark) {
		at += len(byteOrderMark)
	}
	for range node.Column - 1 {
		_, size := utf8.DecodeRune(f.src[at:])
		at += size
	}
	return at
}

// lineStart returns the offset of a line, counted from 0. Lines after the end begin at the end of the file.
func (f *yamlFile) lineStart(line int) int {
	if line >= len(f.lines) {
		return len(f.src)
	}
	return f.lines[max(line, 0)]
}

// lineOf returns the line of an offset, counted from 0.
func (f *yamlFile) lineOf(offset int) int {
	i, found := slices.BinarySearch(f.lines, offset)
	if !found {
		i--
	}
	return i
}

// line returns the indentation of a line and the text after the indentation.
func (f *yamlFile) line(n int) (indent int, text string) {
	start := f.lineStart(n)
	if n == 0 {
		start += len(f.src) - len(bytes.TrimPrefix(f.src, byteOrderMark))
	}
	line := string(f.src[start:endOfLine(f.src, start)])
	text = strings.TrimLeft(line, " ")
	return len(line) - len(text), text
}

// lastLine returns the last line of the block that begins at line from. The lines of the block are indented more than
// indent; for a line that is indented exactly by indent, continues decides. Trailing empty lines and comments belong to
// the block only if they are indented more than indent.
func (f *yamlFile) lastLine(from, indent int, continues func(text string) bool) int {
	last := from
	for n := from + 1; n < len(f.lines); n++ {
		at, text := f.line(n)
		isMarker := at == 0 && (strings.HasPrefix(text, "---") || strings.HasPrefix(text, "..."))
		switch {
		case strings.TrimSpace(text) == "":
		case strings.HasPrefix(text, "#") && at <= indent:
		case isMarker, at < indent, at == indent && !continues(text):
			return last
		default:
			last = n
		}
	}
	return last
}

// listStart returns the line of the first item of a block list, and the indentation of that line. The node itself may
// begin earlier, with an anchor on the line of its key.
func (f *yamlFile) listStart(list *yaml.Node) (line, indent int) {
	for line = list.Line - 1; line < len(f.lines); line++ {
		if indent, text := f.line(line); isListItem(text) {
			return line, indent
		}
	}
	return list.Line - 1, list.Column - 1
}

func isListItem(text string) bool {
	return text == "-" || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "-\t")
}

// insertLines returns the splice that inserts lines after a line.
func (f *yamlFile) insertLines(line int, lines ...string) Splice {
	at := endOfLine(f.src, f.lineStart(line))
	eol := lineEnd(f.src)
	return Splice{at, at, eol + strings.Join(lines, eol)}
}

// sameNode reports whether two nodes are equal, without regard to comments and styles.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, sameNode)
}

// Position returns the position of a node in a file.
func Position(filename string, node *yaml.Node) token.Position {
	return token.Position{Filename: filename, Line: node.Line, Column: node.Column}
}

// Describe returns the kind of a node for messages, such as "a list", or the value of a scalar.
func Describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.AliasNode:
		return "the alias *" + node.Value
	case node.Tag == "!!null":
		return "nothing"
	case node.Tag == "!!str":
		return fmt.Sprintf("%q", node.Value)
	}
	return node.Value
}

// Splice is a replacement of the part of a text between two offsets.
type Splice struct {
	From, To int
	Text     string
}

// Apply returns a text with all replacements. It omits replacements that overlap with an earlier part.
func Apply(text []byte, list []Splice) []byte {
	slices.SortStableFunc(list, func(a, b Splice) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	var out []byte
	at := 0
	for _, s := range list {
		if s.From < at || s.To < s.From || s.To > len(text) {
			continue
		}
		out = append(append(out, text[at:s.From]...), s.Text...)
		at = s.To
	}
	return append(out, text[at:]...)
}
