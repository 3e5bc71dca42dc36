package gomod

import (
	"bytes"
	"cmp"
	"errors"
	"go/version"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// RequireDirectly marks a requirement of go.mod as direct, as go mod tidy does if the project's packages import the
// module. It does not add a missing requirement, because the go command reports it and go mod tidy adds it.
func RequireDirectly(p *plan.Plan, modulePath string) error {
	return markIndirect(p, func(m *modfile.Require, _ *modfile.File) bool {
		return m.Indirect && m.Mod.Path != modulePath
	})
}

// Requirement returns the index of a module in the requirements of a go.mod, or -1.
func Requirement(file *modfile.File, modulePath string) int {
	return slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == modulePath })
}

// ReadModule returns the go.mod in a directory.
func ReadModule(p *plan.Plan, folder string) (*modfile.File, error) {
	name := path.Join(folder, layout.GoModFile)
	text, err := p.Read(name)
	if err != nil {
		return nil, layout.MissingFile(name, err, "kctrl works on Go modules: restore it")
	}
	return ParseGoMod(text)
}

// EditRequirements plans the change that edit makes to the go.mod in a directory, and notes a vendor directory that
// becomes outdated. If edit returns false, nothing changes.
func EditRequirements(p *plan.Plan, folder string, edit func(*modfile.File) bool) error {
	file, err := ReadModule(p, folder)
	if err != nil || !edit(file) {
		return err
	}
	noteVendored(p)
	file.SetRequireSeparateIndirect(file.Require)
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return p.Edit(path.Join(folder, layout.GoModFile), out)
}

// RequireApplyConfigurations adds modules to go.mod and go.sum if the project has apply configurations, which import
// them. Other code does not need these modules. RequireApplyConfigurations does not change existing versions.
func RequireApplyConfigurations(p *plan.Plan, proj *project.Project) error {
	folders, err := appliedIn(p)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		mod, sum := templates.ApplyConfigurationModules(folder != ".")
		err = errors.Join(err, requireAll(p, folder, proj, mod, sum))
	}
	return err
}

// appliedIn returns the directories of the modules that have apply configurations.
func appliedIn(p *plan.Plan) ([]string, error) {
	var folders []string
	for entry := range p.Lock().All() {
		if _, err := p.Read(entry.Path); entry.Template != "generate/applyconfig" || err != nil {
			continue
		}
		folder, err := gosource.ModuleAround(p, path.Dir(entry.Path))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// requireAll adds the lines of the templates that go.mod and go.sum in a directory lack.
func requireAll(p *plan.Plan, folder string, proj *project.Project, mod,
	sum templates.Template[templates.ModuleView]) error {
	view := templates.ModuleView{Repo: proj.Repo}
	text, err := mod.Render(view)
	if err != nil {
		return err
	}
	needed, err := ParseGoMod(text)
	if err != nil {
		return err
	}
	sums, err := sum.Render(view)
	if err != nil {
		return err
	}
	if complete, err := hasSums(p, folder, needed); err != nil || complete {
		return errors.Join(err, addRequirements(p, folder, needed))
	}
	return errors.Join(addRequirements(p, folder, needed), AddSums(p, folder, sums))
}

// hasSums reports whether a module requires everything that another go.mod requires, in the same or newer versions,
// with a checksum for each. If so, checksums of the older versions are not needed.
func hasSums(p *plan.Plan, folder string, needed *modfile.File) (bool, error) {
	file, err := ReadModule(p, folder)
	if err != nil {
		return false, err
	}
	sums, err := p.Read(path.Join(folder, "go.sum"))
	if err != nil {
		return false, nil // go.sum does not exist yet
	}
	sums = append([]byte("\n"), edit.Plain(sums)...)
	return !slices.ContainsFunc(needed.Require, func(r *modfile.Require) bool {
		at := Requirement(file, r.Mod.Path)
		if at < 0 || semver.Compare(file.Require[at].Mod.Version, r.Mod.Version) < 0 {
			return true
		}
		return !bytes.Contains(sums, []byte("\n"+r.Mod.Path+" "+file.Require[at].Mod.Version+" h1:"))
	}), nil
}

// addRequirements adds the requirements of another go.mod that are missing, and marks requirements as direct if the
// other go.mod does.
func addRequirements(p *plan.Plan, folder string, needed *modfile.File) error {
	return EditRequirements(p, folder, func(file *modfile.File) bool {
		changed := false
		for _, r := range needed.Require {
			at := Requirement(file, r.Mod.Path)
			switch {
			case at < 0:
				file.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Indirect)
			case file.Require[at].Indirect && !r.Indirect:
				file.Require[at].Indirect = false
			default:
				continue
			}
			changed = true
		}
		return changed
	})
}

// adoptRequirements raises the requirements, the Go version and the replacements of a go.mod to the values in another
// go.mod.
func adoptRequirements(p *plan.Plan, folder string, needed []byte) error {
	wanted, err := ParseGoMod(needed)
	if err != nil {
		return err
	}
	return EditRequirements(p, folder, func(file *modfile.File) bool {
		raise(file, wanted)
		for _, r := range wanted.Replace {
			target := r.New.Path
			if folder != "." && modfile.IsDirectoryPath(target) {
				target = strings.Repeat("../", 1+strings.Count(folder, "/")) + strings.TrimPrefix(target, "./")
			}
			_ = file.AddReplace(r.Old.Path, r.Old.Version, target, r.New.Version) // no error: the paths were parsed
		}
		return true
	})
}

// RaiseRequirements raises the requirements and the Go version of a go.mod to the values in another go.mod.
func RaiseRequirements(p *plan.Plan, folder string, wanted *modfile.File) error {
	return EditRequirements(p, folder, func(file *modfile.File) bool { return raise(file, wanted) })
}

// raise raises the requirements and the Go version of a go.mod, and reports whether it changed anything.
func raise(file, wanted *modfile.File) bool {
	changed := false
	if wanted.Go != nil && (file.Go == nil || version.Compare("go"+file.Go.Version, "go"+wanted.Go.Version) < 0) {
		changed = file.AddGoStmt(wanted.Go.Version) == nil
		if file.Toolchain != nil && version.Compare(file.Toolchain.Name, "go"+wanted.Go.Version) < 0 {
			file.DropToolchainStmt()
		}
	}
	for _, r := range wanted.Require {
		at := Requirement(file, r.Mod.Path)
		switch {
		case at < 0:
			file.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Indirect)
		case semver.Compare(file.Require[at].Mod.Version, r.Mod.Version) < 0:
			file.Require[at].Mod.Version = r.Mod.Version
		default:
			continue
		}
		changed = true
	}
	return changed
}

