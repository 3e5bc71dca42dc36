package upgrade

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// step is the upgrade of a file whose template has changed.
type step struct {
	was, now render.File // was has no content if the file is new
	obstacle string      // reason why the file stays unchanged
}

// isCode reports whether a file is upgraded together with its test, and only if both compile: a controller, a webhook
// or the main function.
func isCode(f render.File) bool { return f.Owner == plan.Shared && path.Ext(f.Path) == ".go" }

// files upgrades the project's files. It upgrades code and its test together, or neither of them.
func (u *upgrade) files() error {
	units := map[string][]step{}
	for _, f := range u.now.Files() {
		s, found, err := u.step(f)
		if err != nil {
			return err
		}
		name := f.Path
		if isCode(f) {
			name = strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test")
		}
		if found {
			units[name] = append(units[name], s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if err := u.unit(units[name]); err != nil {
			return err
		}
	}
	return nil
}

// step returns the upgrade of a file, if the template of the file has changed.
func (u *upgrade) step(f render.File) (s step, found bool, err error) {
	lock := u.plan.Lock()
	ours, err := u.plan.ReadIfExists(f.Path)
	if err != nil {
		return s, false, err
	}
	there, touched := ours != nil, lock.Touched(f.Path, ours)
	entry, known := lock.Entry(f.Path)
	s.was, s.now = render.File{Path: f.Path, Template: f.Template, Owner: f.Owner}, f
	switch {
	case f.Content == nil || f.Owner == plan.Generated || f.Owner == plan.API:
		return s, false, nil // generated, or kept because it is an API
	case isCode(f) && (!known || u.isOfThisKctrl()), !known && u.others && strings.HasPrefix(f.Path, "config/"):
		return s, false, nil // the kustomization is the user's; or PROJECT has changed, and not the template
	case !there && known, f.Owner == plan.User && (!there || touched):
		return s, false, nil // deleted or edited by the user
	case !there:
		return s, true, nil
	}
	asHere, err := u.listed(f.Path, ours, f.Content)
	if err != nil || bytes.Equal(asHere, ours) {
		return s, false, err // only the order of lists differs
	}
	if known && !touched {
		s.now.Content = asHere
	}
	switch {
	case known && !lock.Touched(f.Path, s.now.Content):
		return s, false, nil // the template is unchanged
	case !known:
		u.noteForeign(lock, s.now)
		return s, false, nil
	}
	if s.was.Content = edit.Plain(ours); touched {
		return u.edited(s, ours)
	}
	if isCode(f) && entry.Template != f.Template {
		s.obstacle = otherTemplate
	}
	return s, true, nil
}

// otherTemplate is the obstacle for code whose template PROJECT no longer selects.
const otherTemplate = "was made from another template than the one for PROJECT, so it stays as it is"

// edited completes the step of a file that the user has edited.
func (u *upgrade) edited(s step, ours []byte) (_ step, found bool, err error) {
	name := s.now.Path
	if len(edit.Conflicts(ours)) > 0 {
		return s, false, nil // which noteConflicts reports
	}
	lock := u.plan.Lock()
	known := lock.Entries(name)
	s.was.Content, found, err = sync.NewBases(u.plan, u.options.Base).Of(known, ours)
	if err != nil {
		return s, false, err
	}
	if !found {
		same, err := u.isOfTemplate(name, ours, s.now.Content)
		s.obstacle = "has been edited, and git has no version that kctrl wrote, so it cannot be merged"
		return s, !same, err
	}
	if isCode(s.now) && known[0].Template != s.now.Template {
		s.obstacle = otherTemplate
	}
	s.now.Content, err = u.listed(name, s.was.Content, s.now.Content)
	return s, true, err
}

// unit upgrades several files together. If it cannot, it notes why they stay unchanged, once for each template.
func (u *upgrade) unit(steps []step) error {
	at := slices.IndexFunc(steps, func(s step) bool { return s.obstacle != "" })
	if at < 0 {
		done, err := u.merge(steps)
		if err != nil || done {
			return err
		}
		at = slices.IndexFunc(steps, func(s step) bool { return s.obstacle != "" })
	}
	u.note(steps[at].now.Path, steps[at].obstacle, compareHint)
	lock := u.plan.Lock()
	for _, s := range steps {
		lock.Offer(s.now.Path, s.now.Content, s.now.Template) // so that later upgrades do not note it again
	}
	return nil
}

// merge plans the merged files. If the merge of code has conflicts or does not compile, merge returns false and sets
// the step's obstacle.
func (u *upgrade) merge(steps []step) (done bool, err error) {
	var was, now []render.File
	for _, s := range steps {
		now = append(now, s.now)
		if s.was.Content != nil {
			was = append(was, s.was)
		}
	}
	merged, code := u.plan.Clone(), isCode(steps[0].now)
	conflicts, err := sync.Sync(merged, render.NewTree(was...), render.NewTree(now...), sync.Options{
		Force: !code, History: u.options.Base,
		Labels: edit.Labels{Ours: "yours", Base: "kctrl " + orDevel(u.project.Kctrl),
			Theirs: "kctrl " + u.options.Kctrl.Name()},
	})
	if err != nil {
		return false, err
	}
	for _, c := range conflicts {
		if c.Kept {
			continue // has conflict markers, which noteConflicts reports
		}
		at := slices.IndexFunc(steps, func(s step) bool { return s.now.Path == c.Pos.Filename })
		steps[at].obstacle = "has been edited where its template has changed, so it stays as it is"
		return false, nil
	}
	if code {
		if broken, err := u.isBroken(merged, steps); err != nil || broken {
			return false, err
		}
	}
	*u.plan = *merged
	lock := u.plan.Lock()
	for _, s := range steps {
		if c, err := u.plan.Lookup(s.now.Path); err == nil && lock.Touched(s.now.Path, c.After) {
			lock.Record(s.now.Path, s.now.Content, s.now.Template) // the base of the next merge
		}
	}
	return true, err
}

// isBroken reports whether merged files do not compile. If so, it sets the obstacle of a step.
func (u *upgrade) isBroken(merged *plan.Plan, steps []step) (bool, error) {
	sources, err := gosource.GoSources(u.plan, u.project)
	if err != nil {
		return false, err
	}
	changed := map[string][]byte{}
	for _, s := range steps {
		if changed[s.now.Path], err = merged.Read(s.now.Path); err != nil {
			return false, err
		}
	}
	before := gosource.TypeErrors(sources, u.project.Repo, nil)
	after := gosource.TypeErrors(sources, u.project.Repo, changed)
	for _, c := range slices.SortedFunc(maps.Keys(after),
		func(a, b gosource.Complaint) int { return strings.Compare(a.File+a.Message, b.File+b.Message) }) {
		if len(after[c]) <= len(before[c]) {
			continue
		}
		at := max(0, slices.IndexFunc(steps, func(s step) bool { return s.now.Path == c.File }))
		where := c.File + " as kctrl writes it now"
		if c.File == steps[at].now.Path {
			where = "what kctrl writes there now"
		}
		steps[at].obstacle = fmt.Sprintf("would not compile with %s: %s, so it stays as it is", where, c.Message)
		return true, nil
	}
	return false, nil
}

// listed returns the new content of a kustomization with the project's lists. The project determines the components and
// the order of items. listed removes items that do not exist.
func (u *upgrade) listed(name string, there, theirs []byte) ([]byte, error) {
	if path.Base(name) != "kustomization.yaml" || there == nil {
		return theirs, nil
	}
	var err error
	for _, list := range templated.Lists {
		at := []string{list}
		var wanted []string
		for _, item := range templated.ItemsOf(there, list) {
			if target := path.Join(path.Dir(name), item); slices.Contains(templated.ItemsOf(theirs, list), item) ||
				u.exists(target) {
				wanted = append(wanted, item)
				if theirs, err = edit.EnsureListItem(theirs, name, at, item); err != nil {
					return nil, err
				}
			}
		}
		items := templated.ItemsOf(theirs, list)
		for _, item := range items {
			if !slices.Contains(wanted, item) {
				wanted = append(wanted, item)
			}
		}
		if slices.Equal(items, wanted) || len(items) != len(wanted) {
			continue
		}
		for i, item := range items {
			theirs, err = edit.ReplaceListItem(theirs, name, at, item, fmt.Sprintf("%d.kctrl", i))
			if err != nil {
				return nil, err
			}
		}
		for i, item := range wanted {
			theirs, err = edit.ReplaceListItem(theirs, name, at, fmt.Sprintf("%d.kctrl", i), item)
			if err != nil {
				return nil, err
			}
		}
	}
	return theirs, nil
}

// exists reports whether the project has a file, or a directory with a kustomization.
func (u *upgrade) exists(target string) bool {
	if _, found, err := templated.Kustomization(u.plan, target); found && err == nil {
		return true
	}
	_, err := u.plan.Read(target)
	return err == nil
}

// gone deletes files that kctrl no longer writes, except files that the user has edited.
func (u *upgrade) gone() error {
	lock := u.plan.Lock()
	var was []render.File
	for entry := range lock.All() {
		owner := templates.OwnerOf(entry.Template)
		_, now := u.now.File(entry.Path)
		if !now && owner != plan.Generated && strings.HasPrefix(entry.Template, "project/") &&
			!strings.HasPrefix(entry.Path, notedDir+"/") {
			was = append(was, render.File{Path: entry.Path, Template: entry.Template, Owner: owner})
		}
	}
	conflicts, err := sync.Sync(u.plan, render.NewTree(was...), render.NewTree(), sync.Options{})
	for _, c := range conflicts {
		u.note(c.Pos.Filename, "has been edited, and kctrl no longer writes this file, so it is kept",
			"delete it if you do not need it")
	}
	return err
}
