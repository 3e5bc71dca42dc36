package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
)

// followRole has what names the manager's role follow when it gets another file or another name.
func followRole(plan *Plan) error { return errors.Join(relistRole(plan), bindRole(plan)) }

// relistRole has the kustomization list the file that the role has moved to where it lists the one that it was in.
func relistRole(plan *Plan) error {
	var from, to []string
	for name, state := range roleFiles(plan) {
		switch {
		case state.exists && state.after == nil:
			from = append(from, path.Base(name))
		case state.after != nil:
			to = append(to, path.Base(name))
		}
	}
	kustomization, found, err := plan.Kustomization(rbacFolder)
	if err != nil || !found || len(from) == 0 || len(to) != 1 {
		return err
	}
	text, err := plan.Read(kustomization)
	if err != nil {
		return err
	}
	resources := []string{"resources"}
	slices.Sort(from)
	edited, err := replaceListItem(text, kustomization, resources, from[0], to[0])
	if err != nil {
		return err
	}
	for _, gone := range from[1:] {
		if edited, err = RemoveListItem(edited, kustomization, resources, gone); err != nil {
			return err
		}
	}
	return plan.WriteFile(File{Path: kustomization, Content: edited, Policy: Edit})
}

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
	for _, state := range roleFiles(plan) {
		before = append(before, metadataNames(state.before)...)
		after = append(after, metadataNames(state.after)...)
	}
	slices.Sort(before)
	slices.Sort(after)
	return slices.Compact(before), slices.Compact(after), nil
}

// roleFiles yields the files of roles that the plan generates into config/rbac, or takes away from there, in no order.
func roleFiles(plan *Plan) iter.Seq2[string, *planned] {
	return func(yield func(string, *planned) bool) {
		for name, state := range plan.files {
			if path.Dir(name) == rbacFolder && state.template == "generate/rbac" && !yield(name, state) {
				return
			}
		}
	}
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
	return f.replaceScalar(node, value)
}

// replaceListItem returns src, a YAML file, with value in the place of old in the list at keys, without old where the list
// has both. One that does not have old is left as it is. All other bytes stay as they are.
func replaceListItem(src []byte, filename string, keys []string, old, value string) ([]byte, error) {
	f, err := parseYAML(src, filename, fmt.Sprintf("write \"- %s\" instead of \"- %s\" by hand", scalarText(value), scalarText(old)))
	if err != nil {
		return nil, err
	}
	list := valueAt(f.root(), keys...)
	if list == nil || list.Kind != yaml.SequenceNode {
		return src, nil
	}
	at := itemIndex(list, old)
	switch {
	case at < 0:
		return src, nil
	case itemIndex(list, value) >= 0:
		return RemoveListItem(src, filename, keys, old)
	}
	return f.replaceScalar(list.Content[at], value)
}

// replaceScalar returns the text with a scalar that is written on one line as another.
func (f *yamlFile) replaceScalar(node *yaml.Node, value string) ([]byte, error) {
	at := f.offset(node)
	text := node.Value
	if quote := f.src[at]; quote == '"' || quote == '\'' {
		text = string(quote) + text + string(quote)
	}
	if !bytes.HasPrefix(f.src[at:], []byte(text)) || isShared(f.doc, node) {
		return nil, f.fail(node, "no place in this layout for a change that kctrl is sure of")
	}
	place := listPlace{value: node}
	return f.verified(f.splices([]splice{{at, at + len(text), quoteLike(value, []*yaml.Node{node})}}), place, func() { node.Value = value })
}
