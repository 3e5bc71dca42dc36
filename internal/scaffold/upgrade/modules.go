package upgrade

import (
	"bytes"
	"errors"
	"go/version"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// runtime upgrades the bundled runtime.
func (u *upgrade) runtime() error {
	if u.project.Runtime == project.Module || !gomod.ReplacesRuntime(u.plan) {
		return nil
	}
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
	names, err := gomod.BundledSource(u.plan)
	if err != nil {
		return err
	}
	is := map[string]bool{}
	for _, name := range names {
		is[path.Join(layout.BundleDir, name)] = true
	}
	for _, t := range gomod.BundledModules() {
		is[t.Path(templates.ModuleView{})] = true
	}
	var old []string
	for entry := range lock.All() {
		if strings.HasPrefix(entry.Path, layout.BundleDir+"/") && !is[entry.Path] {
			old = append(old, entry.Path)
		}
	}
	for _, name := range old {
		if err := u.plan.Delete(name); err != nil {
			return err
		}
	}
	return errors.Join(templated.RenderAll(u.plan, gomod.BundledModules(), templates.ModuleView{Repo: u.project.Repo},
		true), gomod.WriteBundle(u.plan))
}

// modules raises the Go version and the versions of the modules that kctrl requires, and adds new requirements, in the
// project's module and in its API module.
func (u *upgrade) modules() error {
	err := u.modulesIn(".")
	if err == nil && u.project.APIModule {
		err = u.modulesIn(project.APIFolder)
	}
	return err
}

func (u *upgrade) modulesIn(folder string) error {
	now, err := fs.ReadFile(u.now.FS, path.Join(folder, layout.GoModFile))
	if err != nil {
		return err
	}
	wanted, err := modfile.Parse("new "+layout.GoModFile, now, nil)
	if err != nil {
		return err
	}
	changed := false
	err = gomod.EditRequirementsOf(u.plan, folder, func(file *modfile.File) bool {
		for _, w := range wanted.Require {
			at := gomod.Requirement(file, w.Mod.Path)
			switch {
			case at < 0:
				file.AddNewRequire(w.Mod.Path, w.Mod.Version, w.Indirect)
			case semver.Compare(file.Require[at].Mod.Version, w.Mod.Version) < 0:
				file.Require[at].Mod.Version = w.Mod.Version
			default:
				continue
			}
			changed = true
		}
		if file.Go != nil && wanted.Go != nil && version.Compare("go"+file.Go.Version, "go"+wanted.Go.Version) < 0 {
			changed = file.AddGoStmt(wanted.Go.Version) == nil || changed
		}
		return changed
	})
	if err != nil {
		return err
	}
	sums, err := fs.ReadFile(u.now.FS, path.Join(folder, "go.sum"))
	if err != nil || bytes.Equal(sums, nil) {
		return err
	}
	return gomod.AddSumsIn(u.plan, folder, sums)
}
