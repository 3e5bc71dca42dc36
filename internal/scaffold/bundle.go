package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const (
	// runtimeModule is the Go module that the runtime is part of.
	runtimeModule = "github.com/kctrl-dev/kctrl"
	// bundleFolder is where a project has the runtime when it does not require the published module.
	bundleFolder = "third_party/kctrl"
)

// Build is what a kctrl binary knows of itself.
type Build struct {
	// Version is the version of the module, or "(devel)".
	Version string
	// Sum is the checksum of the module, empty when kctrl was not built from a downloaded module.
	Sum string
}

// release returns the version if it is one that was tagged, and "" for a build from somewhere in between.
func (b Build) release() string {
	if !semver.IsValid(b.Version) || module.IsPseudoVersion(b.Version) || semver.Build(b.Version) != "" {
		return ""
	}
	return b.Version
}

// Name returns what PROJECT says of the build.
func (b Build) Name() string {
	if b.Version == "" || b.Version == "(devel)" {
		return "devel"
	}
	return b.Version
}

// installable returns the version under which go install finds this very kctrl, and "" for a development build.
func (b Build) installable() string {
	if b.release() != "" || b.Sum != "" && semver.IsValid(b.Version) {
		return b.Version
	}
	return ""
}

// defaultRuntime is Module if the running kctrl is one that a project can require.
func (b Build) defaultRuntime() project.RuntimeMode {
	if b.release() != "" && b.Sum != "" {
		return project.Module
	}
	return project.Bundled
}

func validateRuntime(mode project.RuntimeMode, kctrl Build) error {
	switch {
	case mode == project.Bundled, mode == project.Module && kctrl.Sum != "":
		return nil
	case mode == project.Module:
		return &diagnostic.Error{
			Message: fmt.Sprintf("kctrl %s is not a published module that a project could require", kctrl.Version),
			Hint:    "use --runtime=bundled, or a kctrl from go install " + runtimeModule + "/cmd/kctrl@latest",
		}
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("unknown runtime %q", string(mode)),
		Hint:    "use --runtime=bundled or --runtime=module",
		Class:   diagnostic.ErrUsage,
	}
}

// writeBundle plans the source of the runtime, without its tests.
func writeBundle(p *plan.Plan) error {
	names, err := bundledSource()
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := fs.ReadFile(kctrl.Source, name)
		if err != nil {
			return err
		}
		file := plan.File{Path: path.Join(bundleFolder, name), Content: content, Template: "bundle/" + name, Policy: plan.Own}
		if err := p.WriteFile(file); err != nil {
			return err
		}
	}
	return nil
}

