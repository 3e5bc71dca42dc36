package scaffold

import (
	"fmt"
	"go/token"

	"go.yaml.in/yaml/v3"
)

// mappingValue returns the value of a key, or nil.
func mappingValue(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func nodePosition(filename string, node *yaml.Node) token.Position {
	return token.Position{Filename: filename, Line: node.Line, Column: node.Column}
}

// describeNode returns what a node is, for messages: "a list", the value of a scalar.
func describeNode(node *yaml.Node) string {
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
