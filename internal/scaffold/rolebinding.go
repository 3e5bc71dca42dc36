package scaffold

import (
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
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
	edited, err := edit.ReplaceListItem(text, kustomization, resources, from[0], to[0])
	if err != nil {
		return err
	}
	for _, gone := range from[1:] {
		if edited, err = edit.RemoveListItem(edited, kustomization, resources, gone); err != nil {
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
	edited, err := edit.ReplaceScalar(text, binding, []string{"roleRef", "name"}, before, after[0])
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
	docs, err := edit.Documents(text)
	if err != nil {
		return nil
	}
	var names []string
	for _, doc := range docs {
		if name := edit.Find(doc.Content[0], "metadata", "name"); name != nil {
			names = append(names, name.Value)
		}
	}
	return names
}
