package scaffold_test

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// change is an edit of a whole project.
type change struct{ scaffold.EditOptions }

func (c change) plan(fsys fs.FS, proj *project.Project) (*plan.Plan, error) {
	c.Kctrl, c.Year = memoryKctrl, 2026
	return scaffold.PlanEdit(fsys, proj, c.EditOptions)
}

// changesOf returns edits, each with its inverse.
func changesOf(proj *project.Project) map[string][2]change {
	of := func(set func(*scaffold.EditOptions, bool)) [2]change {
		var there, back change
		set(&there.EditOptions, true)
		set(&back.EditOptions, false)
		return [2]change{there, back}
	}
	text := func(there bool, now, was string) *string {
		if there {
			return &now
		}
		return &was
	}
	license := map[bool]string{true: "apache2", false: "none"}[proj.License == "none"]
	return map[string][2]change{
		"multigroup": of(func(o *scaffold.EditOptions, there bool) { o.MultiGroup = new(proj.MultiGroup != there) }),
		"namespaced": of(func(o *scaffold.EditOptions, there bool) { o.Namespaced = new(proj.Namespaced != there) }),
		"apiModule":  of(func(o *scaffold.EditOptions, there bool) { o.APIModule = new(proj.APIModule != there) }),
		"domain":     of(func(o *scaffold.EditOptions, there bool) { o.Domain = text(there, "example.org", proj.Domain) }),
		"repo": of(func(o *scaffold.EditOptions, there bool) {
			o.Repo = text(there, "example.org/library/books", proj.Repo)
		}),
		"name":    of(func(o *scaffold.EditOptions, there bool) { o.ProjectName = text(there, "library", proj.Name) }),
		"license": of(func(o *scaffold.EditOptions, there bool) { o.License = text(there, license, proj.License) }),
		"owner":   of(func(o *scaffold.EditOptions, there bool) { o.Owner = text(there, "The Authors", proj.Owner) }),
		"certificates": of(func(o *scaffold.EditOptions, there bool) {
			is := cmp.Or(proj.Certificates, project.SelfSigned)
			o.Certificates = text(there, map[bool]string{true: project.CertManager,
				false: project.SelfSigned}[is == project.SelfSigned], is)
		}),
		"feature": of(func(o *scaffold.EditOptions, there bool) {
			o.Features = map[string]bool{"network-policy": there, "prometheus": there}
		}),
	}
}

// TestEditThereAndBack applies edits to random projects and reverts them. After each step the project can be deployed,
// and at the end every file is unchanged. Consecutive seeds try all edits in turn.
func TestEditThereAndBack(t *testing.T) {
	const perSeed = 4
	names := slices.Sorted(maps.Keys(changesOf(&project.Project{})))
	seeds.Each(t, 3, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 3))
		p := newMemoryProject(t, scaffold.InitOptions{MultiGroup: r.IntN(2) == 0, Namespaced: r.IntN(4) == 0})
		for range length(r, 12) {
			p.run(randomOptions(r))
		}
		// Act as the user: add text to files of kctrl, and add files.
		for file := range p.tree() {
			if strings.HasSuffix(file, "_types.go") || strings.HasSuffix(file, "_controller.go") {
				p.edit(file, func(text []byte) []byte { return append(text, "\n// mine is mine.\n"...) })
			}
		}
		tree, accepted := p.tree(), 0
		for i := range uint64(perSeed) {
			name := names[(seed*perSeed+i)%uint64(len(names))]
			pair := changesOf(p.load())[name]
			if !p.run(pair[0]) {
				continue // not a valid command line for such a project
			}
			accepted++
			p.check()
			if sameTree(tree, p.tree()) == "" {
				t.Errorf("%s changes nothing", name)
			}
			if !p.run(pair[1]) {
				t.Fatalf("%s cannot be reverted", name)
			}
			p.check()
			if diff := sameTree(tree, p.tree()); diff != "" {
				t.Fatalf("%s there and back (-want +got)\n%s", name, diff)
			}
		}
		if accepted == 0 {
			t.Error("every edit is refused")
		}
	})
}

