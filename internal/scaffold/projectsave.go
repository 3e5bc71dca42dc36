package scaffold

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"go.yaml.in/yaml/v3"
)

const projectHeader = "# The project as kctrl knows it. Unknown fields and comments are kept."

// Marshal returns the text of the PROJECT file. A project that was loaded and not changed gives the very text it was
// loaded from; a changed one keeps order, comments and unknown fields of that text.
func (p *Project) Marshal() ([]byte, error) {
	if p.source == nil {
		root := &yaml.Node{Kind: yaml.MappingNode, HeadComment: projectHeader}
		p.update(root)
		return encodeNode(root)
	}
	doc, err := projectDocument(bytes.ReplaceAll(p.source, []byte("\r\n"), []byte("\n")))
	if err != nil {
		return nil, err
	}
	if !p.update(doc.Content[0]) {
		return p.source, nil
	}
	out, err := encodeNode(doc)
	if bytes.Contains(p.source, []byte("\r\n")) {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	return out, err
}

// update puts the values of the project into the root of its file and reports whether anything changed.
func (p *Project) update(root *yaml.Node) bool {
	changed := setFields(root, projectFields(p))
	return p.updateResources(root) || changed
}

// updateResources makes the list of resources that of the project. An item that stays keeps its unknown fields.
func (p *Project) updateResources(root *yaml.Node) bool {
	list := edit.Find(root, "resources")
	if list == nil || list.Kind != yaml.SequenceNode {
		if len(p.Resources) == 0 {
			return false
		}
		if list == nil {
			list = &yaml.Node{}
			root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "resources"}, list)
		}
		*list = yaml.Node{Kind: yaml.SequenceNode, HeadComment: list.HeadComment, LineComment: list.LineComment, FootComment: list.FootComment}
	}
	old := list.Content
	items := make([]*yaml.Node, len(p.Resources))
	changed := len(old) != len(items)
	for i := range p.Resources {
		r := &p.Resources[i]
		at := slices.IndexFunc(old, func(item *yaml.Node) bool { return isResource(item, *r) })
		if at < 0 {
			// On one line, so that git merges the kinds of two branches.
			items[i] = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		} else {
			items[i] = old[at]
		}
		changed = setFields(items[i], resourceFields(r)) || changed || at != i
	}
	list.Content = items
	if len(items) > 0 {
		list.Style &^= yaml.FlowStyle
	}
	return changed
}

// isResource reports whether an item of the file is about a resource.
func isResource(item *yaml.Node, r Resource) bool {
	for key, want := range map[string]string{"group": r.Group, "domain": r.Domain, "version": r.Version, "kind": r.Kind} {
		value := edit.Find(item, key)
		if value == nil && want != "" || value != nil && value.Value != want {
			return false
		}
	}
	return true
}

// setFields puts values into a mapping, a new key after the one before it, and reports whether anything changed. A value
// that is empty or false gets no key, but stays if it has one.
func setFields(mapping *yaml.Node, fields []field) bool {
	changed, at := false, 0
	for _, f := range fields {
		changed = setField(mapping, f, at) || changed
		if i := edit.KeyIndex(mapping, f.key); i >= 0 {
			at = i + 2
		}
	}
	return changed
}

func setField(mapping *yaml.Node, f field, at int) bool {
	node := f.node()
	i := edit.KeyIndex(mapping, f.key)
	switch {
	case i < 0 && (node.Value == "" || node.Value == "false"):
		return false
	case i < 0:
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.key}
		mapping.Content = slices.Insert(mapping.Content, at, key, node)
		return true
	}
	old := mapping.Content[i+1]
	if old.Value == node.Value || node.Tag == "!!bool" && strings.EqualFold(old.Value, node.Value) {
		return false
	}
	old.Kind, old.Tag, old.Value, old.Style = node.Kind, node.Tag, node.Value, node.Style
	return true
}

func (f field) node() *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
	switch value := f.value.(type) {
	case *string:
		node.Value = *value
	case *bool:
		node.Tag, node.Value = "!!bool", strconv.FormatBool(*value)
	}
	return node
}

func encodeNode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(node); err != nil {
		return nil, diagnostic.AtFile(ProjectFile, "cannot write", err)
	}
	return out.Bytes(), nil
}
