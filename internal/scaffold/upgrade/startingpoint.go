package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"go.yaml.in/yaml/v3"
)

// kept are the templates of files that upgrades leave as they are from their first minute: what is an API, or follows
// from one. Types may be a copy of another version, samples and conversions are made from types as they were then,
// and CRDs must not change because somebody has a newer kctrl.
var kept = []string{
	"kind/api/", "kind/config/samples/", "conversion/", "version/api/version/groupversion_info.go", "license/", "restated/",
	"controller/internal/controller/testdata/", "admission/internal/webhook/testdata/",
}

// code are the templates of Go files that their authors go on with. What has not been edited becomes that of today,
// what has is merged; but never so that it does not compile where it did.
var code = []string{"controller/", "admission/", "policy/internal/", "project/cmd/main.go"}

func hasPrefix(template string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(template, prefix) })
}

// isCode reports whether a file is brought on with what belongs to it.
func isCode(e project.LockEntry) bool {
	return hasPrefix(e.Template, code) && path.Ext(e.Path) == ".go" && path.Base(e.Path) != "doc.go"
}

// successor is what a file of code would become.
type successor struct {
	now      project.LockEntry
	theirs   []byte // what kctrl writes now
	becomes  []byte
	edited   bool
	obstacle string // why it stays as it is
}

// code brings controllers, webhooks and the main function to the templates of today, each with its test: both or
// none. A project of this very kctrl has them: what kctrl would write otherwise by now, in a test after another
// version of the kind has come, is no other template.
func (u *upgrade) code() error {
	if u.isOfThisKctrl() {
		return nil
	}
	units := map[string][]project.LockEntry{}
	for entry := range u.now.Lock.All() {
		if isCode(entry) {
			name := strings.TrimSuffix(strings.TrimSuffix(entry.Path, ".go"), "_test")
			units[name] = append(units[name], entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if err := u.unit(units[name]); err != nil {
			return err
		}
	}
	return nil
}

// isOfThisKctrl reports whether the project has the templates of this kctrl. Of one that is no release nobody knows.
func (u *upgrade) isOfThisKctrl() bool {
	name := u.options.Kctrl.Name()
	return name != orDevel("") && name == u.project.Kctrl
}

// tellOfKept notes, once, which types and samples kctrl would write otherwise by now. Those of a further version
// began as a copy of the first, and were of no template.
func (u *upgrade) tellOfKept() error {
	if u.isOfThisKctrl() {
		return nil
	}
	var names []string
	for _, o := range render.Owners(u.project, "") {
		if _, further := layout.VersionBefore(u.project, o.Resource); further || !o.API {
			continue
		}
		for _, name := range []string{templates.Types().Path(o.View), templates.Sample().Path(o.View)} {
			newer, err := u.hasNewerTemplate(name)
			if err != nil {
				return err
			}
			if newer {
				names = append(names, name)
			}
		}
	}
	if len(names) > 0 {
		u.note("", 0, "types and samples are yours and stay as they are, and kctrl writes these otherwise now: "+strings.Join(names, ", "), compareThemHint)
	}
	return nil
}

// hasNewerTemplate reports whether kctrl would write a file of the user's otherwise than it once did, and records
// that it has been told. The marker of the version that is stored comes and goes with further versions, and is no
// template's.
func (u *upgrade) hasNewerTemplate(name string) (bool, error) {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return false, err
	}
	now, made := u.now.Lock.Entry(name)
	_, known := lock.Entry(name)
	ours, err := u.plan.Read(name)
	if !made || !known || errors.Is(err, fs.ErrNotExist) {
		return false, nil // of the user's own, or taken away
	}
	if err != nil {
		return false, err
	}
	theirs, err := fs.ReadFile(u.now.FS, name)
	if err != nil {
		return false, err
	}
	for _, text := range [][]byte{theirs, withoutLine(theirs, "// "+render.StorageMarker)} {
		same, err := u.isOfTemplate(name, ours, text)
		if same || err != nil {
			return false, err
		}
	}
	return true, u.offer(now, theirs)
}

// isOfTemplate reports whether kctrl has written of a file what it writes now, but for the header if it is Go.
func (u *upgrade) isOfTemplate(name string, ours, theirs []byte) (bool, error) {
	lock, _, err := u.plan.Lock()
	if err != nil || !lock.Touched(name, theirs) || bytes.Equal(edit.Plain(ours), theirs) {
		return err == nil, err
	}
	header, err := templated.GoHeader(u.plan)
	code, found := bytes.CutPrefix(theirs, []byte(header))
	if err != nil || !found || path.Ext(name) != ".go" {
		return false, err
	}
	for old := range headers(edit.Plain(ours)) {
		if !lock.Touched(name, slices.Concat(old, code)) {
			return true, nil
		}
	}
	base, _ := u.base(name, ours)
	old, found := bytes.CutSuffix(base, code)
	return found && (len(old) == 0 || bytes.HasSuffix(old, []byte("\n\n"))), nil
}

// headers yields what may be the header of a Go file: nothing, and all before each empty line in front of the package
// clause.
func headers(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		end := 0
		for line := range bytes.Lines(text) {
			atStart := end == 0 || bytes.HasSuffix(text[:end], []byte("\n\n"))
			if atStart && !yield(text[:end]) || bytes.HasPrefix(line, []byte("package ")) {
				return
			}
			end += len(line)
		}
	}
}

