package scaffold

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
)

// bindRole has the binding of the manager's role follow when the role gets another name. A binding that names any other
// role is the user's decision.
func bindRole(plan *Plan) error {
	const binding = rbacFolder + "/role_binding.yaml"
	before, after, err := roleNames(plan)
	if err != nil || len(after) != 1 || slices.Equal(before, after) {
		return err
	}
	text, err := plan.Read(binding)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	edited, err := replaceScalar(text, binding, []string{"roleRef", "name"}, before, after[0])
	if err != nil {
		return err
	}
	return plan.WriteFile(File{Path: binding, Content: edited, Policy: Edit})
}

// roleNames returns the names of the roles that are generated into config/rbac, as they are on disk and as they become.
func roleNames(plan *Plan) (before, after []string, err error) {
	for name, state := range plan.files {
		if path.Dir(name) == rbacFolder && state.template == "generate/rbac" {
			before = append(before, metadataNames(state.before)...)
			after = append(after, metadataNames(state.after)...)
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	return slices.Compact(before), slices.Compact(after), nil
}

// metadataNames returns the names of the objects in a YAML file; none if it cannot be read.
func metadataNames(text []byte) []string {
	docs, err := decodeYAML(text)
	if err != nil {
		return nil
	}
	var names []string
	for _, doc := range docs {
		if name := valueAt(doc.Content[0], "metadata", "name"); name != nil {
			names = append(names, name.Value)
		}
	}
	return names
}

// valueAt follows keys through mappings; nil if one is not there.
func valueAt(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		node = mappingValue(node, key)
	}
	return node
}

// replaceScalar returns src, a YAML file, with the scalar at path as value, if it is one of old. All other bytes stay as
// they are.
func replaceScalar(src []byte, filename string, keys, old []string, value string) ([]byte, error) {
	f, err := parseYAML(src, filename, "write name: "+scalarText(value)+" under roleRef by hand")
	if err != nil {
		return nil, err
	}
	node := valueAt(f.root(), keys...)
	if node == nil || node.Kind != yaml.ScalarNode || !slices.Contains(old, node.Value) {
		return src, nil
	}
	at := f.offset(node)
	text := node.Value
	if quote := src[at]; quote == '"' || quote == '\'' {
		text = string(quote) + text + string(quote)
	}
	if !bytes.HasPrefix(src[at:], []byte(text)) || isShared(f.doc, node) {
		return nil, f.fail(node, "no place in this layout for a change that kctrl is sure of")
	}
	place := listPlace{value: node}
	return f.verified(f.splices([]splice{{at, at + len(text), quoteLike(value, []*yaml.Node{node})}}), place, func() { node.Value = value })
}
