package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// ReplaceScalar returns src, a YAML file, with value instead of the scalar at keys, if the scalar is one of old. All
// other bytes stay.
func ReplaceScalar(src []byte, filename string, keys, old []string, value string) ([]byte, error) {
	last := len(keys) - 1
	f, err := parseYAML(src, filename, fmt.Sprintf("write %s: %s under %s by hand", keys[last], scalarText(value),
		strings.Join(keys[:last], ".")))
	if err != nil {
		return nil, err
	}
	node := yamlnode.Value(f.root(), keys...)
	if node == nil || node.Kind != yaml.ScalarNode || !slices.Contains(old, node.Value) {
		return src, nil
	}
	return f.replaceScalar(node, value)
}

// ReplaceBool returns src, a YAML file, with value instead of the boolean at keys. All other bytes stay.
func ReplaceBool(src []byte, filename string, keys []string, value bool) ([]byte, error) {
	last, text := len(keys)-1, strconv.FormatBool(value)
	f, err := parseYAML(src, filename, fmt.Sprintf("write %s: %s under %s by hand", keys[last], text,
		strings.Join(keys[:last], ".")))
	if err != nil {
		return nil, err
	}
	node := yamlnode.Value(f.root(), keys...)
	if node == nil || node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
		return src, nil
	}
	return f.replaceLiteral(node, text, text)
}

// replaceScalar returns the text with a new string for a one-line scalar.
func (f *yamlFile) replaceScalar(node *yaml.Node, value string) ([]byte, error) {
	return f.replaceLiteral(node, value, quoteLike(value, []*yaml.Node{node}))
}

// replaceLiteral returns the text with a new value for a one-line scalar. literal is the value as YAML.
func (f *yamlFile) replaceLiteral(node *yaml.Node, value, literal string) ([]byte, error) {
	at := f.offset(node)
	text := node.Value
	if quote := f.src[at]; quote == '"' || quote == '\'' {
		text = string(quote) + text + string(quote)
	}
	if !bytes.HasPrefix(f.src[at:], []byte(text)) || isShared(f.doc, node) {
		return nil, f.fail(node, "no place in this layout for a change that kctrl is sure of")
	}
	place := listPlace{value: node}
	return f.verified(Apply(f.src, []Splice{{at, at + len(text), literal}}), place, func() { node.Value = value })
}

var plainScalar = regexp.MustCompile(`^[\pL\pN_./][\pL\pN_./@+-]*$`)

// scalarText returns a string as a one-line YAML scalar: plain if every YAML parser reads it as a string, otherwise in
// double quotes.
func scalarText(value string) string {
	node := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: value}
	isBool := slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(value))
	if plainScalar.MatchString(value) && plain.ShortTag() == "!!str" && !isBool {
		return value
	}
	node.Style = yaml.DoubleQuotedStyle
	text, err := yaml.Marshal(&node)
	if err != nil {
		return fmt.Sprintf("%q", value)
	}
	return string(bytes.TrimRight(text, "\n"))
}

// quoteLike returns a string as a YAML scalar with the quotation style of the last neighbour.
func quoteLike(value string, neighbours []*yaml.Node) string {
	text := scalarText(value)
	if len(neighbours) == 0 || text != value {
		return text
	}
	switch style := neighbours[len(neighbours)-1].Style; {
	case style&yaml.DoubleQuotedStyle != 0:
		return `"` + value + `"`
	case style&yaml.SingleQuotedStyle != 0:
		return "'" + value + "'"
	}
	return text
}

// ReplaceNames returns src, a YAML file with any number of documents, with other names. kinds has the new values of
// apiVersion and kind for objects with certain values. words maps a key of a YAML mapping to the replacements for
// one-line scalars that are its value or items of its list; words["args"] also holds for the values of flags, such as
// --lease-namespace=a. plurals maps the group and the plural of a kind to its new plural, for rules of roles and
// webhooks. ReplaceNames also changes inline patches. All other bytes stay, and a file that is not valid YAML.
func ReplaceNames(src []byte, kinds map[[2]string][2]string, words map[string]map[string]string,
	plurals map[[2]string]string) []byte {
	docs, err := Documents(src)
	if err != nil {
		return src
	}
	f := newLines(src, "")
	var list []Splice
	replace := func(node *yaml.Node, value string) {
		at := f.offset(node)
		if i := bytes.Index(src[at:], []byte(node.Value)); i >= 0 && i <= 1 && node.Value != value {
			list = append(list, Splice{at + i, at + i + len(node.Value), value})
		}
	}
	var visit func(key string, node *yaml.Node)
	visit = func(key string, node *yaml.Node) {
		if node.Kind == yaml.MappingNode {
			for _, resource := range yamlnode.Items(node, "resources") {
				plural, rest, _ := strings.Cut(resource.Value, "/") // such as guestbooks/status
				for _, group := range yamlnode.Items(node, "apiGroups") {
					if now, found := plurals[[2]string{group.Value, plural}]; found {
						replace(resource, strings.TrimSuffix(now+"/"+rest, "/"))
						break
					}
				}
			}
			for i := 0; i+1 < len(node.Content); i += 2 {
				visit(node.Content[i].Value, node.Content[i+1])
			}
			return
		}
		switch now, found := words[key][node.Value]; {
		case node.Kind != yaml.ScalarNode:
		case found:
			replace(node, now)
		case key == "patch" && node.Style&yaml.LiteralStyle != 0:
			list = append(list, f.replaceLines(node, ReplaceNames([]byte(node.Value), kinds, words, plurals))...)
		case strings.HasPrefix(node.Value, "-"):
			replace(node, flagWith(node.Value, words["args"]))
		}
		for _, child := range node.Content {
			visit(key, child)
		}
	}
	for _, doc := range docs {
		version, kind := yamlnode.Value(doc.Content[0], "apiVersion"), yamlnode.Value(doc.Content[0], "kind")
		if version != nil && kind != nil {
			if now, found := kinds[[2]string{version.Value, kind.Value}]; found {
				replace(version, now[0])
				replace(kind, now[1])
			}
		}
		visit("", doc)
	}
	return Apply(src, list)
}

// replaceLines returns the replacements for the lines of a literal block scalar that differ in value, which has as many
// lines.
func (f *yamlFile) replaceLines(node *yaml.Node, value []byte) []Splice {
	var list []Splice
	was, becomes := strings.Split(node.Value, "\n"), strings.Split(string(value), "\n")
	for i := range min(len(was), len(becomes)) {
		at := f.lineStart(node.Line + i) // the line after the one with the indicator is node.Line, counted from 0
		end := endOfLine(f.src, at)
		if from := end - len(was[i]); was[i] != becomes[i] && from >= at && string(f.src[from:end]) == was[i] {
			list = append(list, Splice{from, end, becomes[i]})
		}
	}
	return list
}

// flagWith returns a flag such as --namespaces=a,b with other words in its value. It returns other text unchanged.
func flagWith(text string, words map[string]string) string {
	flag, value, found := strings.Cut(text, "=")
	if !found {
		return text
	}
	items := strings.Split(value, ",")
	for i, item := range items {
		items[i] = cmp.Or(words[item], item)
	}
	return flag + "=" + strings.Join(items, ",")
}

// newLines returns a file with its line offsets, without parsing it.
func newLines(src []byte, filename string) *yamlFile {
	f := &yamlFile{name: filename, src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}
