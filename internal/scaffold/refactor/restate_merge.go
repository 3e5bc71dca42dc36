package refactor

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
)

// writeScaffolded plans the files that kctrl writes: as they are to be, with what the user has changed.
func (r *restatement) writeScaffolded() error {
	var errs []error
	seen := map[string]bool{}
	for entry := range r.was.Lock.All() {
		if sync.IsFollowing(entry.Path, entry.Template) {
			if entry.Template == "generate/rbac" {
				errs = append(errs, r.writeEmptyRole(entry))
			}
			continue
		}
		to := r.newPath(entry.Path)
		seen[to] = true
		base, err := fs.ReadFile(r.was.FS, entry.Path)
		if err != nil {
			return err
		}
		theirs, err := fs.ReadFile(r.becomes.FS, to)
		if errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, r.dropScaffolded(entry.Path))
			continue
		}
		if err != nil {
			return err
		}
		errs = append(errs, r.writeMerged(entry, to, base, theirs))
	}
	err := fs.WalkDir(r.becomes.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || seen[name] || sync.IsFollowing(name, "") {
			return err
		}
		if _, was := r.was.Lock.Entry(name); was && r.newPath(name) == name {
			return nil // or else it has gone to where another one is now
		}
		text, err := fs.ReadFile(r.becomes.FS, name)
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, layout.ComponentDir+"/") {
			return nil
		}
		written, _ := r.becomes.Lock.Entry(name)
		if _, err := r.plan.Read(name); err == nil && sync.IsUsers(written.Template) && !r.force {
			return nil // as dropScaffolded has left it
		}
		return r.plan.WriteFile(plan.File{Path: name, Content: text, Template: written.Template, Policy: plan.Guarded})
	})
	return errors.Join(append(errs, err)...)
}

// writeEmptyRole plans the role of a project without markers, of which generators keep what is there.
func (r *restatement) writeEmptyRole(entry project.LockEntry) error {
	base, err := fs.ReadFile(r.was.FS, entry.Path)
	theirs, failure := fs.ReadFile(r.becomes.FS, entry.Path)
	ours, missing := r.plan.Read(entry.Path)
	if err := errors.Join(err, failure); err != nil || missing != nil || !bytes.Equal(base, ours) {
		return err
	}
	return r.plan.WriteFile(plan.File{Path: entry.Path, Content: theirs, Template: entry.Template, Policy: plan.Own})
}

// dropScaffolded plans that a file goes away that the project has no more, unless the user has edited it.
func (r *restatement) dropScaffolded(name string) error {
	text, err := r.plan.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	if lock.Touched(name, text) && !r.force {
		r.plan.Note(&diagnostic.Error{
			Pos: token.Position{Filename: name}, Message: "has been edited since kctrl wrote it, so it is kept; the project has no use for it any more", Hint: "delete it by hand, or with --force",
		})
		return nil
	}
	return r.plan.Delete(name, plan.Own)
}

