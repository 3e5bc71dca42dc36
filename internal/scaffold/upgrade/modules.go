package upgrade

import (
	"errors"
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
	wanted, err := modfile.Parse("new "+layout.GoModFile, u.now.Contents[path.Join(folder, layout.GoModFile)], nil)
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
	return errors.Join(gomod.RaiseRequirements(u.plan, folder, wanted),
		gomod.AddSums(u.plan, folder, u.now.Contents[path.Join(folder, "go.sum")]))
}
