package scaffold_test

import (
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// TestKindsOfOthersAreNamedAsSuch checks a kind of a migrated project, which must not be reported as missing.
func TestKindsOfOthersAreNamedAsSuch(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	proj := p.load()
	if err := proj.Add(project.Resource{Group: "webapp", Domain: "example.com", Version: "v1", Kind: "Page",
		Plural: "pages", Path: "example.com/guestbook/api/v1"}); err != nil {
		t.Fatal(err)
	}
	fsys := afero.NewIOFS(p.fs)
	for name, run := range map[string]func() error{
		"delete": func() error {
			_, err := scaffold.PlanDeleteAPI(fsys, proj, scaffold.DeleteOptions{Group: "webapp", Kind: "Page"})
			return err
		},
		"rename": func() error {
			_, err := scaffold.PlanRenameKind(fsys, proj, scaffold.RenameOptions{Group: "webapp", Kind: "Page", To: "Leaf"})
			return err
		},
		"rename group": func() error {
			_, err := scaffold.PlanRenameGroup(fsys, proj, scaffold.RenameOptions{Group: "webapp", To: "web"})
			return err
		},
	} {
		want := "kctrl create api did not create webapp.example.com/v1.Page, whose types are in example.com/guestbook/api/v1"
		if err := run(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestKindsOfTheModuleFollowItsPath checks that the types of a migrated project belong to it, and that their import
// path changes with the module.
func TestKindsOfTheModuleFollowItsPath(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	proj := p.load()
	for kind, at := range map[string]string{"Page": "example.com/guestbook/api/v1",
		"Leaf": "example.com/guestbooks/api/v1"} {
		if err := proj.Add(project.Resource{Group: "webapp", Domain: "example.com", Version: "v1", Kind: kind,
			Plural: strings.ToLower(kind) + "s", Path: at}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := scaffold.PlanEdit(afero.NewIOFS(p.fs), proj, scaffold.EditOptions{Repo: new("example.org/library"),
		Kctrl: memoryKctrl}); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"Page": "example.org/library/api/v1",
		"Leaf": "example.com/guestbooks/api/v1"} {
		if r, found := proj.Find("webapp.example.com", "v1", kind); !found || r.Path != want {
			t.Errorf("%s is in %+v, want %s", kind, r, want)
		}
	}
}

// TestPagesOfOthersDoNotStandAgainstAnEdit checks that an edit keeps pages that users or tools wrote about the project,
// and lists them.
func TestPagesOfOthersDoNotStandAgainstAnEdit(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	lock, err := afero.ReadFile(p.fs, project.LockFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(lock)) {
		if !strings.HasPrefix(line, "AGENTS.md\t") {
			kept = append(kept, line)
		}
	}
	p.put(project.LockFile, strings.Join(kept, ""))
	p.put("AGENTS.md", "Mine, about guestbook.\n")
	plan, err := scaffold.PlanEdit(afero.NewIOFS(p.fs), p.load(), scaffold.EditOptions{MultiGroup: new(true),
		Kctrl: memoryKctrl})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := plan.Read("AGENTS.md"); err != nil || string(text) != "Mine, about guestbook.\n" {
		t.Errorf("%s, %v", text, err)
	}
	if notes := plan.Notes(); len(notes) != 1 || notes[0].Error() != "AGENTS.md: was not written by kctrl, and is kept "+
		"as it is" {
		t.Errorf("%v", notes)
	}
}
