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

// findMoves sets the new paths of the kinds' files.
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
		if path.Ext(f.Path) == ".go" && !slices.Contains(r.dirs[from], dir) {
			r.dirs[from] = append(r.dirs[from], dir)
		}
		if to == f.Path {
			continue
		}
		if other := taken[to]; other != "" {
			return diagnostic.In(f.Path, fmt.Sprintf("and %s would both become %s", other, to),
				"rename or delete one of the two first")
		}
		taken[to], r.moved[f.Path] = f.Path, to
	}
	return nil
}

// moveOthers sets the new paths of the user's Go files in packages that move. A file moves with the files that use it.
func (r *Refactoring) moveOthers() error {
	var errs []error
	for _, s := range r.sources {
		folder := path.Dir(s.Name)
		targets := r.dirs[folder]
		_, scaffolded := r.was.Lock.Entry(s.Name)
		if scaffolded || len(targets) == 0 || r.moved[s.Name] != "" {
			continue
		}
		if len(targets) > 1 {
			if targets = r.targetsOf(s); len(targets) != 1 {
				errs = append(errs, diagnostic.In(s.Name,
					fmt.Sprintf("belongs to a package whose files go to %s", strings.Join(r.dirs[folder], " and ")),
					"move it to a package of its own first"))
				continue
			}
		}
		if targets[0] != folder {
			r.moved[s.Name] = path.Join(targets[0], path.Base(s.Name))
		}
	}
	return errors.Join(errs...)
}

// moveBeside sets the new paths of other files in packages that move, such as embedded files, testdata, and the output
// of other generators. If the Go files of a package move to several directories, kctrl cannot know which of these
// directories needs a file, and adds a note.
func (r *Refactoring) moveBeside() error {
	known := map[string]bool{}
	for _, s := range r.sources {
		known[s.Name] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(r.dirs)) {
		targets := r.dirs[folder]
		if len(targets) == 1 && targets[0] == folder {
			continue
		}
		beside, err := r.beside(folder, known)
		if err != nil {
			return err
		}
		for _, name := range beside {
			if len(targets) > 1 {
				r.plan.Note(diagnostic.In(name,
					fmt.Sprintf("is beside files that go to %s, and is kept where it is", strings.Join(targets, " and ")),
					"move it to those that need it"))
				continue
			}
			to := path.Join(targets[0], strings.TrimPrefix(name, folder+"/"))
			r.moved[name] = to
			r.others = append(r.others, name)
		}
	}
	return nil
}

// beside returns the sorted files of a package that are not in known and that kctrl did not write. They are in the
// package's directory, and in subdirectories that are not packages.
func (r *Refactoring) beside(folder string, known map[string]bool) ([]string, error) {
	lock := r.plan.Lock()
	var names []string
	err := fs.WalkDir(r.plan.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return fs.SkipDir // planned only
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
			r.plan.Note(diagnostic.In(name,
				fmt.Sprintf("is not a regular file, beside files that go to %s, and is kept where it is",
					strings.Join(r.dirs[folder], " and ")),
				"move it to those that need it"))
			return nil
		}
		text, err := r.plan.ReadIfExists(name)
		if text != nil { // otherwise the plan deletes the file
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// isPackage reports whether a subdirectory of a package's directory contains Go files or a module. The go command
// ignores testdata.
func (r *Refactoring) isPackage(folder, name string) bool {
	if slices.Contains(strings.Split(strings.TrimPrefix(name, folder+"/"), "/"), "testdata") {
		return false
	}
	found := false
	_ = fs.WalkDir(r.plan.FS(), name, func(below string, entry fs.DirEntry, err error) error { // beside reports errors
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

// noteRelative notes the first relative path in a Go file that the user wrote and that, after the move, refers to
// another file.
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
			at := s.Position(lit.Pos())
			at.Filename = to
			r.plan.Note(diagnostic.At(at,
				fmt.Sprintf("%s is another directory from here than from %s", lit.Value, path.Dir(from)),
				"change it if it is a file path, and check the others in this file"))
		}
		return true
	})
}

// targetsOf returns the target directories of those files in the same package that a file uses, or that use it.
func (r *Refactoring) targetsOf(s gosource.GoSource) []string {
	found := map[string]bool{}
	note := func(name string) {
		if to := r.moved[name]; to != "" && path.Dir(name) == path.Dir(s.Name) {
			found[path.Dir(to)] = true
		}
	}
	for _, o := range r.sources {
		for _, u := range o.Idents(r.before.Repo) {
			switch owner := r.declared[u.GoName]; {
			case o.Name == s.Name:
				note(owner)
			case owner == s.Name:
				note(o.Name)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// newPath returns the new path of a file.
func (r *Refactoring) newPath(name string) string {
	if to := r.moved[name]; to != "" {
		return to
	}
	return name
}

// dirOfName returns the new directory of the file that declares a name.
func (r *Refactoring) dirOfName(name gosource.GoName) string {
	if file, found := r.declared[name]; found {
		return path.Dir(r.newPath(file))
	}
	return name.Pkg.Folder
}
