package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
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

// name returns what PROJECT says of the build.
func (b Build) name() string {
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
func (b Build) defaultRuntime() RuntimeMode {
	if b.release() != "" && b.Sum != "" {
		return Module
	}
	return Bundled
}

func validateRuntime(mode RuntimeMode, kctrl Build) error {
	switch {
	case mode == Bundled, mode == Module && kctrl.Sum != "":
		return nil
	case mode == Module:
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

// writeModules plans go.mod and go.sum, complete and tidy, and the runtime itself when it is bundled. A go.mod that is
// there already may be replaced.
func writeModules(p *plan.Plan, project *Project, build Build, replace bool) error {
	view := templates.ModuleView{Repo: project.Repo}
	list, writeRuntime := templates.Modules(), writeBundle
	if project.Runtime == Module {
		view.RuntimeVersion = build.Version
		list, writeRuntime = templates.PublishedModules(), func(p *plan.Plan) error { return addRuntimeSums(p, build) }
	}
	if err := renderAll(p, list, view, replace); err != nil {
		return err
	}
	if err := checkRequired(p, project); err != nil {
		return err
	}
	return writeRuntime(p)
}

// checkRequired refuses a project that would be a module which it needs.
func checkRequired(p *plan.Plan, project *Project) error {
	text, err := p.Read(goModFile)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(goModFile, text, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == project.Repo }) {
		return nil
	}
	return invalidName("module path", project.Repo, "the project needs the module of that name", "example.com/guestbook")
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
func PlanRuntime(p *plan.Plan, project *Project) error {
	if project.Runtime == Module || !replacesRuntime(p) {
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
	err = errors.Join(renderAll(whole, bundledModules(), templates.ModuleView{Repo: project.Repo}, true), writeBundle(whole))
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
func missingRuntime(p *plan.Plan, lock *plan.Lock) ([]string, error) {
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
func otherRuntime(whole []plan.Change, lock *plan.Lock) []string {
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

func inBundle(name string) bool { return name == "LICENSE" || strings.HasPrefix(name, "runtime/") }

// addRuntimeSums adds to go.sum what the go command would find out by downloading the runtime: the checksum of the
// module, which the binary carries, and of its go.mod, which kctrl embeds.
func addRuntimeSums(p *plan.Plan, build Build) error {
	const name = "go.sum"
	text, err := p.Read(name)
	if err != nil {
		return err
	}
	goMod, err := fs.ReadFile(kctrl.Source, goModFile)
	if err != nil {
		return err
	}
	goModSum, err := dirhash.Hash1([]string{goModFile}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return line > runtimeModule })
	lines = slices.Insert(lines, at,
		fmt.Sprintf("%s %s %s\n", runtimeModule, build.Version, build.Sum),
		fmt.Sprintf("%s %s/go.mod %s\n", runtimeModule, build.Version, goModSum),
	)
	return p.WriteFile(plan.File{Path: name, Content: []byte(strings.Join(lines, "")), Policy: plan.Edit})
}

// requireDirectly makes the project's go.mod say that its own packages import a module, as go mod tidy would. A module
// that is not required at all is left to go mod tidy: the go command names it.
func requireDirectly(p *plan.Plan, modulePath string) error {
	text, err := p.Read(goModFile)
	if err != nil {
		return missingFile(goModFile, err, "kctrl works on Go modules: restore it")
	}
	file, err := parseGoMod(text)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == modulePath })
	if at < 0 || !file.Require[at].Indirect {
		return nil
	}
	file.Require[at].Indirect = false
	file.SetRequireSeparateIndirect(file.Require)
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return p.WriteFile(plan.File{Path: goModFile, Content: out, Policy: plan.Edit})
}

// requireApplyConfigurations makes go.mod and go.sum hold what apply configurations import, if the project has any: other
// code needs no such modules. Versions that are there already stay.
func requireApplyConfigurations(p *plan.Plan, project *Project) error {
	lock, _, err := p.Lock()
	if err != nil || !hasApplyConfigurations(p, lock) {
		return err
	}
	mod, sum := templates.ApplyConfigurationModules()
	view := templates.ModuleView{Repo: project.Repo}
	needed, err := mod.Render(view)
	if err != nil {
		return err
	}
	sums, err := sum.Render(view)
	if err != nil {
		return err
	}
	return errors.Join(addRequirements(p, needed), addSums(p, sums))
}

func hasApplyConfigurations(p *plan.Plan, lock *plan.Lock) bool {
	for entry := range lock.All() {
		if entry.Template != "generate/applyconfig" {
			continue
		}
		if _, err := p.Read(entry.Path); err == nil {
			return true
		}
	}
	return false
}

// addRequirements adds to go.mod the modules of another go.mod that it does not require, and says which of them the
// project imports itself.
func addRequirements(p *plan.Plan, needed []byte) error {
	text, err := p.Read(goModFile)
	if err != nil {
		return missingFile(goModFile, err, "kctrl works on Go modules: restore it")
	}
	file, err := parseGoMod(text)
	if err != nil {
		return err
	}
	wanted, err := modfile.Parse("needed "+goModFile, needed, nil)
	if err != nil {
		return err
	}
	changed := false
	for _, r := range wanted.Require {
		at := slices.IndexFunc(file.Require, func(have *modfile.Require) bool { return have.Mod.Path == r.Mod.Path })
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
	if !changed {
		return nil
	}
	file.SetRequireSeparateIndirect(file.Require)
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return p.WriteFile(plan.File{Path: goModFile, Content: out, Policy: plan.Edit})
}

// addSums adds the lines of another go.sum that a go.sum does not have, in the order of the go command.
func addSums(p *plan.Plan, needed []byte) error {
	const name = "go.sum"
	text, err := p.Read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
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
	return p.WriteFile(plan.File{Path: name, Content: []byte(strings.Join(lines, "")), Policy: plan.Edit})
}

// compareSums orders lines of go.sum by path and version of the module, that of its go.mod behind its own.
func compareSums(a, b string) int {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) < 2 || len(y) < 2 {
		return len(x) - len(y)
	}
	xVersion, xFile, _ := strings.Cut(x[1], "/")
	yVersion, yFile, _ := strings.Cut(y[1], "/")
	return cmp.Or(cmp.Compare(x[0], y[0]), semver.Compare(xVersion, yVersion), cmp.Compare(xFile, yFile))
}
