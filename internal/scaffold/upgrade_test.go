package scaffold_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/upgrade"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// olderProject is an in-memory project of an older kctrl, with the files that this kctrl wrote.
type olderProject struct {
	*randomProject
	today, old map[string][]byte // old is by hash
	changed    []string
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// newOlderProject removes lines from random files of kctrl, or adds some, as if older templates had produced them.
func newOlderProject(t *testing.T, r *rand.Rand) *olderProject {
	p := &olderProject{randomProject: newRandomProject(t, r), old: map[string][]byte{}}
	p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
		Namespaced: true})
	p.today = p.tree()
	lock, err := project.ParseLock(p.today[project.LockFile])
	if err != nil {
		t.Fatal(err)
	}
	for entry := range lock.All() {
		isTemplate := strings.HasPrefix(entry.Template, "project/") || strings.HasPrefix(entry.Template, "kind/config/rbac/")
		kept := slices.Contains([]string{".gitattributes", ".gitignore", "AGENTS.md", "README.md",
			"internal/controller/doc.go"}, entry.Path)
		if !isTemplate || kept || path.Ext(entry.Path) == ".go" || bytes.Count(p.today[entry.Path], []byte("\n")) < 8 ||
			r.IntN(2) == 0 {
			continue
		}
		lines := strings.SplitAfter(string(p.today[entry.Path]), "\n")
		at := 1 + r.IntN(2)
		if r.IntN(2) == 0 {
			lines = slices.Delete(lines, at, at+1)
		} else {
			lines = slices.Insert(lines, at, fmt.Sprintf("# of once, %d\n", r.IntN(1000)))
		}
		old := []byte(strings.Join(lines, ""))
		p.old[hashOf(old)] = old
		p.changed = append(p.changed, entry.Path)
		lock.Record(entry.Path, old, entry.Template)
		if err := afero.WriteFile(p.fs, entry.Path, old, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := afero.WriteFile(p.fs, project.LockFile, lock.Marshal(), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// upgrade upgrades the project and returns its notes.
func (p *randomProject) upgrade(base sync.History) []*diagnostic.Error {
	p.Helper()
	plan, err := upgrade.Plan(afero.NewIOFS(p.fs), p.load(), upgrade.Options{Base: base, Kctrl: memoryKctrl})
	if err != nil {
		p.Fatal(err)
	}
	if err := plan.Apply(p.Context(), p.fs, "test"); err != nil {
		p.Fatal(err)
	}
	return plan.Notes()
}

func (p *olderProject) fromHistory(_, sum string) ([]byte, bool, error) {
	content, found := p.old[sum]
	return content, found, nil
}

// keepOld simulates a file that an earlier upgrade has merged: kctrl kept the old content, which is not in git.
func (p *olderProject) keepOld(name string) {
	p.Helper()
	lock, err := project.LoadLock(afero.NewIOFS(p.fs))
	if err != nil {
		p.Fatal(err)
	}
	entry, _ := lock.Entry(name)
	if err := afero.WriteFile(p.fs, ".kctrl/base/"+entry.SHA256, p.old[entry.SHA256], 0o644); err != nil {
		p.Fatal(err)
	}
	delete(p.old, entry.SHA256)
}

// TestUpgradeMergesEdits upgrades projects of random older templates. Unedited files must equal today's, and edited
// files must have both today's content and the edits. A second upgrade must change nothing.
func TestUpgradeMergesEdits(t *testing.T) {
	seeds.Each(t, 8, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 4))
		p := newOlderProject(t, r)
		want := map[string][]byte{}
		for name, text := range p.today {
			want[name] = text
		}
		for _, name := range p.changed {
			if r.IntN(2) == 0 {
				mine := fmt.Sprintf("# mine, %d\n", r.IntN(1000))
				p.edit(name, func(text []byte) []byte { return append(text, mine...) })
				want[".kctrl/base/"+hashOf(want[name])] = want[name] // for the next merge
				want[name] = append(slices.Clone(want[name]), mine...)
				if r.IntN(2) == 0 {
					p.keepOld(name)
				}
			}
		}
		if notes := p.upgrade(p.fromHistory); len(notes) > 0 {
			t.Errorf("notes %v", notes)
		}
		if diff := sameTree(want, p.tree()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		before := p.tree()
		p.upgrade(func(string, string) ([]byte, bool, error) {
			t.Error("history is asked again")
			return nil, false, nil
		})
		if diff := sameTree(before, p.tree()); diff != "" {
			t.Errorf("a second upgrade changes (-want +got)\n%s", diff)
		}
	})
}

// TestUpgradeKeepsWhatItCannotMerge keeps and reports an edited file without a known base, and a deleted file.
func TestUpgradeKeepsWhatItCannotMerge(t *testing.T) {
	p := newOlderProject(t, rand.New(rand.NewPCG(7, 4)))
	name, gone := p.changed[0], p.changed[1]
	p.edit(name, func(text []byte) []byte { return append(text, "# mine\n"...) })
	if err := p.fs.Remove(gone); err != nil {
		t.Fatal(err)
	}
	mine := p.tree()[name]
	notes := p.upgrade(func(string, string) ([]byte, bool, error) { return nil, false, nil })
	if len(notes) != 1 || notes[0].Pos.Filename != name || notes[0].Hint == "" {
		t.Errorf("notes %v, want one about %s", notes, name)
	}
	if !bytes.Equal(p.tree()[name], mine) {
		t.Errorf("%s has changed", name)
	}
	if _, back := p.tree()[gone]; back {
		t.Errorf("%s is back", gone)
	}
}

// TestUpgradeNamesTypesAndSamplesOfNewerTemplates checks that types and samples with newer templates are reported once,
// in one note, whether they are edited or not. Further versions, which started as copies of the user's types, and files
// equal to the current templates are not reported.
func TestUpgradeNamesTypesAndSamplesOfNewerTemplates(t *testing.T) {
	const types, sample = "api/v1/guestbook_types.go", "config/samples/webapp_v1_guestbook.yaml"
	for name, edited := range map[string]bool{"as it was": false, "edited": true} {
		t.Run(name, func(t *testing.T) {
			p := newMemoryProject(t, scaffold.InitOptions{})
			api := scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
				Namespaced: true}
			p.run(api)
			api.Kind = "Shelf"
			p.run(api)
			p.asOlder(types, "// Guestbook of once.\n")
			p.asOlder(sample, "# of once\n")
			if edited {
				p.edit(types, func(text []byte) []byte { return append(text, "\n// mine\n"...) })
				p.edit("api/v1/shelf_types.go", func(text []byte) []byte { return append(text, "\n// mine\n"...) })
			}
			further := scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true, Namespaced: true}
			p.run(further)
			further.Kind = "Shelf"
			p.run(further)
			before := p.tree()
			none := func(string, string) ([]byte, bool, error) { return nil, false, nil }
			notes := p.upgrade(none)
			if len(notes) != 1 || !strings.HasSuffix(notes[0].Message, ": "+types+", "+sample) || notes[0].Hint == "" {
				t.Errorf("notes %v, want one about %s and %s", notes, types, sample)
			}
			for _, name := range []string{types, sample} {
				if !bytes.Equal(before[name], p.tree()[name]) {
					t.Errorf("%s has changed", name)
				}
			}
			if notes := p.upgrade(none); len(notes) > 0 {
				t.Errorf("a second upgrade says %v", notes)
			}
		})
	}
}

