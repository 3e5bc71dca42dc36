package refactor

import (
	"errors"
	"path"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
)

// Refactoring moves and renames what a project consists of, whose kinds get other names or other places. What kctrl
// writes before and after says what changes.
type Refactoring struct {
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
}

// Find returns what moves and what gets another name when a project comes from one state into another, which has the
// same kinds in the same order.
func Find(p *plan.Plan, before, after *project.Project, was, becomes render.Tree) (*Refactoring, error) {
	r := &Refactoring{
		plan: p, before: before, after: after, was: was, becomes: becomes,
		moved: map[string]string{}, folders: map[string][]string{}, renamed: map[gosource.GoName]string{},
		aliases: map[string][2]string{}, packages: map[string][2]string{}, locals: map[string]string{},
		words: map[string]string{}, said: map[string]string{}, controllers: map[string]string{},
	}
	for i, proj := range []*project.Project{before, after} {
		if proj.Namespaced {
			r.namespace[i] = templates.Namespace(proj.Name)
		}
	}
	r.findNames()
	return r, plan.InOrder(r.findMoves, r.findRenamed, r.findFields, r.moveOthers, r.checkDeclared, r.moveBeside)
}

// Moved has the new paths of files.
func (r *Refactoring) Moved() map[string]string { return r.moved }

// Write plans what follows once the files are written that kctrl writes: the user's own files, the modules and the
// manifests.
func (r *Refactoring) Write() error {
	return plan.InOrder(r.noteScaffolded, r.writeOthers, r.writeModule, r.rewriteManifests, r.moveAPIModule, r.noteRepo)
}

// noteScaffolded notes relative paths in files of kctrl's that the user has edited and that have moved.
func (r *Refactoring) noteScaffolded() error {
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	for _, f := range r.was.Files() {
		to := r.newPath(f.Path)
		if to == f.Path || path.Ext(to) != ".go" || f.Owner == plan.Generated {
			continue
		}
		c, err := r.plan.Lookup(to)
		if err != nil {
			return err
		}
		becomes, _ := r.becomes.File(to)
		if _, known := lock.Entry(to); known && c.After != nil && lock.Touched(to, c.After) {
			r.noteRelative(f.Path, to, c.After, becomes.Content)
		}
	}
	return nil
}

// writeModule plans the module path that go.mod says.
func (r *Refactoring) writeModule() error {
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
	return r.plan.Edit(layout.GoModFile, modfile.Format(file.Syntax))
}

// moveAPIModule plans that the API packages are in a module of their own, or no more.
func (r *Refactoring) moveAPIModule() error {
	switch {
	case r.before.APIModule == r.after.APIModule:
		return nil
	case r.after.APIModule:
		return errors.Join(gomod.WriteAPIModule(r.plan, r.after), gomod.FollowImports(r.plan, r.after))
	}
	return errors.Join(gomod.RemoveAPIModule(r.plan, r.after), gomod.FollowImports(r.plan, r.after))
}
