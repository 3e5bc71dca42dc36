package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// findMoves says where the parts of the project go.
func (r *restatement) findMoves() error {
	target := map[string]string{}
	for _, part := range partsOf(r.after) {
		target[part.id] = part.path
	}
	taken := map[string]string{}
	for _, part := range partsOf(r.before) {
		to, found := target[part.id]
		if !found || part.kustomization {
			continue
		}
		if path.Ext(part.path) == ".go" && !slices.Contains(r.folders[path.Dir(part.path)], path.Dir(to)) {
			r.folders[path.Dir(part.path)] = append(r.folders[path.Dir(part.path)], path.Dir(to))
		}
		if to == part.path {
			continue
		}
		if other := taken[to]; other != "" {
			return &diagnostic.Error{
				Pos: token.Position{Filename: part.path}, Message: fmt.Sprintf("and %s would both become %s", other, to), Hint: "rename or delete one of the two first",
			}
		}
		taken[to], r.moved[part.path] = part.path, to
		if part.generated {
			if err := r.plan.Delete(part.path, plan.Own); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveOthers moves what a user has beside the parts of a package that moves, with those that use it.
func (r *restatement) moveOthers() error {
	sources, err := goSources(r.plan, r.before)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range sources {
		folder := path.Dir(s.name)
		targets := r.folders[folder]
		_, scaffolded := r.was.lock.Entry(s.name)
		if scaffolded || len(targets) == 0 || r.moved[s.name] != "" {
			continue
		}
		if len(targets) > 1 {
			if targets = r.targetsOf(s, sources); len(targets) != 1 {
				errs = append(errs, &diagnostic.Error{
					Pos:     token.Position{Filename: s.name},
					Message: fmt.Sprintf("belongs to a package whose files go to %s", strings.Join(r.folders[folder], " and ")),
					Hint:    "move it to a package of its own first",
				})
				continue
			}
		}
		if targets[0] != folder {
			r.moved[s.name] = path.Join(targets[0], path.Base(s.name))
		}
	}
	return errors.Join(errs...)
}

// targetsOf returns the folders to which files go that a file of the same package uses, or is used by.
func (r *restatement) targetsOf(s goSource, sources []goSource) []string {
	declared := map[goName]string{}
	for _, o := range sources {
		for _, name := range o.declares() {
			declared[name] = o.name
		}
	}
	found := map[string]bool{}
	note := func(name string) {
		if to := r.moved[name]; to != "" && path.Dir(name) == path.Dir(s.name) {
			found[path.Dir(to)] = true
		}
	}
	for _, o := range sources {
		for _, u := range o.uses(r.before.Repo) {
			switch owner := declared[u.goName]; {
			case o.name == s.name:
				note(owner)
			case owner == s.name:
				note(o.name)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// newPath returns where a file goes.
func (r *restatement) newPath(name string) string {
	if to := r.moved[name]; to != "" {
		return to
	}
	return name
}

// folderOfName returns the folder that the file goes to which declares a name.
func (r *restatement) folderOfName(name goName) string {
	for old, to := range r.moved {
		if path.Dir(old) != name.pkg.folder || path.Ext(old) != ".go" {
			continue
		}
		text, err := fs.ReadFile(r.plan.FS(), old)
		if err != nil {
			continue
		}
		if s, ok := parseSource(old, text); ok && slices.Contains(s.declares(), name) {
			return path.Dir(to)
		}
	}
	return name.pkg.folder
}

// occupied is the error of a file whose new place another has.
func occupied(from, to string) error {
	return &diagnostic.Error{Pos: token.Position{Filename: from}, Message: "would become " + to + ", which is there", Hint: "rename one of the two first"}
}