// asOlder simulates a file that another kctrl has written with an additional line.
func (p *randomProject) asOlder(name, line string) {
	p.Helper()
	text := append([]byte(nil), p.tree()[name]...)
	text = append(text, line...)
	fsys := afero.NewIOFS(p.fs)
	lock, err := project.LoadLock(fsys)
	if err != nil {
		p.Fatal(err)
	}
	entry, _ := lock.Entry(name)
	lock.Record(name, text, entry.Template)
	proj := bytes.Replace(p.tree()[project.File], []byte("kctrl: "+memoryKctrl.Version), []byte("kctrl: v0.9.0"), 1)
	err = errors.Join(
		afero.WriteFile(p.fs, name, text, 0o644), afero.WriteFile(p.fs, project.LockFile, lock.Marshal(), 0o644),
		afero.WriteFile(p.fs, project.File, proj, 0o644),
	)
	if err != nil {
		p.Fatal(err)
	}
}

// TestUpgradeSeesNoTemplateInAnotherHeader changes the header of edited and unedited Go files. A changed header is not
// a newer template; a newer template is still reported.
func TestUpgradeSeesNoTemplateInAnotherHeader(t *testing.T) {
	const header, types, controller = "// Copyright 2026 ACME.\n\n// All rights reserved.\n", "api/v1/guestbook_types.go",
		"internal/controller/guestbook_controller.go"
	begin := func(text []byte) []byte {
		_, code, _ := bytes.Cut(text, []byte("*/\n"))
		return slices.Concat([]byte(header), code)
	}
	end := func(text []byte) []byte { return append(text, "\n// mine\n"...) }
	none := func(string, string) ([]byte, bool, error) { return nil, false, nil }
	for name, test := range map[string]struct {
		edits   []func([]byte) []byte
		inGit   bool
		newer   string // last line of the older template
		noticed int
	}{
		"as it was":                  {},
		"edited":                     {edits: []func([]byte) []byte{end}},
		"with the new header":        {edits: []func([]byte) []byte{begin}},
		"edited, with the new one":   {edits: []func([]byte) []byte{begin, end}, inGit: true},
		"of an older template":       {newer: "\n// Once.\n", noticed: 1},
		"edited, of an older one":    {edits: []func([]byte) []byte{end}, newer: "\n// Once.\n", noticed: 1},
		"with CRLF":                  {edits: []func([]byte) []byte{end, edits["CRLF"]}},
		"with CRLF and a new header": {edits: []func([]byte) []byte{begin, edits["CRLF"]}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newEdited(t)
			p.asOlder(types, test.newer)
			old := p.tree()
			if err := afero.WriteFile(p.fs, "hack/boilerplate.go.txt", []byte(header), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, change := range test.edits {
				for _, file := range []string{types, controller} {
					p.edit(file, change)
				}
			}
			history := none
			if test.inGit {
				history = func(name, sum string) ([]byte, bool, error) {
					return old[name], hashOf(old[name]) == sum, nil
				}
			}
			notes := p.upgrade(history)
			if len(notes) != test.noticed || len(notes) > 0 && !strings.Contains(notes[0].Message, types) {
				t.Errorf("notes %v, want %d", notes, test.noticed)
			}
			if notes := p.upgrade(none); len(notes) > 0 {
				t.Errorf("a second upgrade says %v", notes)
			}
		})
	}
}

