package upgrade

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"golang.org/x/mod/modfile"
)

// modules raises the Go version and the versions of the modules that kctrl requires, and adds new requirements, in the
// project's module and in its API module. If a module uses an older version of Kubernetes that the bundled runtime
// supports, its indirect requirements depend on that version, and go mod tidy determines them.
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
	ours, err := gomod.ReadModule(u.plan, folder)
	if err != nil {
		return err
	}
	if u.project.Runtime != project.Module && gomod.UsesOlderKubernetes(ours, wanted) {
		wanted.Require = slices.DeleteFunc(wanted.Require, func(r *modfile.Require) bool {
			return r.Indirect || strings.HasPrefix(r.Mod.Path, "k8s.io/")
		})
		return gomod.RaiseRequirements(u.plan, folder, wanted)
	}
	if err := gomod.RaiseRequirements(u.plan, folder, wanted); err != nil {
		return err
	}
	sums, err := fs.ReadFile(u.now.FS, path.Join(folder, "go.sum"))
	if err != nil || bytes.Equal(sums, nil) {
		return err
	}
	return gomod.AddSums(u.plan, folder, sums)
}
