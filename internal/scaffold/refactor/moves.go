package refactor

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
)

// findMoves says where the files of the kinds go.
func (r *Refactoring) findMoves() error {
	target := map[string]string{}
	for _, f := range r.becomes.Files() {
		target[f.ID] = f.Path
	}
	taken := map[string]string{}
	for _, f := range r.was.Files() {
		to, found := target[f.ID]
		if !found || f.ID == "" || f.Kustomization {
			continue
		}
		from, dir := path.Dir(f.Path), path.Dir(to)
		if path.Ext(f.Path) == ".go" && !slices.Contains(r.folders[from], dir) {
			r.folders[from] = append(r.folders[from], dir)
		}
		if to == f.Path {
			continue
		}
		if other := taken[to]; other != "" {
			return &diagnostic.Error{
				Pos: token.Position{Filename: f.Path}, Message: fmt.Sprintf("and %s would both become %s", other, to), Hint: "rename or delete one of the two first",
			}
		}
		taken[to], r.moved[f.Path] = f.Path, to
	}
	return nil
}

// moveOthers moves what a user has beside the parts of a package that moves, with those that use it.
func (r *Refactoring) moveOthers() error {
	sources, err := gosource.GoSources(r.plan, r.before)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range sources {
		folder := path.Dir(s.Name)
		targets := r.folders[folder]
		_, scaffolded := r.was.Lock.Entry(s.Name)
		if scaffolded || len(targets) == 0 || r.moved[s.Name] != "" {
			continue
		}
		if len(targets) > 1 {
			if targets = r.targetsOf(s, sources); len(targets) != 1 {
				errs = append(errs, &diagnostic.Error{
					Pos:     token.Position{Filename: s.Name},
					Message: fmt.Sprintf("belongs to a package whose files go to %s", strings.Join(r.folders[folder], " and ")),
					Hint:    "move it to a package of its own first",
				})
				continue
			}
		}
		if targets[0] != folder {
			r.moved[s.Name] = path.Join(targets[0], path.Base(s.Name))
		}
	}
	return errors.Join(errs...)
}

// moveBeside moves what packages that move have beside their Go files, such as what these embed and their testdata,
// and what other generators have written. Of packages whose files go to different folders kctrl does not know who
// needs it.
func (r *Refactoring) moveBeside() error {
	sources, err := gosource.GoSources(r.plan, r.before)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, s := range sources {
		known[s.Name] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(r.folders)) {
		targets := r.folders[folder]
		if len(targets) == 1 && targets[0] == folder {
			continue
		}
		beside, err := r.beside(folder, known)
		if err != nil {
			return err
		}
		for _, name := range beside {
			if len(targets) > 1 {
				r.plan.Note(&diagnostic.Error{
					Pos:     token.Position{Filename: name},
					Message: fmt.Sprintf("is beside files that go to %s, and is kept where it is", strings.Join(targets, " and ")),
					Hint:    "move it to those that need it",
				})
				continue
			}
			to := path.Join(targets[0], strings.TrimPrefix(name, folder+"/"))
			r.moved[name] = to
			r.others = append(r.others, name)
		}
	}
	return nil
}

// beside returns the files of a package that are neither known nor kctrl's, in order: those of its folder, and of the
// folders below that have no package.
func (r *Refactoring) beside(folder string, known map[string]bool) ([]string, error) {
	lock, _, err := r.plan.Lock()
	if err != nil {
		return nil, err
	}
	var names []string
	err = fs.WalkDir(r.plan.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return fs.SkipDir // planned, and not there yet
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.IsDir() && name != folder && r.isPackage(folder, name):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		_, scaffolded := r.was.Lock.Entry(name)
		_, ours := lock.Entry(name)
		if scaffolded || ours || known[name] || r.moved[name] != "" {
			return nil
		}
		if !entry.Type().IsRegular() {
			r.plan.Note(&diagnostic.Error{
				Pos:     token.Position{Filename: name},
				Message: fmt.Sprintf("is a link or the like beside files that go to %s, and is kept where it is", strings.Join(r.folders[folder], " and ")),
				Hint:    "move it to those that need it",
			})
			return nil
		}
		_, err = r.plan.Read(name)
		if err == nil {
			names = append(names, name)
		}
		if errors.Is(err, fs.ErrNotExist) { // goes away
			err = nil
		}
		return err
	})
	return names, err
}

// isPackage reports whether a folder below that of a package is one, or has any: the go command looks for none in
// testdata.
func (r *Refactoring) isPackage(folder, name string) bool {
	if slices.Contains(strings.Split(strings.TrimPrefix(name, folder+"/"), "/"), "testdata") {
		return false
	}
	found := false
	_ = fs.WalkDir(r.plan.FS(), name, func(below string, entry fs.DirEntry, err error) error { // what cannot be read is told of by who walks there
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path.Base(below) == "testdata":
			return fs.SkipDir
		case path.Ext(below) == ".go" || path.Base(below) == layout.GoModFile:
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// noteRelative notes the first relative path in a Go file that kctrl has not written and that means another file now.
func (r *Refactoring) noteRelative(from, to string, text, written []byte) {
	if strings.Count(from, "/") == strings.Count(to, "/") {
		return
	}
	s, ok := gosource.ParseSource(from, text)
	if !ok {
		return
	}
	noted := false
	ast.Inspect(s.File, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || noted || lit.Kind != token.STRING {
			return !noted
		}
		said, err := strconv.Unquote(lit.Value)
		isRelative := err == nil && (said == ".." || strings.HasPrefix(said, "../"))
		if isRelative && !bytes.Contains(written, []byte(lit.Value)) {
			noted = true
			at := s.Set.PositionFor(lit.Pos(), false)
			at.Filename = to
			r.plan.Note(&diagnostic.Error{
				Pos: at, Message: fmt.Sprintf("%s is another folder from here than it was from %s", lit.Value, path.Dir(from)), Hint: "change it, and others in this file, if it is the path of a file",
			})
		}
		return true
	})
}

// targetsOf returns the folders to which files go that a file of the same package uses, or is used by.
func (r *Refactoring) targetsOf(s gosource.GoSource, sources []gosource.GoSource) []string {
	declared := map[gosource.GoName]string{}
	for _, o := range sources {
		for _, name := range o.Declares() {
			declared[name] = o.Name
		}
	}
	found := map[string]bool{}
	note := func(name string) {
		if to := r.moved[name]; to != "" && path.Dir(name) == path.Dir(s.Name) {
			found[path.Dir(to)] = true
		}
	}
	for _, o := range sources {
		for _, u := range o.Uses(r.before.Repo) {
			switch owner := declared[u.GoName]; {
			case o.Name == s.Name:
				note(owner)
			case owner == s.Name:
				note(o.Name)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// newPath returns where a file goes.
func (r *Refactoring) newPath(name string) string {
	if to := r.moved[name]; to != "" {
		return to
	}
	return name
}

// folderOfName returns the folder that the file goes to which declares a name.
func (r *Refactoring) folderOfName(name gosource.GoName) string {
	for old, to := range r.moved {
		if path.Dir(old) != name.Pkg.Folder || path.Ext(old) != ".go" {
			continue
		}
		text, err := fs.ReadFile(r.plan.FS(), old)
		if err != nil {
			continue
		}
		if s, ok := gosource.ParseSource(old, text); ok && slices.Contains(s.Declares(), name) {
			return path.Dir(to)
		}
	}
	return name.Pkg.Folder
}