// TestUpgradeLeavesConflictsToTheUser expects conflict markers, and their line in the note.
func TestUpgradeLeavesConflictsToTheUser(t *testing.T) {
	p := newOlderProject(t, rand.New(rand.NewPCG(7, 4)))
	name := p.changed[0]
	p.edit(name, func(text []byte) []byte {
		lines := strings.SplitAfter(string(text), "\n")
		lines[1], lines[2] = "# mine\n", "# mine too\n"
		return []byte(strings.Join(lines, ""))
	})
	notes := p.upgrade(p.fromHistory)
	lines := strings.Split(string(p.tree()[name]), "\n")
	if len(notes) != 1 || notes[0].Pos.Filename != name || !strings.HasPrefix(lines[notes[0].Pos.Line-1],
		"<<<<<<< yours") {
		t.Errorf("notes %v of\n%s", notes, p.tree()[name])
	}

	// The next kctrl merges nothing into it and reports the conflict. After the user resolves it, kctrl merges again.
	unresolved := p.tree()[name]
	next := append(slices.Clone(p.today[name]), "# of another day\n"...)
	lock, err := project.LoadLock(afero.NewIOFS(p.fs))
	if err != nil {
		t.Fatal(err)
	}
	lock.Record(name, next, "")
	if err := errors.Join(afero.WriteFile(p.fs, project.LockFile, lock.Marshal(), 0o644),
		afero.WriteFile(p.fs, ".kctrl/base/"+hashOf(next), next, 0o644)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		notes = p.upgrade(p.fromHistory)
		if len(notes) != 1 || notes[0].Pos.Filename != name ||
			!strings.Contains(notes[0].Message, "has a conflict") ||
			!bytes.Equal(p.tree()[name], unresolved) {
			t.Errorf("notes %v of\n%s", notes, p.tree()[name])
		}
	}
	p.edit(name, func([]byte) []byte { return append(slices.Clone(next), "# mine\n"...) })
	p.edit(name, edits["CRLF"])
	if notes = p.upgrade(p.fromHistory); len(notes) != 1 || !strings.Contains(notes[0].Message, "has a conflict") {
		t.Errorf("notes %v of\n%s", notes, p.tree()[name])
	}
	if text := p.tree()[name]; bytes.Count(text, []byte("\n")) != bytes.Count(text, []byte("\r\n")) {
		t.Errorf("other line ends: %q", text)
	}
}

