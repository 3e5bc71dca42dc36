package scaffold

import (
	"strings"

	"golang.org/x/mod/modfile"
)

// releaseModules marks the modules indirect that only the deleted files imported.
func (r *removal) releaseModules(imported map[string]string) error {
	left, err := importsOfProject(r.plan, r.after)
	if err != nil {
		return err
	}
	return editRequirements(r.plan, func(file *modfile.File) bool {
		changed := false
		for _, m := range file.Require {
			if !m.Indirect && importsOf(m, file, imported) && !importsOf(m, file, left) {
				m.Indirect, changed = true, true
			}
		}
		return changed
	})
}

// importsOf reports whether any of some import paths is of a module, and of no other with a longer path.
func importsOf(m *modfile.Require, file *modfile.File, imported map[string]string) bool {
	for importPath := range imported {
		longest := ""
		for _, other := range file.Require {
			if within(importPath, other.Mod.Path) && len(other.Mod.Path) > len(longest) {
				longest = other.Mod.Path
			}
		}
		if longest == m.Mod.Path {
			return true
		}
	}
	return false
}

// within reports whether a module of a path would have a package.
func within(importPath, modulePath string) bool {
	return importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}
