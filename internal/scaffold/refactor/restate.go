package refactor

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
)

// restatement brings a project from one state to another that has the same kinds, in the same order, under other
// names or in other places. What kctrl writes for both states says what changes; in files that the user has edited it
// is merged.
type restatement struct {
	plan          *plan.Plan
	before, after *project.Project
	// was and becomes are the project as kctrl would write it, in both states.
	was, becomes render.Tree
	// moved has the new paths of files, folders those of packages: several if the files of one go to different ones.
	moved   map[string]string
	folders map[string][]string
	// others are files of the user's that move and are no Go of the project's.
	others []string
	// renamed has new names of what packages declare, by folder and old name; aliases those that files import packages
	// under, by the folder; packages those of packages themselves; locals those of variables in what kctrl writes.
	renamed           map[gosource.GoName]string
	aliases, packages map[string][2]string
	locals            map[string]string
	// fields has where files use fields that are called as the types which they embed: these types, by file and offset.
	fields map[string]map[int]gosource.GoName
	// words has what replaces whole words in markers and, as a whole, string literals: API groups and the like. said has
	// what does in string literals of files that kctrl writes: kinds, and the names that controllers own fields by.
	words, said map[string]string
	// controllers has new names of controllers, as builders are given them.
	controllers map[string]string
	// namespace is what RBAC markers name: "" for none, of both states.
	namespace [2]string
	force     bool
	history   sync.History
}

// Restate plans that a project comes from one state into another. header is what Go files begin with then.
func Restate(p *plan.Plan, before, after *project.Project, kctrl project.Build, header []byte, force bool, history sync.History) error {
	old, err := p.Read(layout.BoilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r := &restatement{
		plan: p, before: before, after: after, moved: map[string]string{}, folders: map[string][]string{}, renamed: map[gosource.GoName]string{},
		aliases: map[string][2]string{}, packages: map[string][2]string{}, locals: map[string]string{},
		words: map[string]string{}, said: map[string]string{}, controllers: map[string]string{}, force: force, history: history,
	}
	if err := r.replay(kctrl, old, header); err != nil {
		return err
	}
	for i, proj := range []*project.Project{before, after} {
		if proj.Namespaced {
			r.namespace[i] = templates.Namespace(proj.Name)
		}
	}
	r.findNames()
	if err := p.WriteFile(plan.File{Path: layout.BoilerplateFile, Content: header, Policy: plan.Edit}); err != nil {
		return err
	}
	return plan.InOrder(
		r.findMoves, r.findRenamed, r.findFields, r.moveOthers, r.checkDeclared, r.moveBeside, r.writeScaffolded, r.writeOthers, r.writeModule, r.rewriteManifests,
		r.moveAPIModule, r.noteRepo,
		func() error { return render.DeployWebhooks(p, after) },
		func() error { return render.WriteRegistration(p, after) },
		func() error { return templated.WriteProject(p, after) },
		r.bases().Drop,
	)
}

// replay makes the project in both states. What kctrl cannot make again in the first is the user's, in both; what it
// could there, and not in the second, would be lost. Flags by which a part cannot be made again are not counted, so
// that what follows from them is the user's too.
func (r *restatement) replay(kctrl project.Build, old, header []byte) error {
	before, after := r.before.Blank(), r.after.Blank()
	before.Resources, after.Resources = slices.Clone(r.before.Resources), slices.Clone(r.after.Resources)
	env, err := render.EnvOf(r.plan, old, kctrl)
	if err != nil {
		return err
	}
	for {
		if r.was, err = render.Render(before, env); err != nil {
			return err
		}
		forgotten := false
		for _, f := range r.was.Failed {
			flags := f.Flags(&before.Resources[f.Resource])
			forgotten = forgotten || flags != nil && len(*flags) > 0
			if flags != nil {
				*flags, *f.Flags(&after.Resources[f.Resource]) = nil, nil
			}
		}
		if !forgotten {
			break
		}
	}
	if env, err = render.EnvOf(r.plan, header, kctrl); err != nil {
		return err
	}
	env.Skip = r.was.Failed
	if r.becomes, err = render.Render(after, env); err != nil {
		return err
	}
	var errs []error
	for _, f := range r.becomes.Failed {
		errs = append(errs, f.Err)
	}
	return errors.Join(errs...)
}

// writeModule plans the module path that go.mod says.
func (r *restatement) writeModule() error {
	if r.before.Repo == r.after.Repo {
		return nil
	}
	if err := gomod.RenameAPIModules(r.plan, r.before, r.after); err != nil {
		return err
	}
	text, err := r.plan.Read(layout.GoModFile)
	if err != nil {
		return layout.MissingFile(layout.GoModFile, err, "kctrl works on Go modules: restore it")
	}
	file, err := gomod.ParseGoMod(text)
	if err != nil {
		return err
	}
	if err := file.AddModuleStmt(r.after.Repo); err != nil {
		return err
	}
	return r.plan.WriteFile(plan.File{Path: layout.GoModFile, Content: modfile.Format(file.Syntax), Policy: plan.Edit})
}

// moveAPIModule plans that the API packages are in a module of their own, or no more.
func (r *restatement) moveAPIModule() error {
	switch {
	case r.before.APIModule == r.after.APIModule:
		return nil
	case r.after.APIModule:
		return errors.Join(gomod.WriteAPIModule(r.plan, r.after), gomod.FollowImports(r.plan, r.after))
	}
	return errors.Join(gomod.RemoveAPIModule(r.plan, r.after), gomod.FollowImports(r.plan, r.after))
}
