package scaffold_test

import (
	"bytes"
	"errors"
	"fmt"
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
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/upgrade"
	"github.com/kctrl-dev/kctrl/internal/testing/fault"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// renaming is a rename command.
type renaming struct {
	scaffold.RenameOptions
	plan func(fs.FS, *project.Project, scaffold.RenameOptions) (*plan.Plan, error)
}

// upgrading is an upgrade whose base comes from version control. With a nil base, version control has no files.
type upgrading struct{ base sync.History }

func (u upgrading) plan(fsys fs.FS, proj *project.Project) (*plan.Plan, error) {
	if u.base == nil {
		u.base = func(string, string) ([]byte, bool, error) { return nil, false, nil }
	}
	return upgrade.Plan(fsys, proj, upgrade.Options{Base: u.base, Kctrl: memoryKctrl})
}

// randomRenaming renames a kind, a version or a group of a project to a name with a number; back reverts it.
func randomRenaming(r *rand.Rand, proj *project.Project, number int) (there, back renaming, found bool) {
	var own []project.Resource
	for _, resource := range proj.Resources {
		if resource.API {
			own = append(own, resource)
		}
	}
	if len(own) == 0 {
		return there, back, false
	}
	one := own[r.IntN(len(own))]
	there.Kctrl, back.Kctrl = memoryKctrl, memoryKctrl
	there.Group, back.Group = one.Group, one.Group
	visitor, version, library := fmt.Sprint("Visitor", number), fmt.Sprint("v2alpha", number),
		fmt.Sprint("library", number)
	switch r.IntN(3) {
	case 0:
		there.plan, there.Kind, there.To = scaffold.PlanRenameKind, one.Kind, visitor
		back.plan, back.Kind, back.To, back.Plural = scaffold.PlanRenameKind, visitor, one.Kind, one.Plural
	case 1:
		there.plan, there.Version, there.To = scaffold.PlanRenameVersion, one.Version, version
		back.plan, back.Version, back.To = scaffold.PlanRenameVersion, version, one.Version
	default:
		there.plan, there.To = scaffold.PlanRenameGroup, library
		back.plan, back.Group, back.To = scaffold.PlanRenameGroup, library, one.Group
	}
	return there, back, true
}

// userEdits edits random files of kctrl in places that no command changes.
func (p *randomProject) userEdits(r *rand.Rand) {
	for _, name := range slices.Sorted(maps.Keys(p.tree())) {
		isUsers := strings.HasPrefix(name, "api/") || strings.HasPrefix(name, "internal/")
		if !isUsers || path.Ext(name) != ".go" || strings.Contains(name, "zz_generated") || r.IntN(3) != 0 {
			continue
		}
		p.edit(name, func(text []byte) []byte { return append(text, "\n// mine is mine.\n"...) })
	}
}

// TestRandomCommandsAndEditsCanBeReverted runs random commands of all kinds, with edits by the user in between. After
// each command the project can be deployed, commands that change a whole project can be reverted, and a repeated
// command changes nothing.
func TestRandomCommandsAndEditsCanBeReverted(t *testing.T) {
	seeds.Each(t, 3, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 11))
		p := newRandomProject(t, r)
		for i := range length(r, 5) {
			for range 3 {
				p.run(randomOptions(r))
				p.commit()
			}
			p.userEdits(r)
			p.commit()
			before := p.tree()
			mine := editsByFile(before)
			var there, back any
			if a, b, found := randomRenaming(r, p.load(), i+3); found && r.IntN(2) == 0 {
				there, back = a, b
			} else {
				all := changesOf(p.load())
				names := slices.Sorted(maps.Keys(all))
				pair := all[names[r.IntN(len(names))]]
				there, back = pair[0], pair[1]
			}
			if !p.run(there) {
				if diff := sameTree(before, p.tree()); diff != "" {
					t.Fatalf("%+v is refused, and changes (-want +got)\n%s", there, diff)
				}
				continue
			}
			if sameTree(before, p.tree()) == "" {
				continue // the setting already had this value, so undoing the edit would not restore it
			}
			p.commit()
			p.check()
			if left := editsByFile(p.tree()); sum(left) != sum(mine) {
				t.Fatalf("%+v leaves %d of %d edits: of\n%v\nthere are\n%v", there, sum(left), sum(mine), mine, left)
			}
			if c, isChange := there.(change); isChange {
				p.wantNothing(c)
			}
			p.wantNothing(upgrading{})
			if r.IntN(3) == 0 {
				continue // continue with the unchanged project
			}
			if !p.run(back) {
				t.Fatalf("%+v is refused after %+v", back, there)
			}
			if diff := sameTree(before, p.tree()); diff != "" {
				t.Fatalf("%+v and back changes (-want +got)\n%s", there, diff)
			}
		}
		p.check()
	})
}

