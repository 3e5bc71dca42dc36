package scaffold_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

var guestbook = scaffold.APIOptions{
	Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true, Namespaced: true,
}

func newGuestbook(t *testing.T) *testProject {
	t.Helper()
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", Year: 2026})
	p.createAPI(t, guestbook)
	return p
}

func wantNoChange(t *testing.T, plan *plan.Plan) {
	t.Helper()
	if plan.Len() > 0 {
		t.Errorf("there are changes:\n%s", plan.Diff())
	}
}

func TestForceOnUnchangedFilesChangesNothing(t *testing.T) {
	p := newGuestbook(t)
	again := guestbook
	again.Force = true
	plan, err := p.planAPI(t, again)
	if err != nil {
		t.Fatal(err)
	}
	wantNoChange(t, plan)
}

// TestGenerateAfterCreateChangesNothing checks that create api has generated all files.
func TestGenerateAfterCreateChangesNothing(t *testing.T) {
	p := newGuestbook(t)
	fsys := afero.NewIOFS(p.open(t))
	proj, err := project.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	plan := plan.New(fsys)
	err = generate.Run(t.Context(), p.dir, plan, proj,
		generate.Options{Generators: []string{generate.Object, generate.CRD, generate.RBAC}})
	if err != nil {
		t.Fatal(err)
	}
	wantNoChange(t, plan)
}

// TestGenerateAfterInitChangesNothing checks that a project without kinds can be deployed.
func TestGenerateAfterInitChangesNothing(t *testing.T) {
	for _, namespaced := range []bool{false, true} {
		p := newProject(t)
		p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", Namespaced: namespaced})
		plan := plan.New(afero.NewIOFS(p.open(t)))
		err := generate.Run(t.Context(), p.dir, plan, nil,
			generate.Options{Generators: []string{generate.Object, generate.CRD, generate.RBAC}})
		if err != nil {
			t.Fatal(err)
		}
		wantNoChange(t, plan)
	}
}

// TestKindsInAnyOrderMakeTheSameTree creates two kinds in both orders, and compares the trees except PROJECT, the lock
// and lists, which follow the order.
func TestKindsInAnyOrderMakeTheSameTree(t *testing.T) {
	shelf := guestbook
	shelf.Kind = "Shelf"
	trees := []map[string][]byte{}
	for _, order := range [][]scaffold.APIOptions{{guestbook, shelf}, {shelf, guestbook}} {
		p := newProject(t)
		p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", Year: 2026})
		for _, api := range order {
			p.createAPI(t, api)
		}
		tree := p.tree(t)
		for _, ordered := range []string{
			"PROJECT", "PROJECT.lock", "cmd/zz_generated.register.go", "config/rbac/kustomization.yaml",
			"config/crd/kustomization.yaml", "config/samples/kustomization.yaml",
		} {
			tree[ordered] = nil
		}
		trees = append(trees, tree)
	}
	for name, content := range trees[0] {
		if other, ok := trees[1][name]; !ok || string(other) != string(content) {
			t.Errorf("%s depends on the order of the kinds", name)
		}
	}
	if len(trees[0]) != len(trees[1]) {
		t.Errorf("%d and %d files", len(trees[0]), len(trees[1]))
	}
}

// TestErrorLeavesTheTree checks that errors are found before the first write.
func TestErrorLeavesTheTree(t *testing.T) {
	p := newGuestbook(t)
	before := readTree(t, p.dir)
	for name, api := range map[string]scaffold.APIOptions{
		"exists":      guestbook,
		"bad kind":    {Group: "webapp", Version: "v1", Kind: "../Kind", Resource: true},
		"bad group":   {Group: "../..", Version: "v1", Kind: "Shelf", Resource: true},
		"bad plural":  {Group: "webapp", Version: "v1", Kind: "Shelf", Plural: "../x", Resource: true},
		"other group": {Group: "library", Version: "v1", Kind: "Shelf", Resource: true},
		"no resource": {Group: "webapp", Version: "v1", Kind: "Shelf", Controller: true},
	} {
		if _, err := p.planAPI(t, api); !errors.Is(err, diagnostic.ErrUsage) {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
	}
	after := readTree(t, p.dir)
	for name, content := range before {
		if string(after[name]) != string(content) {
			t.Errorf("%s changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

func TestFileOfTheUsersIsNotReplaced(t *testing.T) {
	p := newGuestbook(t)
	writeFile(t, p.dir+"/internal/controller/shelf_controller.go", []byte("package controller\n"))
	shelf := guestbook
	shelf.Kind = "Shelf"
	_, err := p.planAPI(t, shelf)
	e, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || e.Pos.Filename != "internal/controller/shelf_controller.go" || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want an error about the file", err)
	}
}
