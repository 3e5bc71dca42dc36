package postprocess

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// document is an object in a manifest.
type document struct {
	file    *manifest
	object  *yaml.Node
	text    string // as generated, without the separator
	changed bool   // whether the object differs from the text
	lists   listStyle
}

// manifest is a file with objects.
type manifest struct {
	artifact.File
	head      string // text before the first object
	documents []*document
}

// separator is the line before each object.
const separator = "---\n"

// parseManifest splits a file into objects.
func parseManifest(f artifact.File) (*manifest, error) {
	m := &manifest{File: f}
	head, rest, found := strings.Cut("\n"+string(f.Content), "\n"+separator)
	if !found {
		head, rest = "", head[1:]
	} else if head != "" {
		head = head[1:] + "\n"
	}
	m.head = head
	for _, text := range strings.Split(rest, "\n"+separator) {
		text = strings.TrimSuffix(text, "\n") + "\n"
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			return nil, err
		}
		if root.Kind != yaml.DocumentNode || root.Content[0].Kind != yaml.MappingNode {
			continue
		}
		m.documents = append(m.documents, &document{file: m, object: root.Content[0], text: text})
	}
	return m, nil
}

// clone returns a copy that is independent of the original.
func (d *document) clone() *document {
	copied := *d
	copied.object = yamlnode.Clone(d.object)
	return &copied
}

// field returns the text of a field of the object, or "".
func (d *document) field(keys ...string) string { return textOf(d.object, keys...) }

func textOf(node *yaml.Node, keys ...string) string {
	if value := yamlnode.Value(node, keys...); value != nil {
		return value.Value
	}
	return ""
}

const definition = "CustomResourceDefinition"

func (d *document) isDefinition() bool { return d.field("kind") == definition }

// kind returns the kind that a definition defines, or the kind of any other object.
func (d *document) kind() (kind, group string) {
	if d.isDefinition() {
		return d.field("spec", "names", "kind"), d.field("spec", "group")
	}
	group, _, _ = strings.Cut(d.field("apiVersion"), "/")
	return d.field("kind"), group
}

// String returns the name of the object in messages.
func (d *document) String() string {
	kind, _ := d.kind()
	return kind
}

// fileName returns the name of a file that contains only the object.
func (d *document) fileName() string {
	switch {
	case len(d.file.documents) == 1 && d.file.Path != "":
		return path.Base(d.file.Path)
	case d.isDefinition():
		return d.field("spec", "group") + "_" + d.field("spec", "names", "plural") + ".yaml"
	}
	return strings.ToLower(d.field("kind")) + ".yaml"
}

// version is one version of a definition.
type version struct {
	name   string
	schema *yaml.Node // may be nil
}

func (d *document) versions() []version {
	var all []version
	if list := yamlnode.Value(d.object, "spec", "versions"); list != nil && d.isDefinition() {
		for _, node := range list.Content {
			all = append(all, version{textOf(node, "name"), yamlnode.Value(node, "schema", "openAPIV3Schema")})
		}
	}
	return all
}

// listStyle is the indentation of lists.
type listStyle string

const (
	asGenerated listStyle = ""
	compact     listStyle = "compact"  // indented as their key, as by controller-gen
	indented    listStyle = "indented" // indented deeper, as by yq
)

// print returns the text of an object.
func (d *document) print() (string, error) {
	if !d.changed {
		return d.text, nil
	}
	if d.lists == indented || d.lists == asGenerated && isIndented(d.object) {
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		err := errors.Join(encoder.Encode(d.object), encoder.Close())
		return out.String(), err
	}
	value, err := ordered(d.object)
	if err != nil {
		return "", err
	}
	text, err := yamlv2.Marshal(value)
	return string(text), err
}

// isIndented reports whether the first list of a parsed document is indented deeper than its key.
func isIndented(node *yaml.Node) bool {
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && value.Column > 0 && key.Column > 0:
			return value.Column > key.Column
		case value.Kind == yaml.MappingNode && isIndented(value):
			return true
		}
	}
	return false
}

// ordered converts a value to the types that controller-gen's encoder uses, and keeps the order of the keys.
func ordered(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		all := make(yamlv2.MapSlice, 0, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			value, err := ordered(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			all = append(all, yamlv2.MapItem{Key: node.Content[i].Value, Value: value})
		}
		return all, nil
	case yaml.SequenceNode:
		all := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := ordered(item)
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	case yaml.ScalarNode:
		if node.ShortTag() == "!!str" {
			return node.Value, nil
		}
		var value any
		err := yamlv2.Unmarshal([]byte(node.Value), &value)
		return value, err
	}
	return nil, fmt.Errorf("line %d: an alias", node.Line)
}