// editsByFile counts a user's edits by file name, because directories may change. The base of a merge may also contain
// edits, because a version begins as a copy of another one.
func editsByFile(tree map[string][]byte) map[string]int {
	count := map[string]int{}
	for name, content := range tree {
		if n := bytes.Count(content, []byte("// mine is mine.")); n > 0 && !strings.HasPrefix(name, ".kctrl/base/") {
			count[name] += n
		}
	}
	return count
}

func sum(counts map[string]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

// restore replaces the files of the project with the files of a tree.
func (p *randomProject) restore(tree map[string][]byte) {
	p.Helper()
	p.fs = afero.NewMemMapFs()
	for name, content := range tree {
		if err := errors.Join(p.fs.MkdirAll(path.Dir(name), 0o755), afero.WriteFile(p.fs, name, content, 0o644)); err != nil {
			p.Fatal(err)
		}
	}
}

// TestFaultInAnyWriteOfAnyCommand fails each write of each command. Afterwards the tree is unchanged or, if all files
// were written, complete. A second run completes the command.
func TestFaultInAnyWriteOfAnyCommand(t *testing.T) {
	start := newMemoryProject(t, scaffold.InitOptions{})
	for _, opts := range []any{
		scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
			Namespaced: true},
		scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Policy: true},
	} {
		if !start.run(opts) {
			t.Fatalf("%+v is refused", opts)
		}
	}
	whole := start.tree()
	outOfDate := newOlderProject(t, rand.New(rand.NewPCG(7, 4))).tree()
	guest := scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Guest", Kctrl: memoryKctrl}
	for name, command := range map[string]struct {
		from map[string][]byte
		opts any
	}{
		"create api": {whole, scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true,
			Namespaced: true}},
		"create webhook": {whole, scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook",
			Validation: true}},
		"create controller": {whole, scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment",
			Namespaced: true}},
		"delete webhook": {whole, deletion{scaffold.DeleteOptions{Group: "webapp", Version: "v1", Kind: "Guestbook",
			Defaulting: true, Policy: true}, scaffold.PlanDeleteWebhook}},
		"delete controller": {whole, deletion{scaffold.DeleteOptions{Group: "webapp", Version: "v1", Kind: "Guestbook"},
			scaffold.PlanDeleteController}},
		"edit":        {whole, change{scaffold.EditOptions{MultiGroup: new(true), Namespaced: new(true)}}},
		"rename kind": {whole, renaming{guest, scaffold.PlanRenameKind}},
		"upgrade":     {outOfDate, upgrading{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &randomProject{T: t}
			p.restore(command.from)
			made, err := planOf(afero.NewIOFS(p.fs), p.load(), command.opts)
			if err != nil {
				t.Fatal(err)
			}
			// A failed command does not change the tree, so the same plan applies later.
			apply := func(fails func(n int, call string) error) (*fault.FS, error) {
				faulty := &fault.FS{Fs: p.fs, Fails: fails}
				return faulty, made.Apply(t.Context(), faulty, "test")
			}
			counted, err := apply(func(int, string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			want := p.tree()
			for n := 1; n <= len(counted.Calls); n += 1 + rand.IntN(1+len(counted.Calls)/25) {
				p.restore(command.from)
				faulty, err := apply(func(at int, _ string) error {
					if at == n {
						return fault.Err
					}
					return nil
				})
				call := faulty.Calls[n-1]
				if err == nil && !strings.HasPrefix(call, "link") {
					t.Errorf("%s failed, and the command reports no error", call)
				}
				done := err == nil || strings.Contains(err.Error(), "all changes are written")
				if diff := sameTree(command.from, p.tree()); diff != "" && !done {
					t.Fatalf("after a failure of %s (-want +got)\n%s", call, diff)
				}
				if _, _, err := transaction.Recover(p.fs); err != nil {
					t.Fatal(err)
				}
				if !done {
					if _, err := apply(func(int, string) error { return nil }); err != nil {
						t.Fatalf("again after a failure of %s: %v", call, err)
					}
				}
				if diff := sameTree(want, p.tree()); diff != "" {
					t.Fatalf("again after a failure of %s (-want +got)\n%s", call, diff)
				}
			}
		})
	}
}