// withoutLine returns a text without the lines that say something and nothing else.
func withoutLine(text []byte, line string) []byte {
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(l string) bool { return strings.TrimSpace(l) == line })
	return []byte(strings.Join(lines, ""))
}

// unit brings some files on together, or notes why they stay as they are: once for each template that is not taken.
func (u *upgrade) unit(entries []project.LockEntry) error {
	var all []successor
	for _, entry := range entries {
		s, found, err := u.successor(entry)
		if err != nil {
			return err
		}
		if found {
			all = append(all, s)
		}
	}
	at := slices.IndexFunc(all, func(s successor) bool { return s.obstacle != "" })
	if at < 0 && len(all) > 0 {
		var err error
		if at, err = u.firstBroken(all); err != nil {
			return err
		}
	}
	if at >= 0 {
		u.note(all[at].now.Path, 0, all[at].obstacle+", so it stays as it is", compareHint)
	}
	for _, s := range all {
		if at >= 0 {
			if err := u.offer(s.now, s.theirs); err != nil {
				return err
			}
			continue
		}
		if err := u.plan.WriteFile(plan.File{Path: s.now.Path, Content: s.becomes, Template: s.now.Template, Policy: plan.Own}); err != nil {
			return err
		}
		if s.edited {
			if err := u.keepBase(s.now, s.theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

// successor returns what a file would become, if kctrl writes it otherwise than it did.
func (u *upgrade) successor(now project.LockEntry) (s successor, found bool, err error) {
	s.now = now
	lock, _, err := u.plan.Lock()
	if err != nil {
		return s, false, err
	}
	if s.theirs, err = fs.ReadFile(u.now.FS, now.Path); err != nil {
		return s, false, err
	}
	ours, err := u.plan.Read(now.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil // taken away by the user
	}
	if err != nil {
		return s, false, err
	}
	old, known := lock.Entry(now.Path)
	if !known || !lock.Touched(now.Path, s.theirs) {
		return s, false, nil // of the user's own, or the template is as it was
	}
	s.edited = lock.Touched(now.Path, ours) && !bytes.Equal(edit.Plain(ours), s.theirs)
	if old.Template != now.Template {
		s.obstacle = "was made from another template than kctrl would take by what PROJECT says"
		return s, true, nil
	}
	base := edit.Plain(ours)
	s.becomes = s.theirs
	if s.edited {
		if base, found = u.base(now.Path, ours); !found {
			if same, err := u.isOfTemplate(now.Path, ours, s.theirs); same || err != nil {
				return s, false, err
			}
			s.obstacle = "has been edited, kctrl writes it otherwise now, and no version of it in git is what kctrl wrote"
			return s, true, nil
		}
		var conflicts []int
		s.becomes, conflicts = edit.Merge(base, edit.Plain(ours), s.theirs, edit.Labels{})
		s.becomes = edit.EndedAs(ours, s.becomes)
		if len(conflicts) > 0 {
			s.obstacle = "has been edited where kctrl writes it otherwise now"
		}
	}
	if !sameRequests(now.Path, base, s.theirs) {
		s.obstacle = "is about requests that PROJECT does not tell of, and kctrl writes it otherwise now"
	}
	return s, true, nil
}

// firstBroken returns the first of some files that would not compile as what they would become, and -1 if all would.
// It says why in the file.
func (u *upgrade) firstBroken(all []successor) (int, error) {
	sources, err := gosource.GoSources(u.plan, u.project)
	if err != nil {
		return -1, err
	}
	changed := map[string][]byte{}
	for _, s := range all {
		changed[s.now.Path] = s.becomes
	}
	before, err := gosource.TypeErrors(u.plan, sources, u.project.Repo, nil)
	if err != nil {
		return -1, err
	}
	after, err := gosource.TypeErrors(u.plan, sources, u.project.Repo, changed)
	if err != nil {
		return -1, err
	}
	for _, c := range slices.SortedFunc(maps.Keys(after), func(a, b gosource.Complaint) int { return strings.Compare(a.File+a.Message, b.File+b.Message) }) {
		if len(after[c]) <= len(before[c]) {
			continue
		}
		at := max(0, slices.IndexFunc(all, func(s successor) bool { return s.now.Path == c.File }))
		all[at].obstacle = fmt.Sprintf("would not compile with %s as kctrl writes it now: %s", c.File, c.Message)
		if c.File == all[at].now.Path {
			all[at].obstacle = "would not compile with what kctrl writes there now: " + c.Message
		}
		return at, nil
	}
	return -1, nil
}

// sameRequests reports whether two versions of a file are about the same requests, in the marker of a webhook or in a
// policy. Projects of kctrls that did not keep what create webhook was told do not tell of them otherwise.
func sameRequests(name string, one, other []byte) bool {
	switch path.Ext(name) {
	case ".go":
		return slices.Equal(gosource.WebhookMarkers(one), gosource.WebhookMarkers(other))
	case ".yaml":
		return bytes.Equal(constraints(one), constraints(other))
	}
	return true
}

// constraints returns what policies of a file are about, as text.
func constraints(text []byte) []byte {
	docs, err := edit.Documents(text)
	if err != nil {
		return nil
	}
	var all []byte
	for _, doc := range docs {
		for _, field := range []string{"failurePolicy", "matchConstraints", "matchConditions"} {
			if node := yamlnode.Value(doc.Content[0], "spec", field); node != nil {
				var value any
				if node.Decode(&value) != nil {
					return nil
				}
				if text, err := yaml.Marshal(map[string]any{field: value}); err == nil {
					all = append(all, text...)
				}
			}
		}
	}
	return all
}

// offer records that what kctrl writes of a file was not taken, so that no further upgrade says so.
func (u *upgrade) offer(now project.LockEntry, theirs []byte) error {
	lock, _, err := u.plan.Lock()
	if err == nil {
		lock.Offer(now.Path, theirs, now.Template)
	}
	return err
}

// keepBase records what kctrl writes of a file that has become another, for the next merge.
func (u *upgrade) keepBase(now project.LockEntry, theirs []byte) error {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return err
	}
	lock.Record(now.Path, theirs, now.Template)
	return u.bases().Keep(theirs)
}

// base returns what kctrl wrote of a file.
func (u *upgrade) base(name string, ours []byte) ([]byte, bool) {
	lock, _, err := u.plan.Lock()
	if err != nil {
		return nil, false
	}
	return u.bases().Of(lock.Entries(name), ours)
}

func (u *upgrade) bases() sync.Bases { return sync.NewBases(u.plan, u.options.Base) }

func (u *upgrade) dropBases() error { return u.bases().Drop() }