// bundledSource lists the source files of the runtime that projects get.
func bundledSource() ([]string, error) {
	var names []string
	err := fs.WalkDir(kctrl.Source, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case !entry.IsDir() && !strings.HasSuffix(name, "_test.go") && inBundle(name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// bundledModules are the templates of go.mod and go.sum of the runtime itself.
func bundledModules() []templates.Template[templates.ModuleView] {
	return slices.DeleteFunc(templates.Modules(), func(t templates.Template[templates.ModuleView]) bool {
		return !strings.HasPrefix(t.Path(templates.ModuleView{}), bundleFolder+"/")
	})
}

// PlanRuntime brings back a bundled runtime that is gone. One of which only a part is gone is completed if this kctrl
// wrote it, and else is a *diagnostic.Error: the runtime of another kctrl is not mixed with this one's.
func PlanRuntime(p *plan.Plan, proj *project.Project) error {
	if proj.Runtime == project.Module || !replacesRuntime(p) {
		return nil
	}
	lock, onDisk, err := p.Lock()
	if err != nil {
		return err
	}
	missing, err := missingRuntime(p, lock)
	if err != nil || len(missing) == 0 && onDisk {
		return err
	}
	whole := plan.New(afero.NewIOFS(afero.NewMemMapFs()))
	err = errors.Join(renderAll(whole, bundledModules(), templates.ModuleView{Repo: proj.Repo}, true), writeBundle(whole))
	files := slices.Collect(whole.Files())
	if err == nil && len(missing) == 0 {
		missing, err = unknownRuntime(p, files)
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	if others := otherRuntime(files, lock); len(others) > 0 || missing[0] == bundleFolder {
		if entries, err := fs.ReadDir(p.FS(), bundleFolder); err == nil && len(entries) > 0 {
			return mixedRuntime(missing)
		}
		for _, name := range others {
			if err := p.Delete(name, plan.Own); err != nil {
				return err
			}
		}
		missing = pathsOf(files)
	}
	p.Note(&diagnostic.Error{
		Pos:     token.Position{Filename: bundleFolder},
		Message: fmt.Sprintf("the bundled runtime lacks %d of its files", len(missing)),
		Hint:    "kctrl generate writes them anew; nothing builds without them, so they belong into version control",
	})
	for _, c := range files {
		if !slices.Contains(missing, c.Path) {
			continue
		}
		if err := p.WriteFile(plan.File{Path: c.Path, Content: c.After, Template: c.Template, Policy: plan.Own}); err != nil {
			return err
		}
	}
	return nil
}

func mixedRuntime(missing []string) error {
	what := "is missing"
	if more := len(missing) - 1; more > 0 {
		what = fmt.Sprintf("and %d more files are missing", more)
	}
	return &diagnostic.Error{
		Pos:     token.Position{Filename: missing[0]},
		Message: what + ", of a runtime that another version of kctrl wrote",
		Hint:    "restore " + bundleFolder + " from version control, or remove the folder: then kctrl generate writes the runtime of this kctrl",
	}
}

// replacesRuntime reports whether go.mod says that the runtime is in its folder. A go.mod that cannot be read is left to
// others.
func replacesRuntime(p *plan.Plan) bool {
	text, err := p.Read(goModFile)
	if err != nil {
		return false
	}
	file, err := modfile.Parse(goModFile, text, nil)
	return err == nil && slices.ContainsFunc(file.Replace, func(r *modfile.Replace) bool {
		return r.Old.Path == runtimeModule && path.Clean(r.New.Path) == bundleFolder
	})
}

// missingRuntime returns the files of the runtime that kctrl wrote and that are not there. Without a lock that knows them
// it is the folder that is there or not.
func missingRuntime(p *plan.Plan, lock *project.Lock) ([]string, error) {
	var missing []string
	known := false
	for entry := range lock.All() {
		if !strings.HasPrefix(entry.Path, bundleFolder+"/") {
			continue
		}
		known = true
		if _, err := fs.Stat(p.FS(), entry.Path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, entry.Path)
		} else if err != nil {
			return nil, diagnostic.AtFile(entry.Path, "cannot read", err)
		}
	}
	if _, err := fs.Stat(p.FS(), bundleFolder); !known && errors.Is(err, fs.ErrNotExist) {
		missing = append(missing, bundleFolder)
	}
	return missing, nil
}

// unknownRuntime returns the files that a runtime lacks whose lock is lost too, if all that is there of it is as this kctrl
// writes it: what another kctrl wrote is not known to lack anything.
func unknownRuntime(p *plan.Plan, whole []plan.Change) ([]string, error) {
	var missing []string
	for _, file := range whole {
		c, err := p.Lookup(file.Path)
		switch {
		case err != nil:
			return nil, err
		case c.Before == nil:
			missing = append(missing, c.Path)
		case !bytes.Equal(c.Before, file.After):
			return nil, nil
		}
	}
	return missing, nil
}

// otherRuntime returns the files that the lock knows of a runtime other than the whole one of this kctrl.
func otherRuntime(whole []plan.Change, lock *project.Lock) []string {
	ours := map[string][]byte{}
	for _, c := range whole {
		ours[c.Path] = c.After
	}
	var others []string
	for entry := range lock.All() {
		if strings.HasPrefix(entry.Path, bundleFolder+"/") && (ours[entry.Path] == nil || lock.Touched(entry.Path, ours[entry.Path])) {
			others = append(others, entry.Path)
		}
	}
	return others
}

func pathsOf(changes []plan.Change) []string {
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// inBundle leaves out the program that kctrl env compiles: no project imports it.
func inBundle(name string) bool {
	return name == "LICENSE" || strings.HasPrefix(name, "runtime/") && !strings.HasPrefix(name, "runtime/apiserver/program/")
}