// TestUpgradeMergesEditsAfterARename renames the kind in edited projects of older templates and then upgrades them.
// kctrl's old content contains the old names, but must be merged nevertheless.
func TestUpgradeMergesEditsAfterARename(t *testing.T) {
	seeds.Each(t, 8, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 8))
		p := newOlderProject(t, r)
		mine := map[string]string{}
		for _, name := range p.changed {
			if r.IntN(2) == 0 {
				mine[name] = fmt.Sprintf("# mine, %d\n", r.IntN(1000))
				p.edit(name, func(text []byte) []byte { return append(text, mine[name]...) })
				if r.IntN(2) == 0 {
					p.keepOld(name)
				}
			}
		}
		guest := renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl,
			Base: p.fromHistory}, scaffold.PlanRenameKind}
		if plan, err := planOf(afero.NewIOFS(p.fs), p.load(), guest); err != nil {
			if !strings.Contains(err.Error(), "has been edited where kctrl must change it") &&
				!strings.Contains(err.Error(), "not valid YAML") {
				t.Fatal(err)
			}
			return // an older kctrl wrote the name beside the new content
		} else if err := plan.Apply(t.Context(), p.fs, "test"); err != nil {
			t.Fatal(err)
		}
		atOldPaths := func(name, sum string) ([]byte, bool, error) {
			content, found, err := p.fromHistory(name, sum)
			return content, found && !strings.Contains(name, "visitor"), err
		}
		if notes := p.upgrade(atOldPaths); len(notes) > 0 {
			t.Errorf("notes %v", notes)
		}
		want := randomProject{T: t}
		want.restore(p.today)
		if !want.run(guest) {
			t.Fatal("the kind of today cannot be renamed")
		}
		got, today := p.tree(), want.tree()
		for name, text := range mine {
			name = strings.ReplaceAll(name, "guestbook_", "visitor_")
			if string(got[name]) != string(today[name])+text {
				t.Errorf("%s is\n%s\nwant, with %q,\n%s", name, got[name], text, today[name])
			}
		}
	})
}

