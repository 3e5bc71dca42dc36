package refactor

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// findNames sets the changed names of groups, kinds and versions, and of the Go identifiers that derive from them.
func (r *Refactoring) findNames() {
	if from, to := templates.Namespace(r.before.Name), templates.Namespace(r.after.Name); from != to {
		r.words[from] = to
	}
	for i, old := range r.before.Resources {
		now := r.after.Resources[i]
		if old.Path != "" {
			continue
		}
		for from, to := range map[string]string{
			old.APIGroup(): now.APIGroup(), old.Plural: now.Plural, old.Kind: now.Kind,
			old.APIGroup() + "/" + old.Version: now.APIGroup() + "/" + now.Version,
			old.Plural + "." + old.APIGroup():  now.Plural + "." + now.APIGroup(),
		} {
			if from != to {
				r.words[from] = to
			}
		}
		if old.Version != now.Version {
			r.versions[[2]string{old.APIGroup(), old.Version}] = now.Version
		}
		was, becomes := layout.KindView(r.before, old, ""),
			layout.KindView(r.after, now, "")
		r.aliases[was.Folder] = [2]string{was.Alias, becomes.Alias}
		r.packages[was.Folder] = [2]string{was.Package, becomes.Package}
		for from, to := range map[string]string{was.Kind: becomes.Kind, was.FieldOwner: becomes.FieldOwner} {
			if from != to {
				r.literals[from] = to
			}
		}
		if was.ControllerName != becomes.ControllerName {
			r.controllers[was.ControllerName] = becomes.ControllerName
		}
		if was.Variable != becomes.Variable {
			r.locals[was.Variable] = becomes.Variable
		}
	}
}

// findRenamed sets the changed names of declarations in kctrl's files. It matches the declarations of both states by
// position.
func (r *Refactoring) findRenamed() error {
	for _, f := range r.was.Files() {
		becomes, found := r.becomes.File(r.newPath(f.Path))
		if path.Ext(f.Path) != ".go" || f.Owner == plan.Generated || !found || f.Content == nil || becomes.Content == nil {
			continue
		}
		old, ok := gosource.ParseSource(f.Path, f.Content)
		now, parsed := gosource.ParseSource(f.Path, becomes.Content)
		if !ok || !parsed {
			continue
		}
		from, to := old.Declares(), now.Declares()
		for i := range min(len(from), len(to)) {
			if from[i].Name != to[i].Name {
				r.renamed[from[i]] = to[i].Name
			}
		}
	}
	return nil
}

// findFields finds the uses of fields that are named after an embedded type and therefore change with the type's name.
func (r *Refactoring) findFields() error {
	if len(r.renamed) > 0 {
		r.fields = gosource.TypeChecked(r.sources, r.before.Repo, nil).EmbeddedFields()
	}
	return nil
}

// checkDeclared rejects names that a package would declare twice, because the user already declares a new name or
// because two packages that are merged both declare it.
func (r *Refactoring) checkDeclared() error {
	type declaration struct {
		was        gosource.GoName
		file       string
		at         token.Position
		scaffolded bool
	}
	taken := map[gosource.GoName]declaration{}
	var errs []error
	for _, s := range r.sources {
		if !s.IsBuilt() {
			continue
		}
		written := r.writtenNames(s.Name)
		for _, ident := range gosource.PackageNames(s.File) {
			one := declaration{gosource.GoName{Pkg: s.Pkg(), Name: ident.Name}, s.Name, s.Position(ident.Pos()),
				slices.Contains(written, ident.Name)}
			becomes := gosource.GoName{
				Pkg:  gosource.GoPackage{Folder: path.Dir(r.newPath(s.Name)), External: one.was.Pkg.External},
				Name: cmp.Or(r.renamed[one.was], ident.Name),
			}
			other, found := taken[becomes]
			switch {
			case ident.Name == "_" || ident.Name == "init":
				continue
			case !found:
				taken[becomes] = one
				continue
			case other.was == one.was || other.scaffolded && one.scaffolded:
				continue
			case one.scaffolded:
				one, other = other, one
			}
			errs = append(errs, diagnostic.At(one.at,
				fmt.Sprintf("%s is declared here, and a name that %s declares would clash with it in the "+"same package",
					becomes.Name, other.file),
				"rename one of the two first"))
		}
	}
	return errors.Join(errs...)
}

// writtenNames returns the names that kctrl declares in a file.
func (r *Refactoring) writtenNames(name string) []string {
	s, ok := gosource.ParseSource(name, r.was.Contents[name])
	if !ok {
		return nil // it is a file of the user
	}
	var names []string
	for _, declared := range s.Declares() {
		names = append(names, declared.Name)
	}
	return names
}
