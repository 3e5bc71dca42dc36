package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"go/version"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Options say how to bring a project to the templates and the runtime of this kctrl.
type Options struct {
	// Base has what edits are merged from.
	Base sync.History
	// Kctrl is the kctrl whose templates and runtime the project gets.
	Kctrl project.Build
}

// Plan plans that a project has what this kctrl writes: files that nobody has edited become those of today, edited
// ones are merged from what kctrl wrote once, with the conflict markers of git where both have changed the same
// lines, and noted; the bundled runtime and the modules that kctrl pins become those of this kctrl, unless they are
// newer.
func Plan(fsys fs.FS, proj *project.Project, opts Options) (*plan.Plan, error) {
	p := plan.New(fsys)
	if err := render.RebuildLock(p, proj, opts.Kctrl); err != nil {
		return nil, err
	}
	header, err := p.Read(layout.BoilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	u := &upgrade{plan: p, project: proj, options: opts}
	env, err := render.EnvOf(p, header, opts.Kctrl)
	if err != nil {
		return nil, err
	}
	if u.now, err = render.Render(proj, env); err != nil {
		return nil, err
	}
	if err := plan.InOrder(u.gone, u.files, u.tellOfForeign, u.code, u.setups, u.tellOfKept, u.runtime, u.modules, u.dropBases); err != nil {
		return nil, err
	}
	proj.Kctrl = opts.Kctrl.Name()
	return p, errors.Join(render.DeployWebhooks(p, proj), render.WriteRegistration(p, proj), templated.WriteProject(p, proj))
}

// upgrade brings a project to the files of now.
type upgrade struct {
	plan    *plan.Plan
	project *project.Project
	options Options
	now     render.Tree
	// foreign are files of somebody else where kctrl would write others, of which the user is to be told.
	foreign []string
}

// isListOfKinds reports whether a template is a kustomization that has nothing but what commands list there.
func isListOfKinds(id string) bool {
	return strings.HasSuffix(id, "/kustomization.yaml") && hasPrefix(id, []string{"kind/", "webhook/config/webhook/"})
}

// files brings the files of now into the project.
func (u *upgrade) files() error {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
	others, err := render.OthersDeployment(u.plan)
	if err != nil {
		return err
	}
	for entry := range u.now.Lock.All() {
		if sync.IsFollowing(entry.Path, entry.Template) || isCode(entry) || hasPrefix(entry.Template, kept) || isListOfKinds(entry.Template) {
			continue
		}
		theirs, err := fs.ReadFile(u.now.FS, entry.Path)
		if err != nil {
			return err
		}
		_, known := lock.Entry(entry.Path)
		if !known && others && strings.HasPrefix(entry.Path, "config/") {
			continue // nothing would list it
		}
		ours, err := u.plan.Read(entry.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && known:
			continue // taken away by the user
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if sync.IsUsers(entry.Template) && (ours == nil || lock.Touched(entry.Path, ours)) {
			continue
		}
		asHere, err := u.listed(entry.Path, ours, theirs)
		if err != nil {
			return err
		}
		if known && !lock.Touched(entry.Path, ours) {
			theirs = asHere
		}
		switch {
		case bytes.Equal(asHere, ours):
			continue // but for the order of lists
		case known && !lock.Touched(entry.Path, theirs):
			continue // the template is as it was
		case !known && ours != nil:
			u.noteForeign(lock, entry, theirs)
			continue
		case ours != nil && !lock.Touched(entry.Path, ours) && !sameRequests(entry.Path, ours, theirs):
			u.note(entry.Path, 0, "is about requests that PROJECT does not tell of, and kctrl writes it otherwise now, so it stays as it is", compareHint)
			if err := u.offer(entry, theirs); err != nil {
				return err
			}
			continue
		case ours == nil, !lock.Touched(entry.Path, ours):
			if err := u.plan.WriteFile(plan.File{Path: entry.Path, Content: theirs, Template: entry.Template, Policy: plan.Own}); err != nil {
				return err
			}
			continue
		}
		if err := u.merge(entry, ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

// toldFolder begins the paths under which the lock has what kctrl would write over files of somebody else below
// config, once a user was told. Under their own paths it has nothing of them: that tells that somebody else deploys
// the project.
const toldFolder = ".kctrl/told"

// noteForeign remembers that a file of somebody else is where kctrl would write one: once for each content that it
// would write.
func (u *upgrade) noteForeign(lock *project.Lock, now project.LockEntry, theirs []byte) {
	name := now.Path
	if strings.HasPrefix(name, "config/") {
		name = path.Join(toldFolder, name)
	}
	if lock.Touched(name, theirs) {
		u.foreign = append(u.foreign, now.Path)
		lock.Record(name, theirs, now.Template)
	}
}

// tellOfForeign notes which files are somebody else's, all at once: a project that was migrated has many.
func (u *upgrade) tellOfForeign() error {
	if len(u.foreign) > 0 {
		u.note("", 0, "files that kctrl did not write stay as they are, and a new project has others of these names: "+strings.Join(u.foreign, ", "), compareThemHint)
	}
	return nil
}

// merge plans a file that the user has edited.
func (u *upgrade) merge(now project.LockEntry, ours, theirs []byte) error {
	if line := edit.Conflict(ours); line > 0 {
		u.note(now.Path, line, "has the conflict of an upgrade before this one still, so that it stays as it is", "choose between the lines, take the markers out, and run kctrl upgrade again")
		return nil
	}
	base, found := u.base(now.Path, ours)
	if !found || !sameRequests(now.Path, base, theirs) {
		u.note(now.Path, 0, "has been edited, and no version of it in git is what kctrl wrote, so that nothing can be merged", compareHint)
		return u.offer(now, theirs)
	}
	theirs, err := u.listed(now.Path, base, theirs)
	if err != nil {
		return err
	}
	labels := edit.Labels{Ours: "yours", Base: "kctrl " + orDevel(u.project.Kctrl), Theirs: "kctrl " + u.options.Kctrl.Name()}
	merged, conflicts := edit.Merge(base, edit.Plain(ours), theirs, labels)
	for _, line := range conflicts {
		u.note(now.Path, line, "has a conflict: you and kctrl have changed the same lines", "choose between the lines, and take the markers out")
	}
	if err := u.plan.WriteFile(plan.File{Path: now.Path, Content: edit.EndedAs(ours, merged), Policy: plan.Own}); err != nil {
		return err
	}
	return u.keepBase(now, theirs)
}

// listed returns what kctrl writes of a kustomization with the lists of the one that is there: which components it
// has, and in which order commands have listed the rest, is of the project. What is not there any more goes off the
// lists.
func (u *upgrade) listed(name string, there, theirs []byte) ([]byte, error) {
	if path.Base(name) != "kustomization.yaml" || there == nil {
		return theirs, nil
	}
	var err error
	for _, list := range []string{"resources", "components"} {
		at := []string{list}
		var wanted []string
		for _, item := range templated.ItemsOf(there, list) {
			if target := path.Join(path.Dir(name), item); slices.Contains(templated.ItemsOf(theirs, list), item) || u.exists(target) {
				wanted = append(wanted, item)
				if theirs, err = edit.EnsureListItem(theirs, name, at, item); err != nil {
					return nil, err
				}
			}
		}
		items := templated.ItemsOf(theirs, list)
		for _, item := range items {
			if !slices.Contains(wanted, item) {
				wanted = append(wanted, item)
			}
		}
		if slices.Equal(items, wanted) || len(items) != len(wanted) {
			continue
		}
		for i, item := range items {
			theirs, err = edit.ReplaceListItem(theirs, name, at, item, fmt.Sprintf("%d.kctrl", i))
			if err != nil {
				return nil, err
			}
		}
		for i, item := range wanted {
			theirs, err = edit.ReplaceListItem(theirs, name, at, fmt.Sprintf("%d.kctrl", i), item)
			if err != nil {
				return nil, err
			}
		}
	}
	return theirs, nil
}

// exists reports whether the project has a file, or a folder with a kustomization.
func (u *upgrade) exists(target string) bool {
	if _, found, err := templated.Kustomization(u.plan, target); found && err == nil {
		return true
	}
	_, err := u.plan.Read(target)
	return err == nil
}

const compareHint = "compare it with what kctrl writes in a new project, and take over what you want"

const compareThemHint = "compare them with what kctrl init and create write in an empty folder, and take over what you want"

func orDevel(version string) string {
	if version == "" {
		return "devel"
	}
	return version
}

func (u *upgrade) note(name string, line int, message, hint string) {
	u.plan.Note(&diagnostic.Error{Pos: token.Position{Filename: name, Line: line}, Message: message, Hint: hint})
}

// gone takes away what kctrl wrote once and writes no more, unless the user has edited it.
func (u *upgrade) gone() error {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
	for entry := range lock.All() {
		if _, now := u.now.Lock.Entry(entry.Path); now || sync.IsFollowing(entry.Path, entry.Template) || !strings.HasPrefix(entry.Template, "project/") {
			continue
		}
		text, err := u.plan.Read(entry.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if lock.Touched(entry.Path, text) {
			u.note(entry.Path, 0, "has been edited, and kctrl writes no such file any more, so it is kept", "delete it if you do not need it")
			continue
		}
		if err := u.plan.Delete(entry.Path, plan.Own); err != nil {
			return err
		}
	}
	return nil
}

// runtime brings the bundled runtime to that of this kctrl.
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
		if err := u.plan.Delete(name, plan.Own); err != nil {
			return err
		}
	}
	return errors.Join(templated.RenderAll(u.plan, gomod.BundledModules(), templates.ModuleView{Repo: u.project.Repo}, true), gomod.WriteBundle(u.plan))
}

// modules raises the modules that kctrl pins, adds those that are new, and the go version: of the project, and of its
// API packages if they are a module of their own.
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
