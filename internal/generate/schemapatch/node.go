package schemapatch

import "go.yaml.in/yaml/v3"

// value returns the value of a key in a mapping, or nil.
func value(mapping *yaml.Node, key string) *yaml.Node {
	if i := index(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

// index returns where in a mapping a key stands, or -1.
func index(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// remove takes a key with its value out of a mapping.
func remove(mapping *yaml.Node, key string) {
	if i := index(mapping, key); i >= 0 {
		mapping.Content = append(mapping.Content[:i], mapping.Content[i+2:]...)
	}
}

// set replaces the value of a key, or adds the key at the end of the mapping.
func set(mapping *yaml.Node, key string, node *yaml.Node) {
	*ensure(mapping, key) = *node
}

// ensure returns the value of a key, which it adds with an empty mapping if it is not there.
func ensure(mapping *yaml.Node, key string) *yaml.Node {
	if found := value(mapping, key); found != nil {
		return found
	}
	added := &yaml.Node{Kind: yaml.MappingNode}
	mapping.Content = append(mapping.Content, &yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: key,
	}, added)
	return added
}
