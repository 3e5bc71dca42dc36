package sync

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// Options are the inputs of Sync in addition to the trees.
type Options struct {
	// Moved has the new paths of files in the base tree.
	Moved map[string]string
	// Rewrite changes the names in a Go file to the names of the other tree. It is nil if no names change.
	Rewrite func(name string, text []byte) ([]byte, error)
	// Keep moves the files that other Go code needs from goes to kept, with the reason.
	Keep func(goes map[string]bool, kept map[string]string) error
	// Force also removes edited files, and writes conflicts with git's conflict markers and these labels.
	Force  bool
	Labels edit.Labels
	// History returns the former contents of edited files. It may be nil.
	History History
}

// Conflict is a file that Sync cannot update. The error has the file's name, and the line if it is known.
type Conflict struct {
	*diagnostic.Error
	// Kept is set if the project is complete when the file stays as it is in the plan.
	Kept bool
}

// Sync plans the change of a project from base to want, which are both trees that kctrl renders, and keeps the user's
// edits. It reads files through the plan disk. For files that have no content in either tree, Sync changes only the
// items of kustomizations. Conflicts are ordered by path. If the Kept field of any conflict is false, the caller must
// not apply the plan.
func Sync(disk *plan.Plan, base, want render.Tree, opts Options) ([]Conflict, error) {
	s := &syncing{Options: opts, plan: disk, lock: disk.Lock(), base: base, want: want, stays: map[string]bool{}}
	err := plan.InOrder(s.remove, s.update, s.create)
	slices.SortStableFunc(s.conflicts, func(a, b Conflict) int { return strings.Compare(a.Pos.Filename, b.Pos.Filename) })
	return s.conflicts, err
}

// syncing is the state of a Sync.
type syncing struct {
	Options
	plan       *plan.Plan
	lock       *project.Lock
	base, want render.Tree
	// stays are files of base that want does not have, but that kustomizations still list.
	stays     map[string]bool
	conflicts []Conflict
}

func (s *syncing) bases() Bases { return NewBases(s.plan, s.History) }

// newPath returns the new path of a file in base.
func (s *syncing) newPath(name string) string {
	if to := s.Moved[name]; to != "" {
		return to
	}
	return name
}

// successor returns the file in want that replaces a file in base.
func (s *syncing) successor(f render.File) (render.File, bool) { return s.want.File(s.newPath(f.Path)) }

func (s *syncing) conflict(name string, line int, kept bool, message, hint string) {
	pos := token.Position{Filename: name, Line: line}
	s.conflicts = append(s.conflicts, Conflict{diagnostic.At(pos, message, hint), kept})
}

// Occupied returns the error for a file whose new path belongs to another file.
func Occupied(from, to string) *diagnostic.Error {
	return diagnostic.In(from, "would become "+to+", which exists", "rename one of the two first")
}

// read returns the current name and content of a file. A kustomization can have another name than in the tree. text is
// nil if the file does not exist.
func (s *syncing) read(f render.File) (name string, text []byte, err error) {
	name = f.Path
	if f.Kustomization {
		if name, _, err = templated.Kustomization(s.plan, path.Dir(f.Path)); err != nil {
			return name, nil, err
		}
	}
	text, err = s.plan.ReadIfExists(name)
	return name, text, err
}

// remove plans to delete the files that the project no longer has.
func (s *syncing) remove() error {
	goes, kept := map[string]bool{}, map[string]string{}
	var lists []render.File
	others, err := render.OthersWebhooks(s.plan) // they may serve more webhooks than PROJECT lists
	if err != nil {
		return err
	}
	for _, f := range s.base.Files() {
		if _, found := s.successor(f); found {
			continue
		}
		_, text, err := s.read(f)
		switch _, known := s.lock.Entry(f.Path); {
		case err != nil:
			return err
		case others && path.Dir(f.Path) == layout.WebhookDir:
			s.stays[f.Path] = true
		case f.Kustomization && f.Owner != plan.Generated:
			lists = append(lists, f)
		case text == nil || s.Force || f.Owner == plan.Generated || !s.lock.Touched(f.Path, text):
			goes[f.Path] = true
		case !known:
			kept[f.Path] = "was not written by kctrl, so it is kept"
		default:
			kept[f.Path] = editedMessage
		}
	}
	if s.Keep != nil {
		if err := s.Keep(goes, kept); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		s.conflict(name, 0, true, kept[name], keptHint)
	}
	for _, name := range slices.Sorted(maps.Keys(goes)) {
		if err := s.plan.Delete(name); err != nil {
			return err
		}
	}
	for _, f := range lists {
		if err := s.removeList(f); err != nil {
			return err
		}
	}
	return s.removeGenerated(goes)
}