// TestRenameKeepsWhatEditsAreMergedFrom checks that upgrades after a rename find the base of the merge, although git
// has the files under their old paths and with their old content.
func TestRenameKeepsWhatEditsAreMergedFrom(t *testing.T) {
	p := newEdited(t)
	const name = "internal/controller/guestbook_controller.go"
	p.edit(name, func(text []byte) []byte { return append(text, "\n// mine\n"...) })
	before := p.tree()
	there := renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind}
	back := renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Visitor", To: "Guestbook", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind}
	p.run(there)
	fresh := newMemoryProject(t, scaffold.InitOptions{})
	fresh.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Visitor", Resource: true, Controller: true,
		Namespaced: true})
	want := fresh.tree()["internal/controller/visitor_controller.go"]
	if kept := p.tree()[".kctrl/base/"+hashOf(want)]; !bytes.Equal(kept, want) {
		t.Errorf("what the controller was edited from is\n%s\nwant\n%s", kept, want)
	}
	p.run(back)
	if diff := sameTree(before, p.tree()); diff != "" {
		t.Errorf("there and back (-want +got)\n%s", diff)
	}
}

// TestUpgradeReportsForeignFilesOnce checks files that kctrl did not write, such as the files of a migrated project.
// They do not change, and the lock does not list them.
func TestUpgradeReportsForeignFilesOnce(t *testing.T) {
	p := newEdited(t)
	const foreign = "config/rbac/metrics_auth_role.yaml"
	lock, err := project.LoadLock(afero.NewIOFS(p.fs))
	if err != nil {
		t.Fatal(err)
	}
	lock.Forget(foreign)
	if err := afero.WriteFile(p.fs, project.LockFile, lock.Marshal(), 0o644); err != nil {
		t.Fatal(err)
	}
	p.edit(foreign, func(text []byte) []byte { return append(text, "# mine\n"...) })
	mine := p.tree()[foreign]
	none := func(string, string) ([]byte, bool, error) { return nil, false, nil }
	if notes := p.upgrade(none); len(notes) != 1 || !strings.HasSuffix(notes[0].Message, "of these names: "+foreign) {
		t.Errorf("notes %v, want one about %s", notes, foreign)
	}
	if notes := p.upgrade(none); len(notes) > 0 {
		t.Errorf("a second upgrade says %v", notes)
	}
	if !bytes.Equal(p.tree()[foreign], mine) {
		t.Errorf("%s has changed", foreign)
	}
	if lock, err = project.LoadLock(afero.NewIOFS(p.fs)); err != nil {
		t.Fatal(err)
	}
	if _, known := lock.Entry(foreign); known {
		t.Errorf("the lock has %s, which kctrl has not written", foreign)
	}
}

// TestUpgradeKeepsSupportedKubernetesModules lowers the minor version of the k8s.io modules in projects with a bundled
// runtime.
func TestUpgradeKeepsSupportedKubernetesModules(t *testing.T) {
	module := regexp.MustCompile(`(k8s\.io/[a-z-]+ v0)\.([1-9]\d*)\.\d+`)
	for lower, kept := range []bool{false, true, true, false} {
		p := &randomProject{T: t, fs: afero.NewMemMapFs()}
		created, err := scaffold.PlanInit(afero.NewIOFS(p.fs), scaffold.InitOptions{Domain: "example.com",
			Repo: "example.com/guestbook", APIModule: true, Runtime: project.Bundled, Kctrl: memoryKctrl})
		if err == nil {
			err = created.Apply(t.Context(), p.fs, "test")
		}
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"go.mod", "go.sum", "api/go.mod", "api/go.sum"}
		for _, name := range names {
			p.edit(name, func(text []byte) []byte {
				if path.Ext(name) == ".sum" {
					return []byte{}
				}
				return module.ReplaceAllFunc(text, func(require []byte) []byte {
					m := module.FindSubmatch(require)
					minor, _ := strconv.Atoi(string(m[2]))
					return fmt.Appendf(nil, "%s.%d.1", m[1], minor-lower)
				})
			})
		}
		before := p.tree()
		p.upgrade(nil)
		after := p.tree()
		for _, name := range names {
			if diff := cmp.Diff(string(before[name]), string(after[name])); (diff == "") != kept {
				t.Errorf("%d minor versions lower: %s changes by %q", lower, name, diff)
			}
		}
	}
}
