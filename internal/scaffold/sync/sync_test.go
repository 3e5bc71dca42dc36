package sync_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
)

const (
	before, after = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
	edited        = before + "mine\n"
	clashing      = "one\nzwei\nthree\n"
)

// TestOwnerDecides passes each combination of owner, disk and trees to Sync. The sign "-" means that the file does not
// exist.
func TestOwnerDecides(t *testing.T) {
	none := "-"
	for _, test := range []struct {
		rule             string
		owner            plan.Owner
		base, disk, want string
		result           string
		conflict         string
	}{
		{"an unedited file becomes the new one", plan.Shared, before, before, after, after, ""},
		{"an edited file is merged", plan.Shared, before, edited, after, after + "mine\n", ""},
		{"edits of the same lines clash", plan.Shared, before, clashing, after, clashing, "where kctrl must change it"},
		{"an unedited file of the user becomes the new one", plan.User, before, before, after, after, ""},
		{"an edited file of the user stays", plan.User, before, edited, after, edited, ""},
		{"an API stays", plan.API, before, before, after, before, ""},
		{"an edited API stays", plan.API, before, edited, after, edited, ""},
		{"the output of a generator stays", plan.Generated, before, edited, after, edited, ""},
		{"a deleted file stays deleted", plan.Shared, before, none, after, none, ""},
		{"an unedited file goes", plan.API, before, before, none, none, ""},
		{"an edited file does not go", plan.Shared, before, edited, none, edited, "has been edited since kctrl wrote it"},
		{"an edited file of a generator goes", plan.Generated, before, edited, none, none, ""},
		{"a new file comes", plan.Shared, none, none, after, after, ""},
		{"a file of the user's own stays", plan.User, none, edited, after, edited, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			const name = "config/file.yaml"
			tree := func(content string) render.Tree {
				if content == none {
					return render.NewTree()
				}
				return render.NewTree(render.File{Path: name, Template: "x", Owner: test.owner, Content: []byte(content)})
			}
			lock, disk := &project.Lock{}, fstest.MapFS{}
			if test.base != none {
				lock.Record(name, []byte(test.base), "x")
			}
			disk[project.LockFile] = &fstest.MapFile{Data: lock.Marshal()}
			if test.disk != none {
				disk[name] = &fstest.MapFile{Data: []byte(test.disk)}
			}
			p := plan.New(disk)
			conflicts, err := sync.Sync(p, tree(test.base), tree(test.want), sync.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := p.Read(name)
			if errors.Is(err, fs.ErrNotExist) {
				result, err = []byte(none), nil
			}
			if err != nil || string(result) != test.result {
				t.Errorf("the file is %q, %v; want %q", result, err, test.result)
			}
			found := slices.ContainsFunc(conflicts, func(c sync.Conflict) bool {
				return strings.Contains(c.Message, test.conflict)
			})
			if len(conflicts) > 1 || found != (test.conflict != "") {
				t.Errorf("conflicts %v, want %q", conflicts, test.conflict)
			}
		})
	}
}

// TestListsFollowByItems checks that a kustomization loses the items of removed files, keeps the user's items, and is
// removed with its last item.
func TestListsFollowByItems(t *testing.T) {
	const list, file = "config/samples/kustomization.yaml", "config/samples/a.yaml"
	base := render.NewTree(
		render.File{Path: list, Template: "x", Owner: plan.User, Kustomization: true},
		render.File{Path: file, Template: "x", Listings: []render.Listing{{
			Folder: "config/samples", List: "resources", Item: "a.yaml",
		}}},
	)
	for _, test := range []struct{ disk, want string }{
		{"resources:\n- a.yaml\n", ""},
		{"resources:\n- a.yaml\n- mine.yaml # mine\n", "resources:\n- mine.yaml # mine\n"},
	} {
		lock := &project.Lock{}
		lock.Record(list, []byte("resources:\n- a.yaml\n"), "x")
		p := plan.New(fstest.MapFS{
			list: &fstest.MapFile{Data: []byte(test.disk)}, project.LockFile: &fstest.MapFile{Data: lock.Marshal()},
		})
		conflicts, err := sync.Sync(p, base, render.NewTree(), sync.Options{})
		if err != nil || len(conflicts) > 0 {
			t.Fatal(conflicts, err)
		}
		if text, err := p.Read(list); string(text) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q becomes %q, %v; want %q", test.disk, text, err, test.want)
		}
	}
}
