package sync

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// isListOnly reports whether only the items of a kustomization change.
func (s *syncing) isListOnly(f, now render.File) bool {
	if f.Content == nil || now.Content == nil {
		return true
	}
	base, err := s.relisted(f.Path, f.Content, nil)
	return err == nil && s.Rewrite == nil && bytes.Equal(base, now.Content)
}

// updateList plans the new items of a kustomization.
func (s *syncing) updateList(f render.File) error {
	name, ours, err := s.read(f)
	if err != nil || ours == nil {
		return err
	}
	text, err := s.relisted(name, ours, s.stays)
	if err != nil || bytes.Equal(text, ours) {
		return err
	}
	return s.plan.Edit(name, text)
}

// follows reports whether Sync updates a file when its template changes. It does so always if names change, and
// otherwise if the file's owner allows it.
func (s *syncing) follows(f, now render.File, touched bool) bool {
	switch {
	case s.Rewrite != nil:
		return true
	case bytes.Equal(f.Content, now.Content):
		return false
	}
	return f.Owner == plan.Shared || f.Owner == plan.User && !touched
}

// updateMerged plans the new content of a file, merged with the user's edits. It does not restore a file that the user
// deleted.
func (s *syncing) updateMerged(f, now render.File) error {
	name, ours, err := s.read(f)
	if err != nil || ours == nil {
		return err
	}
	if name != f.Path { // a kustomization with another name
		f.Path, now.Path = name, name
	}
	to, known, touched := now.Path, s.lock.Entries(f.Path), s.lock.Touched(f.Path, ours)
	if !s.follows(f, now, touched) {
		return nil
	}
	if occupied, err := s.isOccupied(f.Path, to); err != nil || occupied {
		return err
	}
	content, conflicts, err := s.merged(f, to, ours, now.Content)
	if err != nil {
		return err
	}
	switch {
	case s.Force:
		for _, line := range conflicts {
			s.conflict(to, line, true, "has a conflict: you and kctrl have changed the same lines",
				"choose between the lines, and remove the markers")
			s.conflicts[len(s.conflicts)-1].Class = diagnostic.ErrDrift
		}
	case len(conflicts) > 0 && !s.isPage(f.Path):
		s.conflict(f.Path, conflicts[0], false, "has been edited where kctrl must change it",
			"--force writes both between git's conflict markers; "+
				"if an older kctrl wrote it, run kctrl upgrade first")
		return nil
	case len(conflicts) > 0:
		s.conflict(f.Path, 0, true, "was not written by kctrl, and is kept as it is",
			"update the names in it by hand")
		content = ours
	}
	if to != f.Path {
		if err := s.plan.Move(f.Path, to); err != nil {
			return err
		}
	}
	template := now.Template
	if len(known) == 0 {
		template = ""
	}
	if err := s.plan.WriteFile(plan.File{Path: to, Content: content, Template: template, Force: true}); err != nil {
		return err
	}
	switch {
	case len(known) == 0:
		s.lock.Forget(to)
	case touched:
		return s.recordEdited(f, to, known, ours, now.Content)
	}
	return nil
}

// isOccupied reports whether a file would replace one of the user's files, and records that as a conflict.
func (s *syncing) isOccupied(from, to string) (bool, error) {
	if to == from || s.newPath(to) != to {
		return false, nil
	}
	there, err := s.plan.Lookup(to)
	if err != nil || there.After == nil || !s.lock.Touched(to, there.After) {
		return false, err
	}
	s.conflicts = append(s.conflicts, Conflict{Occupied(from, to), false})
	return true, nil
}

// isPage reports whether a file is documentation or the configuration of a tool that kctrl did not write, and without
// which the project is complete.
func (s *syncing) isPage(name string) bool {
	_, known := s.lock.Entry(name)
	isNeeded := path.Ext(name) == ".go" || strings.HasPrefix(name, "config/") || name == "Makefile" || name == "Dockerfile"
	return !known && !isNeeded
}

// merged returns the new content of a file, with the line ends of the current content, and the lines of conflicts.
func (s *syncing) merged(f render.File, to string, ours, theirs []byte) (_ []byte, conflicts []int, err error) {
	plain, base, theirs := edit.Plain(ours), edit.Plain(f.Content), edit.Plain(theirs)
	if bytes.Equal(base, plain) {
		return edit.EndedAs(ours, theirs), nil, nil
	}
	change := func(text []byte, _ bool) ([]byte, error) { return text, nil }
	switch {
	case f.Kustomization:
		change = func(text []byte, isOurs bool) ([]byte, error) {
			if isOurs {
				return s.relisted(to, text, s.stays)
			}
			return s.relisted(to, text, nil)
		}
	case path.Ext(f.Path) == ".go" && s.Rewrite != nil:
		change = func(text []byte, _ bool) ([]byte, error) { return s.Rewrite(f.Path, text) }
	}
	if base, err = change(base, false); err != nil {
		return nil, nil, err
	}
	if plain, err = change(plain, true); err != nil {
		return nil, nil, err
	}
	content, conflicts := edit.Merge(base, plain, theirs, s.Labels)
	if len(conflicts) > 0 && path.Ext(f.Path) == ".go" && s.Rewrite != nil {
		changed := changedTexts(base, theirs)
		content, conflicts = edit.Merge(withTexts(base, changed), withTexts(plain, changed), theirs, s.Labels)
	}
	if len(conflicts) > 0 && f.Owner == plan.API && path.Ext(f.Path) != ".go" {
		return ours, nil, nil // a sample is the user's; refactor changes the names in it
	}
	return edit.EndedAs(ours, content), conflicts, nil
}

// recordEdited moves the lock entries of an edited file to its new path, so that the file still counts as edited. Later
// upgrades merge from the content that kctrl writes in the new state. The lock also keeps the first content, because
// git has it.
func (s *syncing) recordEdited(f render.File, to string, known []project.LockEntry, ours, becomes []byte) error {
	from, rebased := f.Content, becomes
	if !slices.ContainsFunc(known, func(e project.LockEntry) bool { return e.IsOf(f.Content) }) {
		var err error
		if from, rebased, err = s.rebased(f, to, known, ours, becomes); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(known, func(e project.LockEntry) bool { return from != nil && e.IsOf(from) })
	s.lock.Forget(to)
	if at >= 0 {
		s.lock.Offer(to, rebased, known[at].Template)
		if !slices.ContainsFunc(known, func(e project.LockEntry) bool { return e.IsOf(rebased) }) {
			if err := s.bases().Keep(rebased); err != nil {
				return err
			}
		}
		if s.bases().Has(known[at]) { // otherwise only the history has it, and a later revert needs the entry
			known = slices.Delete(known, at, at+1)
		}
	}
	for _, e := range known {
		e.Path = to
		s.lock.Add(e)
	}
	return nil
}

// rebased returns the content that an older kctrl wrote to an edited file, and this content in the new state. Both are
// nil if no history has the content, or if its merge has conflicts.
func (s *syncing) rebased(f render.File, to string, known []project.LockEntry, ours, becomes []byte) (_, _ []byte,
	err error) {
	base, found, err := s.bases().Of(known, ours)
	if err != nil || !found {
		return nil, nil, err
	}
	rebased, conflicts, err := s.merged(f, to, base, becomes)
	if err != nil || len(conflicts) > 0 {
		return nil, nil, nil
	}
	return base, rebased, nil
}
