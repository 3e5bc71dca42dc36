// Package yamlnode reads and changes mappings of YAML documents. It keeps the style and the order of keys.
package yamlnode

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Value follows keys through mappings and returns the value of the last key. It returns nil if a key is missing or a
// parent is not a mapping.
func Value(mapping *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		i := Index(mapping, key, 0)
		if i < 0 {
			return nil
		}
		mapping = mapping.Content[i+1]
	}
	return mapping
}

// Text is like Value for a scalar. It returns its value, or "" if there is no scalar.
func Text(mapping *yaml.Node, keys ...string) string {
	if value := Value(mapping, keys...); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// Items is like Value for a list. It returns its items, or nil if there is no list.
func Items(mapping *yaml.Node, keys ...string) []*yaml.Node {
	if list := Value(mapping, keys...); list != nil && list.Kind == yaml.SequenceNode {
		return list.Content
	}
	return nil
}

// At follows keys through mappings and indexes through lists, and returns the last node that exists on the path. The
// position of a mapping or list is its key, if it has one.
func At(node *yaml.Node, steps ...string) *yaml.Node {
	for _, step := range steps {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		var next *yaml.Node
		switch node.Kind {
		case yaml.MappingNode:
			if i := Index(node, step, 0); i >= 0 {
				copied := *node.Content[i+1]
				next = &copied
				if next.Kind == yaml.MappingNode || next.Kind == yaml.SequenceNode {
					next.Line, next.Column = node.Content[i].Line, node.Content[i].Column
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
				next = node.Content[i]
			}
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

// Index returns the first index of a key in the content of a mapping, starting at from. It returns -1 if the key is
// missing or the node is not a mapping.
func Index(mapping *yaml.Node, key string, from int) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := from; i+1 < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// Remove removes a key with its value from a mapping, and reports whether the key existed.
func Remove(mapping *yaml.Node, key string) bool {
	i := Index(mapping, key, 0)
	if i >= 0 {
		mapping.Content = append(mapping.Content[:i], mapping.Content[i+2:]...)
	}
	return i >= 0
}

// Insert defines the position and style of a new key in a mapping.
type Insert struct {
	// Sorted inserts the key before the first greater key. Otherwise the key is last.
	Sorted bool
	Style  yaml.Style
}

// Set replaces the value of a key, or adds the key.
func (in Insert) Set(mapping *yaml.Node, key string, value *yaml.Node) {
	if i := Index(mapping, key, 0); i >= 0 {
		mapping.Content[i+1] = value
		return
	}
	at := len(mapping.Content)
	if in.Sorted {
		for at = 0; at < len(mapping.Content) && mapping.Content[at].Value < key; at += 2 {
		}
	}
	added := append([]*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Style: in.Style, Value: key}, value},
		mapping.Content[at:]...)
	mapping.Content = append(mapping.Content[:at:at], added...)
	mapping.Style &^= yaml.FlowStyle // an empty mapping may be written as {}
}

// Ensure returns the value of a key. If the key is missing, Ensure adds it with an empty mapping.
func (in Insert) Ensure(mapping *yaml.Node, key string) *yaml.Node {
	found := Value(mapping, key)
	if found == nil {
		found = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		in.Set(mapping, key, found)
	}
	return found
}

// Clone returns a deep copy. The node must not contain aliases; generated files have none.
func Clone(node *yaml.Node) *yaml.Node {
	if node == nil {
		return nil
	}
	copied := *node
	copied.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		copied.Content[i] = Clone(child)
	}
	return &copied
}
