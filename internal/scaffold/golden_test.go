package scaffold_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// story is a project and the commands that create it.
type story struct {
	golden string // the directory below testdata
	init   scaffold.InitOptions
	create []any // scaffold.APIOptions and others
}

func stories() []story {
	return []story{
		{
			golden: "project",
			init: scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", Owner: "The Guestbook Authors",
				Year: 2026},
			create: []any{
				scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
					Namespaced: true},
				scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Plural: "shelves", Resource: true,
					Controller: true},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Validation: true},
				scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true, Controller: true,
					Namespaced: true},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Defaulting: true, Validation: true},
			},
		},
		{
			golden: "project-multigroup",
			init: scaffold.InitOptions{
				Domain: "example.org", Repo: "example.org/fleet", ProjectName: "fleet-operator", License: "none", Year: 2026,
				MultiGroup: true, Namespaced: true,
			},
			create: []any{
				scaffold.APIOptions{Group: "crew", Version: "v1", Kind: "Captain", Resource: true, Controller: true,
					Namespaced: true},
				scaffold.APIOptions{Group: "ship", Version: "v1beta1", Kind: "Frigate", Resource: true, Namespaced: true},
				scaffold.APIOptions{Group: "ship", Version: "v1beta1", Kind: "Frigate", Controller: true},
				scaffold.APIOptions{Group: "sea.creatures", Version: "v1alpha1", Kind: "Client", Resource: true, Controller: true,
					Namespaced: true},
				scaffold.APIOptions{Group: "sea-creatures", Version: "v1alpha1", Kind: "Client", Resource: true, Controller: true,
					Namespaced: true},
				scaffold.APIOptions{Version: "v2", Kind: "HTTPRoute", Resource: true, Controller: true, Namespaced: true},
				scaffold.WebhookOptions{Group: "crew", Version: "v1", Kind: "Captain", Defaulting: true, Validation: true,
					Policy: true, Certificates: "cert-manager"},
				scaffold.APIOptions{Group: "sea.creatures", Version: "v1", Kind: "Client", Resource: true, Controller: true,
					StorageVersion: true},
				scaffold.WebhookOptions{
					Group: "apps", Version: "v1", Kind: "Deployment", Defaulting: true,
					Requests: render.Requests{FailurePolicy: "ignore", ObjectSelector: "app.kubernetes.io/part-of"},
				},
			},
		},
		{
			golden: "project-apimodule",
			init: scaffold.InitOptions{Domain: "example.com", Repo: "example.com/library", License: "none", Year: 2026,
				APIModule: true},
			create: []any{
				scaffold.APIOptions{
					Group: "books", Version: "v1", Kind: "Shelf", Plural: "shelves", Resource: true, Controller: true,
					Namespaced: true,
					Shape:      render.Shape{Fields: []string{"rows:int32,min=1,default=3"}},
				},
				scaffold.APIOptions{Group: "books", Version: "v2", Kind: "Shelf", Resource: true},
				scaffold.WebhookOptions{Group: "books", Version: "v2", Kind: "Shelf", Validation: true},
			},
		},
		{
			golden: "project-controllers",
			init:   scaffold.InitOptions{Domain: "example.com", Repo: "example.com/website", License: "none", Year: 2026},
			create: []any{
				scaffold.APIOptions{
					Group: "web", Version: "v1", Kind: "Site", Resource: true, Controller: true, Namespaced: true,
					Operand: &render.Operand{Image: "nginx:1.29", Port: 8080, Finalizer: true},
					Shape: render.Shape{
						Fields: []string{
							`mode:string,enum=Static|Dynamic,default=Static,doc="mode says whether pages are made when they are asked for."`,
							"domains:[]string,format=hostname,maxItems=16,unique,optional",
							"tls.secretRef:ref=Secret,optional",
							`storage:quantity,optional,rule="!quantity(string(self)).isLessThan(quantity(string(oldSelf)))",message="storage may only grow"`,
						},
						ShortNames: []string{"si"}, Categories: []string{"all"}, Columns: []string{"Mode:string:.spec.mode"},
					},
				},
				scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true},
				scaffold.ControllerOptions{Group: "core", Version: "v1", Kind: "Namespace", Name: "tenants"},
				scaffold.ControllerOptions{Group: "web", Version: "v1", Kind: "Site", Name: "backup"},
			},
		},
	}
}

// TestGolden compares the output of the commands with the projects in testdata, which reviewers read. After every
// command it checks the types, and that the project can be deployed. [TestScaffoldedTestsPass] builds the projects.
func TestGolden(t *testing.T) {
	for _, story := range stories() {
		t.Run(story.golden, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.initialize(t, story.init)
			p.check(t)
			for _, opts := range story.create {
				p.create(t, opts)
				p.check(t)
			}
			compareTrees(t, filepath.Join("..", "..", "testdata", story.golden), p.tree(t))
			p.checkComponents(t)
		})
	}
}

