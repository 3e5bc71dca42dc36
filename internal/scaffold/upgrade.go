package scaffold

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// UpgradeOptions say how to bring a project to the templates and the runtime of this kctrl.
type UpgradeOptions struct {
	// Base returns a content that a file once had, by its SHA-256 in hexadecimal, as PROJECT.lock has it: from version control. It is
	// what edits are merged from.
	Base func(name, sha256 string) ([]byte, bool)
	// Kctrl is the kctrl whose templates and runtime the project gets.
	Kctrl Build
}

// startingPoints are the templates of files that are their authors' to go on with: what they have become by flags, fields or hand, no
// template says. Upgrades leave them alone.
var startingPoints = []string{
	"kind/api/", "kind/config/samples/", "controller/", "admission/", "conversion/", "version/api/version/groupversion_info.go", "license/", "restated/",
}

// PlanUpgrade plans that a project has what this kctrl writes: files that nobody has edited become those of today, edited ones are merged
// from what kctrl wrote once, with the conflict markers of git where both have changed the same lines, and noted; the bundled runtime and
// the modules that kctrl pins become those of this kctrl, unless they are newer.
func PlanUpgrade(fsys fs.FS, proj *project.Project, opts UpgradeOptions) (*plan.Plan, error) {
	p := plan.New(fsys)
	if err := rebuildLock(p, proj, opts.Kctrl); err != nil {
		return nil, err
	}
	header, err := p.Read(boilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	u := &upgrade{plan: p, project: proj, options: opts}
	if u.lock, u.now, err = replay(proj, opts.Kctrl, header); err != nil {
		return nil, err
	}
	for _, step := range []func() error{u.files, u.gone, u.runtime, u.modules} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	proj.Kctrl = opts.Kctrl.Name()
	return p, errors.Join(deployWebhooks(p, proj), writeRegistration(p, proj), writeProject(p, proj))
}

// upgrade brings a project to the files of now.
type upgrade struct {
	plan    *plan.Plan
	project *project.Project
	options UpgradeOptions
	now     fs.FS
	lock    *project.Lock // of now
}

func isUpgraded(e project.LockEntry) bool {
	return !isFollowing(e.Path, e.Template) && !slices.ContainsFunc(startingPoints, func(prefix string) bool { return strings.HasPrefix(e.Template, prefix) })
}

// isUsers reports whether a template is written once, and then is the user's.
func isUsers(id string) bool {
	for _, t := range templates.Project() {
		if t.ID == id {
			return t.Ownership == templates.Users
		}
	}
	return strings.HasSuffix(id, "/kustomization.yaml") && (strings.HasPrefix(id, "kind/") || strings.HasPrefix(id, "webhook/config/webhook/"))
}

// files brings the files of now into the project.
func (u *upgrade) files() error {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
	for entry := range u.lock.All() {
		if !isUpgraded(entry) || isUsers(entry.Template) {
			continue
		}
		theirs, err := fs.ReadFile(u.now, entry.Path)
		if err != nil {
			return err
		}
		old, known := lock.Entry(entry.Path)
		ours, err := u.plan.Read(entry.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && known:
			continue // taken away by the user
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case known && !lock.Touched(entry.Path, theirs):
			continue // the template is as it was
		case !known && ours != nil:
			u.note(entry.Path, 0, "is not kctrl's here, and kctrl writes a file of that name", "compare it with what kctrl init writes in a new folder")
			continue
		case ours == nil, !lock.Touched(entry.Path, ours):
			if err := u.plan.WriteFile(plan.File{Path: entry.Path, Content: theirs, Template: entry.Template, Policy: plan.Own}); err != nil {
				return err
			}
			continue
		}
		if err := u.merge(old, ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

// merge plans a file that the user has edited.
func (u *upgrade) merge(old project.LockEntry, ours, theirs []byte) error {
	base, found := u.options.Base(old.Path, old.SHA256)
	if !found {
		u.note(old.Path, 0, "has been edited, and no version of it in git is what kctrl wrote, so that nothing can be merged",
			"compare it with what kctrl init writes in a new folder, and take over what you want")
		return nil
	}
	labels := edit.Labels{Ours: "yours", Base: "kctrl " + orDevel(u.project.Kctrl), Theirs: "kctrl " + u.options.Kctrl.Name()}
	merged, conflicts := edit.Merge(base, ours, theirs, labels)
	for _, line := range conflicts {
		u.note(old.Path, line, "has a conflict: you and kctrl have changed the same lines", "choose between the lines, and take the markers out")
	}
	if err := u.plan.WriteFile(plan.File{Path: old.Path, Content: merged, Policy: plan.Own}); err != nil {
		return err
	}
	lock, _, err := u.plan.Lock()
	if err == nil {
		lock.Record(old.Path, theirs, old.Template)
	}
	return err
}

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
		if _, now := u.lock.Entry(entry.Path); now || !isUpgraded(entry) || !strings.HasPrefix(entry.Template, "project/") {
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
	if u.project.Runtime == project.Module || !replacesRuntime(u.plan) {
		return nil
	}
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
	names, err := bundledSource()
	if err != nil {
		return err
	}
	is := map[string]bool{}
	for _, name := range names {
		is[path.Join(bundleFolder, name)] = true
	}
	for _, t := range bundledModules() {
		is[t.Path(templates.ModuleView{})] = true
	}
	var old []string
	for entry := range lock.All() {
		if strings.HasPrefix(entry.Path, bundleFolder+"/") && !is[entry.Path] {
			old = append(old, entry.Path)
		}
	}
	for _, name := range old {
		if err := u.plan.Delete(name, plan.Own); err != nil {
			return err
		}
	}
	return errors.Join(renderAll(u.plan, bundledModules(), templates.ModuleView{Repo: u.project.Repo}, true), writeBundle(u.plan))
}

// modules raises the modules that kctrl pins, adds those that are new, and the go version.
func (u *upgrade) modules() error {
	now, err := fs.ReadFile(u.now, goModFile)
	if err != nil {
		return err
	}
	wanted, err := modfile.Parse("new "+goModFile, now, nil)
	if err != nil {
		return err
	}
	changed := false
	err = editRequirements(u.plan, func(file *modfile.File) bool {
		for _, w := range wanted.Require {
			at := requirement(file, w.Mod.Path)
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
		if file.Go != nil && wanted.Go != nil && semver.Compare("v"+file.Go.Version, "v"+wanted.Go.Version) < 0 {
			changed = file.AddGoStmt(wanted.Go.Version) == nil || changed
		}
		return changed
	})
	if err != nil {
		return err
	}
	sums, err := fs.ReadFile(u.now, "go.sum")
	if err != nil || bytes.Equal(sums, nil) {
		return err
	}
	return addSums(u.plan, sums)
}