// TestEditMakesWhatInitWouldHaveMade compares an edited project with one that had the settings from the start. Neither
// has edits by a user.
func TestEditMakesWhatInitWouldHaveMade(t *testing.T) {
	for name, pair := range changesOf(&project.Project{Domain: "example.com", Repo: "example.com/guestbook",
		Name: "guestbook", License: "none"}) {
		if name == "feature" || name == "certificates" || name == "repo" || name == "domain" || name == "name" ||
			name == "license" || name == "owner" {
			continue // newMemoryProject does not choose it
		}
		t.Run(name, func(t *testing.T) {
			init := scaffold.InitOptions{}
			switch name {
			case "multigroup":
				init.MultiGroup = true
			case "namespaced":
				init.Namespaced = true
			case "apiModule":
				init.APIModule = true
			}
			commands := []any{
				scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
					Namespaced: true},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Validation: true},
				scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true, Namespaced: true},
				scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true},
			}
			want, got := newMemoryProject(t, init), newMemoryProject(t, scaffold.InitOptions{})
			for _, p := range []*randomProject{want, got} {
				for _, opts := range commands {
					if !p.run(opts) {
						t.Fatalf("%+v is refused", opts)
					}
				}
			}
			if !got.run(pair[0]) {
				t.Fatal("refused")
			}
			got.check()
			if diff := sameTree(want.tree(), got.tree()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestEditMovesWhatIsBeside moves files next to the generated files of a package, and updates importing packages.
func TestEditMovesWhatIsBeside(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
		Namespaced: true})
	files := map[string]string{
		"api/v1/more.go":                "package v1\n\n// More is more.\nfunc (g *Guestbook) More() {}\n",
		"internal/controller/helper.go": "package controller\n\nfunc (r *GuestbookReconciler) help() {}\n",
		"internal/controller/helper_test.go": "package controller\n\nimport \"testing\"\n\nfunc TestHelp(t *testing.T) { " +
			"new(GuestbookReconciler).help() }\n",
		"cmd/parts.go": "package main\n\nimport (\n\twebappv1 \"example.com/guestbook/api/v1\" // " +
			"ours\n\t\"example.com/guestbook/internal/controller\"\n)\n\nvar _ webappv1.Guestbook\n\nfunc one() (r " +
			"controller.GuestbookReconciler) { return r }\n",
	}
	for name, text := range files {
		if err := afero.WriteFile(p.fs, name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree := p.tree()
	if !p.run(change{scaffold.EditOptions{MultiGroup: new(true)}}) {
		t.Fatal("refused")
	}
	p.check()
	got := p.tree()
	for old, now := range map[string]string{
		"api/v1/more.go": "api/webapp/v1/more.go", "internal/controller/helper.go": "internal/controller/webapp/helper.go",
		"internal/controller/helper_test.go": "internal/controller/webapp/helper_test.go",
	} {
		if string(got[now]) != files[old] || got[old] != nil {
			t.Errorf("%s is not %s", old, now)
		}
	}
	for _, want := range []string{`webappv1 "example.com/guestbook/api/webapp/v1" // ours`,
		`"example.com/guestbook/internal/controller/webapp"`} {
		if !strings.Contains(string(got["cmd/parts.go"]), want) {
			t.Errorf("cmd/parts.go has no %s:\n%s", want, got["cmd/parts.go"])
		}
	}
	if !p.run(change{scaffold.EditOptions{MultiGroup: new(false)}}) {
		t.Fatal("refused")
	}
	if diff := sameTree(tree, p.tree()); diff != "" {
		t.Errorf("there and back (-want +got)\n%s", diff)
	}
}

// TestEditMakesWhatAMoveLeavesBehind moves a package that shared a file with another one. The file moves with the kind
// that came first, and the other package gets its own file. Moved files keep their permissions.
func TestEditMakesWhatAMoveLeavesBehind(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{MultiGroup: true})
	p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
		Namespaced: true})
	p.run(scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Validation: true})
	p.run(scaffold.WebhookOptions{Group: "core", Version: "v1", Kind: "Pod", Validation: true, Namespaced: true})
	const before, after = "internal/controller/webapp/guestbook_controller.go",
		"internal/controller/guestbook_controller.go"
	if err := p.fs.Chmod(before, 0o755); err != nil {
		t.Fatal(err)
	}
	tree := p.tree()
	for i, name := range []string{after, before} {
		if !p.run(change{scaffold.EditOptions{MultiGroup: new(i == 1)}}) {
			t.Fatal("refused")
		}
		p.check()
		if info, err := p.fs.Stat(name); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	if diff := sameTree(tree, p.tree()); diff != "" {
		t.Errorf("there and back (-want +got)\n%s", diff)
	}
}