// writeMerged plans one file that kctrl writes in both states. One that the user has deleted stays deleted.
func (r *restatement) writeMerged(entry project.LockEntry, to string, base, theirs []byte) error {
	ours, err := r.plan.Read(entry.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	if err := r.checkFree(entry.Path, to); err != nil {
		return err
	}
	touched := lock.Touched(entry.Path, ours)
	known := lock.Entries(entry.Path)
	content, err := r.merged(entry.Path, to, base, ours, theirs)
	if err != nil {
		return err
	}
	there, err := r.plan.Lookup(entry.Path)
	if err != nil {
		return err
	}
	if to != entry.Path {
		if err := r.plan.Delete(entry.Path, plan.Own); err != nil {
			return err
		}
	}
	template := ""
	if len(known) > 0 {
		template = known[0].Template
	}
	if err := r.plan.WriteFile(plan.File{Path: to, Content: content, Template: template, Policy: plan.Own, Mode: there.Mode}); err != nil {
		return err
	}
	switch {
	case len(known) == 0:
		lock.Forget(to)
	case touched:
		r.noteRelative(entry.Path, to, content)
		return r.recordEdited(to, known, ours, base, theirs)
	}
	return nil
}

// checkFree fails if a file would take the place of one of the user's.
func (r *restatement) checkFree(from, to string) error {
	if to == from || r.newPath(to) != to {
		return nil
	}
	there, err := r.plan.Read(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, _, err := r.plan.Lock()
	if err != nil || !lock.Touched(to, there) {
		return err
	}
	return occupied(from, to)
}

// recordEdited has the lock know of an edited file what it knew of it, under its new path: it is edited still. What
// it was edited from becomes what kctrl would have written of it in the new state, for upgrades to merge from; and
// what kctrl wrote first stays known, for git has that.
func (r *restatement) recordEdited(to string, known []project.LockEntry, ours, was, becomes []byte) error {
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	from, rebased := was, becomes
	if !slices.ContainsFunc(known, func(e project.LockEntry) bool { return e.IsOf(was) }) {
		from, rebased = r.rebased(known, to, ours, was, becomes)
	}
	at := slices.IndexFunc(known, func(e project.LockEntry) bool { return from != nil && e.IsOf(from) })
	lock.Forget(to)
	if at >= 0 {
		lock.Offer(to, rebased, known[at].Template)
		if !slices.ContainsFunc(known, func(e project.LockEntry) bool { return e.IsOf(rebased) }) {
			err = r.bases().Keep(rebased)
		}
	}
	if at >= 0 && r.bases().Has(known[at]) { // else only history has it, for the way back too
		known = slices.Delete(known, at, at+1)
	}
	for _, e := range known {
		e.Path = to
		lock.Add(e)
	}
	return err
}

// rebased returns what an older kctrl wrote of a file that was edited since, and what that would be in the new state,
// if somebody has it.
func (r *restatement) rebased(known []project.LockEntry, to string, ours, was, becomes []byte) (base, rebased []byte) {
	base, found := r.bases().Of(known, ours)
	if !found {
		return nil, nil
	}
	strict := *r
	strict.force = false
	rebased, err := strict.merged(known[0].Path, to, was, base, becomes)
	if err != nil {
		return nil, nil // upgrades then say that nothing can be merged
	}
	return base, rebased
}

func (r *restatement) bases() sync.Bases { return sync.NewBases(r.plan, r.history) }

// merged returns what becomes of a file, with the line ends that it has.
func (r *restatement) merged(from, to string, base, ours, theirs []byte) ([]byte, error) {
	content, err := r.mergedLines(from, to, edit.Plain(base), edit.Plain(ours), edit.Plain(theirs))
	return edit.EndedAs(ours, content), err
}

// mergedLines returns what becomes of a file whose lines end as those that kctrl writes.
func (r *restatement) mergedLines(from, to string, base, ours, theirs []byte) ([]byte, error) {
	if bytes.Equal(base, ours) {
		return theirs, nil
	}
	if path.Base(to) == "kustomization.yaml" {
		return r.mergedLists(to, base, ours, theirs)
	}
	if path.Ext(from) == ".go" {
		var err error
		if base, err = r.rewriteGo(from, base); err != nil {
			return nil, err
		}
		if ours, err = r.rewriteGo(from, ours); err != nil {
			return nil, err
		}
	}
	content, conflicts := edit.Merge(base, ours, theirs, edit.Labels{Ours: "yours", Base: "kctrl, before", Theirs: "kctrl"})
	if len(conflicts) > 0 && !r.force {
		if others, err := r.isPageOfOthers(from); err != nil || others {
			r.plan.Note(&diagnostic.Error{
				Pos: token.Position{Filename: from}, Message: "was not written by kctrl, and is kept as it is", Hint: "bring it up to date by hand where it names what has changed",
			})
			return ours, err
		}
		return nil, &diagnostic.Error{
			Pos:     token.Position{Filename: from, Line: conflicts[0]},
			Message: "has been edited where kctrl has to change it",
			Hint:    "--force writes both between the markers of git, for you to choose; if it is as an older kctrl wrote it, run kctrl upgrade first",
		}
	}
	return content, nil
}

// isPageOfOthers reports whether a file is somebody else's, and neither compiled nor deployed: a page or the
// configuration of a tool, without which the project is whole.
func (r *restatement) isPageOfOthers(name string) (bool, error) {
	lock, _, err := r.plan.Lock()
	if err != nil {
		return false, err
	}
	_, known := lock.Entry(name)
	return !known && path.Ext(name) != ".go" && !strings.HasPrefix(name, "config/") && !slices.Contains([]string{"Makefile", "Dockerfile"}, name), nil
}

// mergedLists merges a kustomization: its lists by their items, the rest by lines.
func (r *restatement) mergedLists(name string, base, ours, theirs []byte) ([]byte, error) {
	target := map[string]render.Part{}
	for _, p := range render.PartsOf(r.after) {
		target[p.ID] = p
	}
	var err error
	for _, p := range render.PartsOf(r.before) {
		now := target[p.ID]
		for i, l := range p.Listings {
			if i >= len(now.Listings) || path.Join(l.Folder, path.Base(name)) != name || now.Listings[i].Item == l.Item {
				continue
			}
			if base, err = edit.ReplaceListItem(base, name, []string{l.List}, l.Item, now.Listings[i].Item); err != nil {
				return nil, err
			}
			if ours, err = edit.ReplaceListItem(ours, name, []string{l.List}, l.Item, now.Listings[i].Item); err != nil {
				return nil, err
			}
		}
	}
	if bytes.Equal(base, theirs) {
		return ours, nil
	}
	content, conflicts := edit.Merge(base, ours, theirs, edit.Labels{Ours: "yours", Base: "kctrl, before", Theirs: "kctrl"})
	if len(conflicts) > 0 && !r.force {
		return nil, &diagnostic.Error{
			Pos: token.Position{Filename: name, Line: conflicts[0]}, Message: "has been edited where kctrl has to change it",
			Hint: "--force writes both between the markers of git, for you to choose",
		}
	}
	return content, nil
}
