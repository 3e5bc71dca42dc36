package edit

import (
	"fmt"
	"go/token"

	"go.yaml.in/yaml/v3"
)

// KeyIndex returns where in the content of a mapping a key stands first, or -1.
func KeyIndex(mapping *yaml.Node, key string) int { return keyIndexFrom(mapping, key, 0) }

// keyIndexFrom returns where in the content of a mapping a key stands, at an index or behind it, or -1.
func keyIndexFrom(mapping *yaml.Node, key string, from int) int {
	for i := from; i+1 < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// Find follows keys through mappings and returns the value of the last; nil if one is not there.
func Find(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		i := KeyIndex(node, key)
		if i < 0 {
			return nil
		}
		node = node.Content[i+1]
	}
	return node
}

// Position returns where a node begins in a file.
func Position(filename string, node *yaml.Node) token.Position {
	return token.Position{Filename: filename, Line: node.Line, Column: node.Column}
}

// Describe returns what a node is, for messages: "a list", the value of a scalar.
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