// TestFilesOfTheUsersKeepTheirPlace checks that kctrl does not move a file to the path of a user's file, and changes
// nothing else.
func TestFilesOfTheUsersKeepTheirPlace(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{MultiGroup: true})
	p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Namespaced: true})
	p.run(scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true})
	if err := afero.WriteFile(p.fs, "internal/webhook/doc.go", []byte("// Package webhook is mine.\npackage webhook\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	_, err := scaffold.PlanEdit(afero.NewIOFS(p.fs), p.load(), scaffold.EditOptions{MultiGroup: new(false),
		Kctrl: memoryKctrl})
	if want := "internal/webhook/webapp/doc.go: would become internal/webhook/doc.go, which exists"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestEditKeepsLineEnds checks that unedited files with CRLF and a byte order mark are rewritten without a conflict,
// and keep both.
func TestEditKeepsLineEnds(t *testing.T) {
	mark := []byte("\ufeff")
	p := newEdited(t)
	p.run(scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Validation: true})
	for name := range p.tree() {
		if name != project.LockFile {
			p.edit(name, edits["CRLF"])
		}
		if path.Ext(name) == ".yaml" {
			p.edit(name, func(text []byte) []byte { return slices.Concat(mark, text) })
		}
	}
	for name, pair := range changesOf(p.load()) {
		before := p.tree()
		if !p.run(pair[0]) {
			t.Errorf("%s is refused", name)
			continue
		}
		for file, text := range p.tree() {
			made := strings.Contains(file, "zz_generated") || file == project.LockFile || path.Dir(file) == project.APIFolder
			made = made || name == "certificates" && before[file] == nil
			if lines := strings.Count(string(text), "\n"); !made && strings.Count(string(text), "\r\n") != lines {
				t.Errorf("%s: %s has other line ends", name, file)
			}
			if had := bytes.HasPrefix(before[file], mark); had != bytes.HasPrefix(text, mark) && before[file] != nil {
				t.Errorf("%s: %s had a byte order mark: %t", name, file, had)
			}
		}
		p.restore(before)
	}
}

// TestForcedConflictsAreNamed expects a note with the line of a conflict marker that a forced edit writes.
func TestForcedConflictsAreNamed(t *testing.T) {
	const file = "config/default/kustomization.yaml"
	p := newEdited(t)
	p.edit(file, func(text []byte) []byte {
		return bytes.Replace(text, []byte("namePrefix: guestbook-"), []byte("namePrefix: mine-"), 1)
	})
	plan, err := p.plan(change{scaffold.EditOptions{ProjectName: new("library"), Force: true}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range plan.Notes() {
		lines := strings.Split(string(text), "\n")
		if note.Pos.Filename == file && strings.HasPrefix(lines[note.Pos.Line-1], "<<<<<<< yours") {
			return
		}
	}
	t.Errorf("notes %v of\n%s", plan.Notes(), text)
}
