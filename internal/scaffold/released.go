package scaffold

import (
	"errors"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// inMemoryPackage is what tests on an API server in memory import.
const inMemoryPackage = runtimeModule + "/runtime/testenv/inmemory"

// releaseModules has go.mod and go.sum say what they said before the files that go away were there: which modules the project imports
// itself, and those that only tests in memory need.
func (r *removal) releaseModules(imported map[string]string) error {
	left, err := importsOfProject(r.plan, r.after)
	if err != nil {
		return err
	}
	mod, sum := templates.InMemoryModules()
	if imported[inMemoryPackage] != "" && left[inMemoryPackage] == "" {
		if err := dropModules(r.plan, r.after, mod, sum); err != nil {
			return err
		}
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

// dropModules takes out of go.mod and go.sum what others have and the project of kctrl alone would not, unless the user has required
// modules: what these need nobody can say without asking the go command.
func dropModules(p *plan.Plan, proj *project.Project, mod, sum templates.Template[templates.ModuleView]) error {
	view := templates.ModuleView{Repo: proj.Repo, RuntimeVersion: "v0.0.0"}
	lists := [][]templates.Template[templates.ModuleView]{templates.Modules()[:2]}
	if proj.Runtime == project.Module {
		lists[0] = templates.PublishedModules()
	}
	applied, err := appliedIn(p)
	if err != nil {
		return err
	}
	if slices.Contains(applied, ".") {
		goMod, goSum := templates.ApplyConfigurationModules()
		lists = append(lists, []templates.Template[templates.ModuleView]{goMod, goSum})
	}
	dropped, err := mod.Render(view)
	if err != nil {
		return err
	}
	droppedSums, err := sum.Render(view)
	if err != nil {
		return err
	}
	needed, sums := map[string]bool{}, map[string]bool{}
	for _, list := range lists {
		goMod, err := list[0].Render(view)
		goSum, failure := list[1].Render(view)
		if err := errors.Join(err, failure); err != nil {
			return err
		}
		for name := range requiredBy(goMod) {
			needed[name] = true
		}
		for line := range strings.Lines(string(goSum)) {
			sums[line] = true
		}
	}
	drop := requiredBy(dropped)
	foreign := false
	err = editRequirements(p, func(file *modfile.File) bool {
		changed := false
		for _, m := range file.Require {
			foreign = foreign || !needed[m.Mod.Path] && !drop[m.Mod.Path] && m.Mod.Path != runtimeModule && !within(m.Mod.Path, proj.Repo) && !strings.HasPrefix(m.Mod.Path, "k8s.io/api")
		}
		for _, m := range slices.Clone(file.Require) {
			if !foreign && drop[m.Mod.Path] && !needed[m.Mod.Path] {
				changed = file.DropRequire(m.Mod.Path) == nil || changed
			}
		}
		file.Require = slices.DeleteFunc(file.Require, func(m *modfile.Require) bool { return m.Mod.Path == "" })
		return changed
	})
	if foreign {
		p.Note(&diagnostic.Error{
			Pos:     token.Position{Filename: goModFile},
			Message: "requires modules of yours beside those that tests in memory needed, so these are left",
			Hint:    "go mod tidy takes out what nothing needs any more",
		})
	}
	if err != nil || foreign {
		return err
	}
	return dropSums(p, string(droppedSums), sums)
}

// requiredBy returns the modules that a go.mod requires.
func requiredBy(goMod []byte) map[string]bool {
	required := map[string]bool{}
	if file, err := modfile.Parse(goModFile, goMod, nil); err == nil {
		for _, m := range file.Require {
			required[m.Mod.Path] = true
		}
	}
	return required
}

// dropSums takes the lines of one text out of go.sum that are not in a set.
func dropSums(p *plan.Plan, dropped string, needed map[string]bool) error {
	const name = "go.sum"
	text, err := p.Read(name)
	if err != nil {
		return missingFile(name, err, "go mod tidy makes it")
	}
	gone := map[string]bool{}
	for line := range strings.Lines(dropped) {
		gone[line] = !needed[line]
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(plain(text)), "\n"), func(line string) bool { return gone[line] })
	return p.WriteFile(plan.File{Path: name, Content: []byte(strings.Join(lines, "")), Policy: plan.Edit})
}