const (
	editedMessage = "has been edited since kctrl wrote it, so it is kept"
	keptHint      = "the same command with --force deletes it, or delete it by hand"
)

// removeList plans to delete a kustomization, unless the user listed files in it.
func (s *syncing) removeList(f render.File) error {
	name, text, err := s.read(f)
	if err != nil || text == nil {
		return err
	}
	touched := s.lock.Touched(name, text)
	if text, err = s.relisted(name, text, s.stays); err != nil {
		return err
	}
	switch {
	case touched && len(templated.ListedFiles(text, name)) > 0:
		s.stays[f.Path] = true
	case touched && !s.Force:
		s.conflict(name, 0, true, editedMessage, keptHint)
	default:
		return s.plan.Delete(name)
	}
	return s.plan.Edit(name, text)
}

// relisted returns a kustomization that lists the files of want under their new names. Of the removed files, it lists
// only those in stays.
func (s *syncing) relisted(name string, text []byte, stays map[string]bool) ([]byte, error) {
	for _, f := range s.base.Files() {
		now, found := s.successor(f)
		for i, l := range f.Listings {
			var err error
			switch keys := []string{l.List}; {
			case l.Folder != path.Dir(name) || stays[f.Path]:
			case !found || i >= len(now.Listings):
				text, err = edit.RemoveListItem(text, name, keys, l.Item)
			case now.Listings[i].Item != l.Item:
				text, err = edit.ReplaceListItem(text, name, keys, l.Item, now.Listings[i].Item)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

// removeGenerated plans to delete the generated Go files of packages that lose all other files.
func (s *syncing) removeGenerated(goes map[string]bool) error {
	dirs := map[string]bool{}
	for name := range goes {
		dirs[path.Dir(name)] = dirs[path.Dir(name)] || path.Ext(name) == ".go"
	}
	for dir, has := range dirs {
		names, err := fs.Glob(s.plan.FS(), path.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		isGenerated := func(name string) bool { return strings.HasPrefix(path.Base(name), "zz_generated.") }
		stays := slices.ContainsFunc(names, func(name string) bool {
			_, err := s.plan.Read(name)
			return err == nil && !isGenerated(name)
		})
		for _, name := range slices.DeleteFunc(names, func(name string) bool { return !isGenerated(name) || stays || !has }) {
			if err := s.plan.Delete(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// create plans the new files.
func (s *syncing) create() error {
	made := map[string]bool{}
	for _, f := range s.base.Files() {
		made[s.newPath(f.Path)] = true
	}
	var errs []error
	for _, f := range s.want.Files() {
		if f.Content == nil || f.Owner == plan.Generated || made[f.Path] {
			continue
		}
		if _, text, err := s.read(f); err != nil || text != nil && f.Owner == plan.User && !s.Force {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, s.plan.Write(f.Path, f.Content, f.Template))
	}
	return errors.Join(errs...)
}

// update plans the new content of files that are in both trees.
func (s *syncing) update() error {
	var errs []error
	for _, f := range s.base.Files() {
		now, found := s.successor(f)
		switch {
		case !found:
		case f.Owner == plan.Generated:
			errs = append(errs, s.updateGenerated(f, now))
		case f.Kustomization && s.isListOnly(f, now):
			errs = append(errs, s.updateList(f))
		case f.Content != nil && now.Content != nil:
			errs = append(errs, s.updateMerged(f, now))
		}
	}
	return errors.Join(errs...)
}

// updateGenerated plans to delete a generated file that moves, or to replace its content while no generator has written
// the file.
func (s *syncing) updateGenerated(f, now render.File) error {
	if f.Path != now.Path {
		return s.plan.Delete(f.Path)
	}
	if _, text, err := s.read(f); err != nil || now.Content == nil || text == nil || !bytes.Equal(text, f.Content) {
		return err
	}
	return s.plan.WriteFile(plan.File{Path: f.Path, Content: now.Content, Template: f.Template, Force: true})
}
