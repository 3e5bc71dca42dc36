package release

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// sheet builds a template. The objects stay valid YAML while marks represent the template's expressions, which render
// inserts at the end. Braces in objects keep their meaning.
type sheet struct {
	mark  string            // prefix of all marks; no object contains it
	texts map[string]string // strings of the template, by mark
	lines map[string]bool   // marks that represent whole lines
}

// newSheet returns an empty sheet for objects with the given content, which determines the prefix of marks.
func newSheet(content string) *sheet {
	mark := "KCTRLMARK"
	for strings.Contains(content, mark) {
		mark += "X"
	}
	return &sheet{mark: mark, texts: map[string]string{}, lines: map[string]bool{}}
}

// at returns a mark for a string of the template. The mark may be anywhere in a scalar.
func (s *sheet) at(text string) string {
	mark := fmt.Sprintf("%s%dK", s.mark, len(s.texts))
	s.texts[mark] = text
	return mark
}

// linesAt returns a mark for lines of the template. The mark must be alone on its line.
func (s *sheet) linesAt(text string) string {
	mark := s.at(text)
	s.lines[mark] = true
	return mark
}

// value returns a scalar that renders text.
func (s *sheet) value(text string) *yaml.Node { return scalar(s.at(text)) }

// entry appends lines to a mapping.
func (s *sheet) entry(mapping *yaml.Node, lines string) {
	mapping.Style &^= yaml.FlowStyle
	mapping.Content = append(mapping.Content, scalar(s.linesAt(lines)), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null",
		Value: "null"})
}

// replace replaces the value of a key by lines, or adds the lines if the key is missing.
func (s *sheet) replace(mapping *yaml.Node, key, lines string) {
	yamlnode.Remove(mapping, key)
	s.entry(mapping, lines)
}

// item appends lines to a list node.
func (s *sheet) item(list *yaml.Node, lines string) {
	list.Style &^= yaml.FlowStyle
	list.Content = append(list.Content, scalar(s.linesAt(lines)))
}

// render returns the template of a node. In lines of an entry or an item, @ is replaced by the indentation, and N@ by
// the indentation plus N spaces, for nindent.
func (s *sheet) render(node *yaml.Node) (string, error) {
	content, err := encode(node)
	if err != nil {
		return "", err
	}
	literal := strings.ReplaceAll(string(content), "{{", "{{ `{{` }}")
	lines := regexp.MustCompile(`(?m)^( *)(?:- )?(` + s.mark + `\d+K)(?:: null)?\n`)
	literal = lines.ReplaceAllStringFunc(literal, func(line string) string {
		parts := lines.FindStringSubmatch(line)
		if !s.lines[parts[2]] {
			return line // a value in a list, such as the namespace in a selector
		}
		return indented(s.texts[parts[2]], len(parts[1])) + "\n"
	})
	return regexp.MustCompile(s.mark+`\d+K`).ReplaceAllStringFunc(literal,
		func(mark string) string { return s.texts[mark] }), nil
}

var depth = regexp.MustCompile(`(\d*)@`)

// indented indents lines and replaces the depths in them.
func indented(lines string, by int) string {
	lines = depth.ReplaceAllStringFunc(lines, func(at string) string {
		more := 0
		fmt.Sscanf(at, "%d@", &more)
		return fmt.Sprint(by + more)
	})
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(lines, "\n", "\n"+pad)
}
