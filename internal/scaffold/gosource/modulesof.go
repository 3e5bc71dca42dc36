package gosource

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"golang.org/x/mod/modfile"
)

// ApiModules returns the directories of the modules inside the project that hold API packages, sorted.
func ApiModules(p *plan.Plan, proj *project.Project) ([]string, error) {
	folders := []string{project.APIFolder}
	for _, r := range proj.Resources {
		if r.API {
			folders = append(folders, layout.KindView(proj, r, "").Folder)
		} else if folder, inside := layout.DirOf(proj.Repo, r.Path); inside {
			folders = append(folders, folder)
		}
	}
	found := map[string]bool{}
	for _, folder := range folders {
		module, err := ModuleAround(p, folder)
		if err != nil {
			return nil, err
		}
		if module == "." {
			continue
		}
		text, err := p.Read(path.Join(module, layout.GoModFile))
		if err != nil {
			return nil, err
		}
		found[module] = modfile.ModulePath(text) == path.Join(proj.Repo, module)
	}
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(found)), nil
}

// ModuleAround returns the directory of the module that contains a directory of the project, where "." is the project's
// module.
func ModuleAround(p *plan.Plan, folder string) (string, error) {
	for ; folder != "."; folder = path.Dir(folder) {
		if text, err := p.ReadIfExists(path.Join(folder, layout.GoModFile)); err != nil || text != nil {
			return folder, err
		}
	}
	return ".", nil
}

func Exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return !errors.Is(err, fs.ErrNotExist)
}

func IsPackageFile(name string) bool {
	return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
}
