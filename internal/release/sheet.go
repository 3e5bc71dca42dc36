package release

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// sheet is a template in the making: YAML in which marks stand for what Helm is to fill in. YAML keeps to its rules that
// way, and what an object says in braces stays what it is.
type sheet struct {
	mark  string            // what every mark begins with: no object says it
	texts map[string]string // of the template, by mark
	lines map[string]bool   // the marks that stand for whole lines
}

// newSheet returns an empty sheet for objects that say content.
func newSheet(content string) *sheet {
	mark := "KCTRLMARK"
	for strings.Contains(content, mark) {
		mark += "X"
	}
	return &sheet{mark: mark, texts: map[string]string{}, lines: map[string]bool{}}
}

// at returns a mark for a text, to stand anywhere in a scalar.
func (s *sheet) at(text string) string {
	mark := fmt.Sprintf("%s%dK", s.mark, len(s.texts))
	s.texts[mark] = text
	return mark
}

// linesAt returns a mark for lines, to stand alone on one.
func (s *sheet) linesAt(text string) string {
	mark := s.at(text)
	s.lines[mark] = true
	return mark
}

// value returns a scalar that is a text.
func (s *sheet) value(text string) *yaml.Node { return scalar(s.at(text)) }

// entry adds lines to a mapping, at its end.
func (s *sheet) entry(mapping *yaml.Node, lines string) {
	mapping.Style &^= yaml.FlowStyle
	mapping.Content = append(mapping.Content, scalar(s.linesAt(lines)), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"})
}

// replace makes lines of the value of a key, whether it is there or not.
func (s *sheet) replace(mapping *yaml.Node, key, lines string) {
	yamlnode.Remove(mapping, key)
	s.entry(mapping, lines)
}

// item adds lines to a list, at its end.
func (s *sheet) item(list *yaml.Node, lines string) {
	list.Style &^= yaml.FlowStyle
	list.Content = append(list.Content, scalar(s.linesAt(lines)))
}

// render returns the template of a node. In lines of an entry or an item, @ stands for its indentation and N@ for a number of
// spaces more, as nindent wants it.
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
			return line // a value of a list, such as the namespace in a selector
		}
		return indented(s.texts[parts[2]], len(parts[1])) + "\n"
	})
	return regexp.MustCompile(s.mark+`\d+K`).ReplaceAllStringFunc(literal, func(mark string) string { return s.texts[mark] }), nil
}

var depth = regexp.MustCompile(`(\d*)@`)

// indented returns lines where they stand, and fills in the depths that they name.
func indented(lines string, by int) string {
	lines = depth.ReplaceAllStringFunc(lines, func(at string) string {
		more := 0
		fmt.Sscanf(at, "%d@", &more)
		return fmt.Sprint(by + more)
	})
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(lines, "\n", "\n"+pad)
}
