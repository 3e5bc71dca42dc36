package templated

import (
	"errors"
	"iter"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// FollowRole updates the references to the manager's role when its file or name changes.
func FollowRole(p *plan.Plan) error { return errors.Join(relistRole(p), bindRole(p)) }

// relistRole replaces the old file of the role with the new file in the kustomization.
func relistRole(p *plan.Plan) error {
	var from, to []string
	for c := range roleFiles(p) {
		if c.Op == plan.Delete {
			from = append(from, path.Base(c.Path))
		} else if c.After != nil {
			to = append(to, path.Base(c.Path))
		}
	}
	kustomization, found, err := Kustomization(p, layout.RBACDir)
	if err != nil || !found || len(from) == 0 || len(to) != 1 {
		return err
	}
	text, err := p.Read(kustomization)
	if err != nil {
		return err
	}
	resources := []string{"resources"}
	edited, err := edit.ReplaceListItem(text, kustomization, resources, from[0], to[0])
	if err != nil {
		return err
	}
	for _, gone := range from[1:] {
		if edited, err = edit.RemoveListItem(edited, kustomization, resources, gone); err != nil {
			return err
		}
	}
	return p.Edit(kustomization, edited)
}

// bindRole updates the manager's role binding when the name of the role changes. It does not change a binding to any
// other role, which the user chose.
func bindRole(p *plan.Plan) error {
	const binding = layout.RBACDir + "/role_binding.yaml"
	before, after, err := roleNames(p)
	if err != nil || len(after) != 1 || slices.Equal(before, after) {
		return err
	}
	text, err := p.ReadIfExists(binding)
	if err != nil || text == nil {
		return err
	}
	edited, err := edit.ReplaceScalar(text, binding, []string{"roleRef", "name"}, before, after[0])
	if err != nil {
		return err
	}
	return p.Edit(binding, edited)
}

// roleNames returns the names of the roles generated into config/rbac, on disk and after the plan is applied.
func roleNames(p *plan.Plan) (before, after []string, err error) {
	for c := range roleFiles(p) {
		before = append(before, metadataNames(c.Before)...)
		after = append(after, metadataNames(c.After)...)
	}
	slices.Sort(before)
	slices.Sort(after)
	return slices.Compact(before), slices.Compact(after), nil
}

// roleFiles returns the changes to generated roles in config/rbac, including removals.
func roleFiles(p *plan.Plan) iter.Seq[plan.Change] {
	return func(yield func(plan.Change) bool) {
		for c := range p.Files() {
			if path.Dir(c.Path) == layout.RBACDir && c.Template == "generate/rbac" && !yield(c) {
				return
			}
		}
	}
}

// metadataNames returns the names of the objects in a YAML file, or none if the file does not parse.
func metadataNames(text []byte) []string {
	var names []string
	for _, root := range edit.Roots(text) {
		if name := yamlnode.Value(root, "metadata", "name"); name != nil {
			names = append(names, name.Value)
		}
	}
	return names
}