// supportedMinors is the number of minor versions of Kubernetes with whose modules the bundled runtime compiles.
const supportedMinors = 3

// UsesOlderKubernetes reports whether a go.mod requires modules of Kubernetes in an older minor version than another
// go.mod, and the bundled runtime supports all of these versions.
func UsesOlderKubernetes(file, newest *modfile.File) bool {
	older := false
	for _, r := range newest.Require {
		at := Requirement(file, r.Mod.Path)
		if at < 0 || !strings.HasPrefix(r.Mod.Path, "k8s.io/") {
			continue
		}
		have, want := minorOf(file.Require[at].Mod.Version), minorOf(r.Mod.Version)
		if have <= want-supportedMinors {
			return false
		}
		older = older || have < want
	}
	return older
}

// minorOf returns N for a version v0.N.x of a module that Kubernetes releases, and 0 for other versions.
func minorOf(v string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(semver.MajorMinor(v), "v0."))
	return n
}

// AddSums adds the lines of another go.sum that the go.sum in a directory lacks, in the order of the go command.
func AddSums(p *plan.Plan, folder string, needed []byte) error {
	name := path.Join(folder, "go.sum")
	text, err := p.ReadIfExists(name)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(edit.Plain(text)), "\n")
	have := len(lines)
	for line := range strings.Lines(string(needed)) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == have {
		return nil
	}
	slices.SortStableFunc(lines, compareSums)
	return p.Edit(name, []byte(strings.Join(lines, "")))
}

// compareSums orders lines of go.sum by module path and version. The line for a module's go.mod follows the line for
// the module.
func compareSums(a, b string) int {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) < 2 || len(y) < 2 {
		return len(x) - len(y)
	}
	xVersion, xFile, _ := strings.Cut(x[1], "/")
	yVersion, yFile, _ := strings.Cut(y[1], "/")
	return cmp.Or(cmp.Compare(x[0], y[0]), semver.Compare(xVersion, yVersion), cmp.Compare(xFile, yFile))
}

// RequirePackage marks the requirement that provides a package as direct. It rejects a package that no required module
// provides, because kctrl cannot choose the version.
func RequirePackage(p *plan.Plan, importPath, mod string) error {
	if importPath == "" {
		return nil
	}
	file, err := ReadModule(p, ".")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return within(importPath, r.Mod.Path) })
	if at < 0 && !strings.HasPrefix(importPath, file.Module.Mod.Path+"/") {
		return diagnostic.In(layout.GoModFile, "requires no module that has the package "+importPath,
			"go get "+cmp.Or(mod, importPath+"@latest")+" adds it, then run the command again")
	}
	if at < 0 {
		return nil
	}
	return RequireDirectly(p, file.Require[at].Mod.Path)
}

// RequireForeign adds the requirements of a go.mod that provide the Go types of external kinds.
func RequireForeign(to *plan.Plan, text []byte, proj *project.Project) error {
	file, err := ParseGoMod(text)
	if err != nil {
		return nil // reported by other checks
	}
	foreign := map[string]bool{}
	for _, r := range proj.Resources {
		if r.Path != "" {
			foreign[r.Path] = true
		}
	}
	needed := &modfile.File{}
	for _, m := range file.Require {
		if ImportsOf(m, file, foreign) {
			needed.Require = append(needed.Require, m)
		}
	}
	return addRequirements(to, ".", needed)
}

// ReleaseModules marks modules as indirect that only deleted files imported. imported has the imports from before the
// deletion.
func ReleaseModules(p *plan.Plan, imported map[string]bool, proj *project.Project) error {
	left, err := ImportsOfProject(p, proj)
	if err != nil {
		return err
	}
	return markIndirect(p, func(m *modfile.Require, file *modfile.File) bool {
		return m.Indirect || ImportsOf(m, file, imported) && !ImportsOf(m, file, left)
	})
}

// markIndirect marks the requirements of go.mod as indirect for which indirect returns true, and the other ones as
// direct.
func markIndirect(p *plan.Plan, indirect func(*modfile.Require, *modfile.File) bool) error {
	return EditRequirements(p, ".", func(file *modfile.File) bool {
		changed := false
		for _, m := range file.Require {
			if is := indirect(m, file); is != m.Indirect {
				m.Indirect, changed = is, true
			}
		}
		return changed
	})
}
