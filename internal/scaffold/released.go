package scaffold

import (
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"golang.org/x/mod/modfile"
)

// releaseModules marks the modules indirect that only the deleted files imported.
func (r *removal) releaseModules(imported map[string]string) error {
	left, err := gomod.ImportsOfProject(r.plan, r.after)
	if err != nil {
		return err
	}
	return gomod.EditRequirements(r.plan, func(file *modfile.File) bool {
		changed := false
		for _, m := range file.Require {
			if !m.Indirect && gomod.ImportsOf(m, file, imported) && !gomod.ImportsOf(m, file, left) {
				m.Indirect, changed = true, true
			}
		}
		return changed
	})
}
