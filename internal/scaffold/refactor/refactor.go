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

// Refactoring moves and renames the parts of a project whose kinds get new names or paths. It finds the changes by
// comparing the files that kctrl writes before and after.
type Refactoring struct {
	plan          *plan.Plan
	before, after *project.Project
	// was and becomes are the rendered project, before and after.
	was, becomes render.Tree
	// sources are the Go files before the change, and declared has the file that declares a name.
	sources  []gosource.GoSource
	declared map[gosource.GoName]string
	// moved has the new paths of files. dirs has the new directories of packages; a package has several if its files move
	// to different directories.
	moved map[string]string
	dirs  map[string][]string
	// others are files of the user that move and are not Go files of the project.
	others []string
	// renamed has the new names of package-level declarations, by directory and old name. aliases has the names under
	// which files import a package, and packages has the package names, both by directory for both states. locals has the
	// new names of variables in kctrl's files.
	renamed           map[gosource.GoName]string
	aliases, packages map[string][2]string
	locals            map[string]string
	// fields has the uses of fields that are named after an embedded type, as the name of the type by file and offset.
	fields map[string]map[int]gosource.GoName
	// words has replacements, such as API groups, for words in markers and for whole string literals. literals has
	// replacements for words in the string literals of kctrl's files, such as kinds and field owners.
	words, literals map[string]string
	// versions has the new names of versions, by group and old name.
	versions map[[2]string]string
	// controllers has the new names of controllers, as the code passes them to builders.
	controllers map[string]string
	// namespace is the namespace in RBAC markers before and after; "" means no namespace.
	namespace [2]string
}

// Find returns the moves and renames between two states of a project, which have the same kinds in the same order.
func Find(p *plan.Plan, before, after *project.Project, was, becomes render.Tree) (*Refactoring, error) {
	sources, err := gosource.GoSources(p, before)
	if err != nil {
		return nil, err
	}
	r := &Refactoring{
		plan: p, before: before, after: after, was: was, becomes: becomes, sources: sources,
		declared: map[gosource.GoName]string{},
		moved:    map[string]string{}, dirs: map[string][]string{}, renamed: map[gosource.GoName]string{},
		aliases: map[string][2]string{}, packages: map[string][2]string{}, locals: map[string]string{},
		words: map[string]string{}, literals: map[string]string{}, versions: map[[2]string]string{},
		controllers: map[string]string{},
	}
	for _, s := range sources {
		for _, name := range s.Declares() {
			r.declared[name] = s.Name
		}
	}
	for i, proj := range []*project.Project{before, after} {
		if proj.Namespaced {
			r.namespace[i] = templates.Namespace(proj.Name)
		}
	}
	r.findNames()
	return r, plan.InOrder(r.findMoves, r.findRenamed, r.findFields, r.moveOthers, r.checkDeclared, r.moveBeside)
}

// Moved returns the new paths of files.
func (r *Refactoring) Moved() map[string]string { return r.moved }

// Write plans the changes that follow from the changes of kctrl's files: changes of the user's files, the modules and
// the manifests.
func (r *Refactoring) Write() error {
	return plan.InOrder(r.noteScaffolded, r.writeOthers, r.writeModule, r.rewriteManifests, r.moveAPIModule, r.noteRepo,
		r.noteDeployed)
}

// noteScaffolded notes relative paths in kctrl's files that move and that the user has edited.
func (r *Refactoring) noteScaffolded() error {
	lock := r.plan.Lock()
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

// writeModule plans the new module path in go.mod.
func (r *Refactoring) writeModule() error {
	if r.before.Repo == r.after.Repo {
		return nil
	}
	if err := gomod.RenameAPIModules(r.plan, r.before, r.after); err != nil {
		return err
	}
	file, err := gomod.ReadModule(r.plan, ".")
	if err != nil {
		return err
	}
	if err := file.AddModuleStmt(r.after.Repo); err != nil {
		return err
	}
	return r.plan.Edit(layout.GoModFile, modfile.Format(file.Syntax))
}

// moveAPIModule plans to create or remove the module of the API packages.
func (r *Refactoring) moveAPIModule() error {
	switch {
	case r.before.APIModule == r.after.APIModule:
		return nil
	case r.after.APIModule:
		return errors.Join(gomod.WriteAPIModule(r.plan, r.after), gomod.FollowImports(r.plan, r.after))
	}
	return errors.Join(gomod.RemoveAPIModule(r.plan, r.after), gomod.FollowImports(r.plan, r.after))
}