// testProject is a project in a temporary directory.
type testProject struct {
	dir string
}

func newProject(t *testing.T) *testProject {
	t.Helper()
	return &testProject{dir: t.TempDir()}
}

// open returns the files of the project and closes them at the end of the test.
func (p *testProject) open(t *testing.T) afero.Fs {
	t.Helper()
	root, err := transaction.Open(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func (p *testProject) initialize(t *testing.T, opts scaffold.InitOptions) {
	t.Helper()
	root := p.open(t)
	plan, err := scaffold.PlanInit(afero.NewIOFS(root), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), root, "test"); err != nil {
		t.Fatal(err)
	}
}

func (p *testProject) createAPI(t *testing.T, opts scaffold.APIOptions) {
	t.Helper()
	p.create(t, opts)
}

// create runs a create command.
func (p *testProject) create(t *testing.T, opts any) {
	t.Helper()
	plan, err := p.plan(t, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context(), p.open(t), "test"); err != nil {
		t.Fatal(err)
	}
}

func (p *testProject) planAPI(t *testing.T, opts scaffold.APIOptions) (*plan.Plan, error) {
	t.Helper()
	return p.plan(t, opts)
}

// plan executes the part of a create command that precedes writing.
func (p *testProject) plan(t *testing.T, opts any) (*plan.Plan, error) {
	t.Helper()
	fsys := afero.NewIOFS(p.open(t))
	proj, err := project.Load(fsys)
	if err != nil {
		return nil, err
	}
	plan, err := planOf(fsys, proj, opts)
	if err != nil {
		return nil, err
	}
	generators := []string{generate.Object, "applyconfig", generate.CRD, generate.RBAC}
	if _, ok := opts.(scaffold.WebhookOptions); ok {
		generators = append(generators, "webhook")
	}
	return plan, generate.Run(t.Context(), p.dir, plan, proj, generate.Options{Generators: generators})
}

func planOf(fsys fs.FS, proj *project.Project, opts any) (*plan.Plan, error) {
	switch opts := opts.(type) {
	case scaffold.APIOptions:
		return scaffold.PlanAPI(fsys, proj, opts)
	case scaffold.WebhookOptions:
		return scaffold.PlanWebhook(fsys, proj, opts)
	case scaffold.ControllerOptions:
		return scaffold.PlanController(fsys, proj, opts)
	case deletion:
		return opts.plan(fsys, proj, opts.DeleteOptions)
	case change:
		return opts.plan(fsys, proj)
	case renaming:
		return opts.plan(fsys, proj, opts.RenameOptions)
	case upgrading:
		return opts.plan(fsys, proj)
	}
	return nil, fmt.Errorf("no command takes %T", opts)
}

var bundledInLock = regexp.MustCompile(`(?m)^third_party/kctrl/.*\n`)

// tree returns the files of the project without the bundled runtime, which changes with every change of runtime/.
func (p *testProject) tree(t *testing.T) map[string][]byte {
	t.Helper()
	tree := readTree(t, p.dir)
	maps.DeleteFunc(tree, func(name string, _ []byte) bool { return strings.HasPrefix(name, "third_party/") })
	tree[project.LockFile] = bundledInLock.ReplaceAll(tree[project.LockFile], nil)
	return tree
}

func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	tree := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		tree[name], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// compareTrees compares a directory with the expected one. With -update it updates the expected one.
func compareTrees(t *testing.T, dir string, want map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for name, content := range want {
			writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), content)
		}
		return
	}
	golden := readTree(t, dir)
	names := slices.Sorted(maps.Keys(want))
	for name := range golden {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is not written any more", filepath.Join(dir, name))
		}
	}
	for _, name := range names {
		content, ok := golden[name]
		switch {
		case !ok:
			t.Errorf("%s is new", filepath.Join(dir, name))
		case !bytes.Equal(content, want[name]):
			t.Errorf("%s differs:\n%s", filepath.Join(dir, name), firstDifference(content, want[name]))
		}
	}
	if t.Failed() {
		t.Log("make golden rewrites the folder, for you to review")
	}
}

func firstDifference(golden, written []byte) string {
	a, b := strings.Split(string(golden), "\n"), strings.Split(string(written), "\n")
	for i := range max(len(a), len(b)) {
		x, y := "(end)", "(end)"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d\n  golden:  %s\n  written: %s", i+1, x, y)
		}
	}
	return "no difference"
}
