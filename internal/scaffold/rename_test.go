package scaffold_test

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// TestConversionsStandBesideWebhooksOfNamesakes checks a kind that has the same name as a kind of another group with
// webhooks. Webhooks for both kinds would need the same files, but conversions have their own files. Conversions can
// therefore be added, and are renamed with the kind.
func TestConversionsStandBesideWebhooksOfNamesakes(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	own := scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Deployment", Resource: true, Namespaced: true}
	second, third := own, own
	second.Version, third.Version, third.NoConversion = "v2", "v3", true
	for _, opts := range []any{
		own, scaffold.WebhookOptions{Group: "apps", Version: "v1", Kind: "Deployment", Policy: true}, second, third,
		scaffold.WebhookOptions{Group: "webapp", Version: "v2", Kind: "Deployment", Conversion: true, Spokes: []string{"v3"}},
	} {
		p.mustRun(opts)
	}
	if p.run(scaffold.WebhookOptions{Group: "webapp", Version: "v2", Kind: "Deployment", Defaulting: true}) {
		t.Error("webhooks of two kinds have the same files")
	}
	before := p.tree()
	there, back := renaming{plan: scaffold.PlanRenameKind}, renaming{plan: scaffold.PlanRenameKind}
	there.RenameOptions = scaffold.RenameOptions{Group: "webapp", Kind: "Deployment", To: "Rollout", Kctrl: memoryKctrl}
	back.RenameOptions = scaffold.RenameOptions{Group: "webapp", Kind: "Rollout", To: "Deployment", Kctrl: memoryKctrl}
	p.mustRun(there)
	p.check()
	for _, name := range []string{"rollout_v1.go", "rollout_v3.go"} {
		p.read("internal/conversion/" + name)
	}
	p.mustRun(back)
	if diff := sameTree(before, p.tree()); diff != "" {
		t.Errorf("there and back (-want +got)\n%s", diff)
	}
}

// TestRenameLeavesNamesakesAlone renames a kind whose name a kind of another group has as well. The other kind keeps
// its name in the files of kctrl and in the user's code.
func TestRenameLeavesNamesakesAlone(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{MultiGroup: true})
	own, other := shelf, shelf
	other.Group = "library"
	p.mustRun(own)
	p.mustRun(other)
	p.edit("internal/controller/library/shelf_controller_test.go", func(text []byte) []byte {
		at := bytes.Index(text, []byte("\tif err := m.Live().Create(ctx, shelf)"))
		return []byte(string(text[:at]) + "\tshelf.Labels = map[string]string{\"kind\": \"Shelf\"} // as a Shelf has them\n" +
			string(text[at:]))
	})
	of := func(tree map[string][]byte) map[string][]byte {
		maps.DeleteFunc(tree, func(name string, _ []byte) bool { return !strings.Contains(name, "/library") })
		return tree
	}
	before := of(p.tree())
	p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Shelf", To: "Rack", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind})
	p.check()
	if diff := sameTree(before, of(p.tree())); diff != "" || len(before) == 0 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRenameFollowsInEditedDocComments renames a kind in doc comments that the user has edited, which must not cause a
// conflict.
func TestRenameFollowsInEditedDocComments(t *testing.T) {
	p := newEdited(t)
	p.edit("api/v1/guestbook_types.go", func(text []byte) []byte {
		text = bytes.Replace(text, []byte("// GuestbookSpec is the desired state of a Guestbook."),
			[]byte("// GuestbookSpec is mine, for a Guestbook."), 1)
		return bytes.Replace(text, []byte("// GuestbookList is"), []byte("// mine is mine.\n\n// GuestbookList is"), 1)
	})
	before := p.tree()
	there := renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind}
	back := renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Visitor", To: "Guestbook", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind}
	p.run(there)
	text := string(p.tree()["api/v1/visitor_types.go"])
	for _, want := range []string{"// VisitorSpec is mine, for a Visitor.", "// mine is mine.\n\n// VisitorList is"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	p.run(back)
	if diff := sameTree(before, p.tree()); diff != "" {
		t.Errorf("there and back (-want +got)\n%s", diff)
	}
}

// TestRenameFollowsInFieldsAndDotImports checks that a field that embeds a kind gets the new name, even in a generic
// type. Other fields with the old name keep it.
func TestRenameFollowsInFieldsAndDotImports(t *testing.T) {
	p := newEdited(t)
	const name = "internal/controller/mine.go"
	const mine = `package controller

import (
	. "example.com/guestbook/api/v1"
	api "example.com/guestbook/api/v1"
)

type wrapped[T any] struct {
	*api.Guestbook
	value T
}

type named struct{ Guestbook Guestbook }

type Guest = api.Guestbook

type guest struct{ Guest }

func use(g Guestbook) (string, GuestbookSpec, string) {
	w := wrapped[int]{Guestbook: &g, value: 1}
	n := named{Guestbook: g}
	return w.Guestbook.Name, n.Guestbook.Spec, guest{Guest: g}.Guest.Name
}
`
	if err := afero.WriteFile(p.fs, name, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"api.Guestbook", "api.Visitor", "named struct{ Guestbook Guestbook }", "named struct{ Guestbook Visitor }",
		"use(g Guestbook)", "use(g Visitor)",
		"GuestbookSpec", "VisitorSpec", "{Guestbook: &g", "{Visitor: &g", "w.Guestbook", "w.Visitor",
	).Replace(mine)
	p.run(renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind})
	if diff := cmp.Diff(want, string(p.tree()[name])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNewNamesDoNotMeetRenamedReceivers changes lines that contain a kind or the owner of fields, as a user would. The
// user's changes of these lines must not cause conflicts.
func TestNewNamesDoNotMeetRenamedReceivers(t *testing.T) {
	p := newEdited(t)
	const name = "internal/controller/guestbook_controller.go"
	receiver := strings.NewReplacer("(r *", "(rec *", "r.Status", "rec.Status", "r.Get", "rec.Get", "r.Client",
		"rec.Client", "Complete(r)", "Complete(rec)",
		"Guestbook is ready\"", "Guestbook is quite ready\"")
	p.edit(name, func(text []byte) []byte { return []byte(receiver.Replace(string(text))) })
	before := p.tree()
	kind := func(from, to string) renaming {
		return renaming{scaffold.RenameOptions{Group: "webapp", Kind: from, To: to, Kctrl: memoryKctrl},
			scaffold.PlanRenameKind}
	}
	for _, pair := range [][2]any{
		{change{scaffold.EditOptions{MultiGroup: new(true)}}, change{scaffold.EditOptions{MultiGroup: new(false)}}},
		{kind("Guestbook", "Visitor"), kind("Visitor", "Guestbook")},
	} {
		if !p.run(pair[0]) || !p.run(pair[1]) {
			t.Fatal("refused")
		}
		if diff := sameTree(before, p.tree()); diff != "" {
			t.Errorf("there and back (-want +got)\n%s", diff)
		}
	}
	p.run(kind("Guestbook", "Visitor"))
	if text := string(p.tree()["internal/controller/visitor_controller.go"]); !strings.Contains(text,
		`rec.Status().Apply(ctx, desired, client.FieldOwner("visitor-controller")`) ||
		!strings.Contains(text, `"Visitor is quite ready"`) {
		t.Errorf("the controller is\n%s", text)
	}
}

// TestRenameVersionMeetsNames renames a version that a file imports, if the file already uses the new package name for
// something else. The import then keeps the old name. A local variable with the old package name must stay.
func TestRenameVersionMeetsNames(t *testing.T) {
	for name, test := range map[string]struct{ there, want string }{
		"another import": {
			"import (\n\t\"k8s.io/api/core/v1\"\n\n\t\"example.com/guestbook/api/v1alpha1\"\n)\n\nfunc of(*v1.Pod) (g " +
				"v1alpha1.Guestbook) { return g }\n",
			"import (\n\t\"k8s.io/api/core/v1\"\n\n\tv1alpha1 \"example.com/guestbook/api/v1\"\n)\n\nfunc of(*v1.Pod) (g " +
				"v1alpha1.Guestbook) { return g }\n",
		},
		"a variable": {
			"import \"example.com/guestbook/api/v1alpha1\"\n\nfunc of(v1 int) (g v1alpha1.Guestbook) { return g }\n",
			"import v1alpha1 \"example.com/guestbook/api/v1\"\n\nfunc of(v1 int) (g v1alpha1.Guestbook) { return g }\n",
		},
		"a name": {
			"import (\n\twebappv1alpha1 \"example.com/guestbook/api/v1alpha1\"\n\twebappv1 " +
				"\"example.com/others/api/v1\"\n)\n\nvar _ webappv1alpha1.Guestbook = webappv1.Of\n",
			"import (\n\twebappv1alpha1 \"example.com/guestbook/api/v1\"\n\twebappv1 \"example.com/others/api/v1\"\n)\n\nvar " +
				"_ webappv1alpha1.Guestbook = webappv1.Of\n",
		},
		"a variable of the old name": {
			"import \"example.com/guestbook/api/v1alpha1\"\n\nfunc of(g v1alpha1.Guestbook) int {\n\tv1alpha1 := struct{ size " +
				"int }{3}\n\treturn v1alpha1.size\n}\n",
			"import \"example.com/guestbook/api/v1\"\n\nfunc of(g v1.Guestbook) int {\n\tv1alpha1 := struct{ size int " +
				"}{3}\n\treturn v1alpha1.size\n}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newMemoryProject(t, scaffold.InitOptions{})
			p.mustRun(scaffold.APIOptions{Group: "webapp", Version: "v1alpha1", Kind: "Guestbook", Resource: true,
				Controller: true, Namespaced: true})
			p.put("internal/mine/mine.go", "package mine\n\n"+test.there)
			p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Version: "v1alpha1", To: "v1", Kctrl: memoryKctrl},
				scaffold.PlanRenameVersion})
			if diff := cmp.Diff("package mine\n\n"+test.want, string(p.tree()["internal/mine/mine.go"])); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestMovedPackagesTakeAlongWhatIsBesideThem moves packages with embedded files, files read by tests, external tests,
// and files of other generators. Moving a package back must restore the tree.
func TestMovedPackagesTakeAlongWhatIsBesideThem(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.mustRun(scaffold.APIOptions{Group: "webapp", Version: "v1alpha1", Kind: "Guestbook", Resource: true,
		Controller: true, Namespaced: true})
	beside := map[string]string{
		"schema.json":              "{}",
		"testdata/package/mine.go": "package mine // of v1alpha1\n",
		"crds/one.yaml":            "a: 1\n",
		"mine_test.go":             "package v1alpha1_test\n",
		"zz_generated.openapi.go":  "package v1alpha1\n\nvar _ = Guestbook{}\n",
	}
	for name, text := range beside {
		p.put("api/v1alpha1/"+name, text)
	}
	p.put("api/v1alpha1/validation/validation.go", "package validation\n")
	p.put("internal/controller/testdata/mine.txt", "mine\n")
	before := p.tree()
	p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Version: "v1alpha1", To: "v1", Kctrl: memoryKctrl},
		scaffold.PlanRenameVersion})
	p.mustRun(change{scaffold.EditOptions{MultiGroup: new(true)}})
	moved := p.tree()
	for name, text := range beside {
		if path.Ext(name) == ".go" && path.Dir(name) == "." {
			text = strings.ReplaceAll(text, "v1alpha1", "v1")
		}
		if diff := cmp.Diff(text, string(moved["api/webapp/v1/"+name])); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for _, name := range []string{
		"api/v1alpha1/validation/validation.go", // a package, which has not moved
		"internal/controller/webapp/testdata/mine.txt",
	} {
		if moved[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	p.mustRun(change{scaffold.EditOptions{MultiGroup: new(false)}})
	p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Version: "v1", To: "v1alpha1", Kctrl: memoryKctrl},
		scaffold.PlanRenameVersion})
	if diff := sameTree(before, p.tree()); diff != "" {
		t.Errorf("there and back (-want +got)\n%s", diff)
	}
}

// TestRemainingPartsAreReported separates packages with a file beside them, which kctrl cannot assign to either
// package. It also moves a test that contains a relative path. kctrl must report both.
func TestRemainingPartsAreReported(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.mustRun(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
		Namespaced: true})
	p.put("api/v1/mine_test.go", "package v1\n\nvar crds = \"../../config/crd\"\n")
	p.mustRun(scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment"})
	p.put("internal/controller/testdata/mine.txt", "mine\n")
	plan, err := p.plan(change{scaffold.EditOptions{MultiGroup: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	notes := noted(plan)
	want := []string{
		`internal/controller/testdata/mine.txt: is beside files that go to internal/controller/apps and internal/controller/webapp, and is kept where it is`,
		`api/webapp/v1/mine_test.go:3:12: "../../config/crd" is another directory from here than from api/v1`,
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRenameLeavesWhatFunctionsDeclareAlone checks parameters, type parameters and labels with the name of a kind.
func TestRenameLeavesWhatFunctionsDeclareAlone(t *testing.T) {
	p := newEdited(t)
	p.put("api/v1/mine.go", `package v1

func name(Guestbook Guestbook) string { return Guestbook.Name }

func same[Guestbook any](g Guestbook) Guestbook {
Guestbook:
	for {
		break Guestbook
	}
	return g
}

var _ = name(Guestbook{})
`)
	p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind})
	want := `package v1

func name(Guestbook Visitor) string { return Guestbook.Name }

func same[Guestbook any](g Guestbook) Guestbook {
Guestbook:
	for {
		break Guestbook
	}
	return g
}

var _ = name(Visitor{})
`
	if diff := cmp.Diff(want, string(p.tree()["api/v1/mine.go"])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNamesThatWouldBeDeclaredTwice checks renames and changes of layout that would declare a name twice in one
// package. They must report the position and plan nothing.
func TestNamesThatWouldBeDeclaredTwice(t *testing.T) {
	visitor := renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind}
	for name, test := range map[string]struct {
		files   map[string]string
		command any
		want    string
	}{
		"a type beside the kind": {
			map[string]string{"api/webapp/v1/mine.go": "package v1\n\n// Visitor is mine.\ntype Visitor struct{}\n"}, visitor,
			"api/webapp/v1/mine.go:4:6: Visitor is declared here, and a name that api/webapp/v1/guestbook_types.go declares " +
				"would clash with it in the same package",
		},
		"a reconciler": {
			map[string]string{"internal/controller/webapp/mine.go": "package controller\n\ntype VisitorReconciler struct{}\n"},
			visitor,
			"internal/controller/webapp/mine.go:3:6: VisitorReconciler is declared here, and a name that " +
				"internal/controller/webapp/guestbook_controller.go declares would clash with it in the same package",
		},
		"two packages that become one": {
			map[string]string{
				"internal/controller/webapp/mine.go": "package controller\n\nfunc help() {}\n",
				"internal/controller/apps/yours.go":  "package controller\n\nfunc help() {}\n\nfunc init() {}\n",
			},
			change{scaffold.EditOptions{MultiGroup: new(false)}},
			"internal/controller/webapp/mine.go:3:6: help is declared here, and a name that internal/controller/apps/yours.go " +
				"declares would clash with it in the same package",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newMemoryProject(t, scaffold.InitOptions{})
			p.mustRun(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
				Namespaced: true})
			p.mustRun(scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment"})
			p.mustRun(change{scaffold.EditOptions{MultiGroup: new(true)}})
			for name, text := range test.files {
				p.put(name, text)
			}
			_, err := p.plan(test.command)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestManifestsFollow checks the names in a user's patches and roles that come from a domain, a kind or a project.
func TestManifestsFollow(t *testing.T) {
	p := newEdited(t)
	text := func(group, plural, namespace string) string {
		names := strings.NewReplacer("GROUP", group, "PLURAL", plural, "NAMESPACE", namespace)
		return names.Replace(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.GROUP
  annotations: {webapp.example.com: "x webapp.example.com"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mine, namespace: NAMESPACE}
rules:
- apiGroups: ["GROUP", 'apps']
  resources: ['*']
  verbs: [get]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: portal, namespace: NAMESPACE, annotations: {kctrl.dev/target: webapp.example.com}}
spec:
  rules: [{host: webapp.example.com}, {host: guestbooks.webapp.example.com}]
  tls: [{hosts: [webapp.example.com]}]
`)
	}
	p.put("config/mine.yaml", text("webapp.example.com", "guestbooks", "guestbook-system"))
	p.mustRun(change{scaffold.EditOptions{Domain: new("example.org"), ProjectName: new("library")}})
	p.mustRun(renaming{scaffold.RenameOptions{Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl},
		scaffold.PlanRenameKind})
	want := text("webapp.example.org", "visitors", "library-system")
	if diff := cmp.Diff(want, string(p.tree()["config/mine.yaml"])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOldPathsAreReported checks that kctrl reports uses of the old module path whose meaning it cannot determine.
func TestOldPathsAreReported(t *testing.T) {
	p := newEdited(t)
	for name, text := range map[string]string{
		"test/go.mod": "module example.com/test\n\nrequire example.com/guestbook v0.0.0\n",
		"build.sh":    "#!/bin/sh\r\ngo build -ldflags '-X example.com/guestbook/version.V=1'\r\n",
		"image.sh": "docker push example.com/guestbook:v1 # of https://example.com/guestbook and " +
			"example.com/guestbook2\n",
		"notes.md": "example.com/guestbook\n",
		"cmd/mocks.go": "package main\n\n// of example.com/guestbook\n//go:generate mockgen example.com/guestbook/api/v1 " +
			"Of\n",
		"vendor/all.mk": "example.com/guestbook\n",
		"hack/config":   "module: example.com/guestbook\n", // a file, not the directory of manifests
	} {
		p.put(name, text)
	}
	plan, err := p.plan(change{scaffold.EditOptions{Repo: new("example.org/library")}})
	if err != nil {
		t.Fatal(err)
	}
	notes := noted(plan)
	want := []string{
		"build.sh:2: names example.com/guestbook, which is example.org/library now",
		"cmd/mocks.go:4: names example.com/guestbook, which is example.org/library now",
		"hack/config:1: names example.com/guestbook, which is example.org/library now",
		"test/go.mod:3: names example.com/guestbook, which is example.org/library now",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestALongerPathIsNotTheOldOne changes the module path between a path and a longer path that begins with it. All
// matches belong to the new path, so there must be no notes.
func TestALongerPathIsNotTheOldOne(t *testing.T) {
	p := newEdited(t)
	for _, repo := range []string{"example.com/guestbook/v2", "example.com/guestbook"} {
		edit := change{scaffold.EditOptions{Repo: new(repo)}}
		plan, err := p.plan(edit)
		if err != nil {
			t.Fatal(err)
		}
		if notes := noted(plan); len(notes) > 0 {
			t.Errorf("%s: got %q, want no notes", repo, notes)
		}
		p.mustRun(edit)
	}
}

func noted(p *plan.Plan) []string {
	var notes []string
	for _, note := range p.Notes() {
		notes = append(notes, note.Error())
	}
	return notes
}

// TestMovesKeepToWhatGoImports checks that an internal package does not move, because only packages next to it or below
// may import it.
func TestMovesKeepToWhatGoImports(t *testing.T) {
	p := newEdited(t)
	p.put("internal/controller/internal/help/help.go", "package help\n")
	p.put("internal/controller/mine.go", "package controller\n\nimport _ "+
		"\"example.com/guestbook/internal/controller/internal/help\"\n")
	p.mustRun(change{scaffold.EditOptions{MultiGroup: new(true)}})
	p.put("internal/controller/webapp/internal/help/help.go", "package help\n")
	p.put("internal/controller/webapp/mine.go", "package controller\n\nimport _ "+
		"\"example.com/guestbook/internal/controller/webapp/internal/help\"\n")
	_, err := p.plan(change{scaffold.EditOptions{MultiGroup: new(false)}})
	want := "internal/controller/webapp/mine.go:3:8: the file goes to internal/controller, and Go does not allow it to " +
		"import example.com/guestbook/internal/controller/webapp/internal/help from there"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// toVisitor renames the kind of newEdited.
var toVisitor = renaming{scaffold.RenameOptions{
	Group: "webapp", Kind: "Guestbook", To: "Visitor", Kctrl: memoryKctrl,
}, scaffold.PlanRenameKind}

// TestEditedBodiesFollow checks code in which a user has changed bodies, markers and calls whose surrounding comments,
// namespaces and paths kctrl now writes differently. Names, markers and paths follow without a conflict.
func TestEditedBodiesFollow(t *testing.T) {
	p := newEdited(t)
	const name, test = "internal/controller/guestbook_controller.go", "internal/controller/guestbook_controller_test.go"
	p.edit(name, func(text []byte) []byte {
		text = bytes.Replace(text, []byte("verbs=get;list;watch"), []byte("verbs=get;list;watch;update"), 1)
		begin, end := bytes.Index(text, []byte("\tlogger := ")), bytes.Index(text, []byte("// SetupWithManager"))
		body := []byte("\tguestbook := &webappv1.Guestbook{}\n" +
			"\treturn reconcile.Result{}, r.Get(ctx, req.NamespacedName, guestbook)\n}\n\n")
		return slices.Concat(text[:begin], body, text[end:])
	})
	p.edit(test, func(text []byte) []byte {
		return bytes.Replace(text, []byte(`crd/bases"))`), []byte(`crd/bases")) // mine`), 1)
	})
	p.mustRun(toVisitor)
	plan, err := p.plan(change{scaffold.EditOptions{MultiGroup: new(true), Namespaced: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := noted(plan); len(notes) > 0 {
		t.Errorf("notes %v", notes)
	}
	for file, wants := range map[string][]string{
		"internal/controller/webapp/visitor_controller.go": {
			"visitor := &webappv1.Visitor{}\n\treturn reconcile.Result{}, r.Get(ctx, req.NamespacedName, visitor)\n",
			"groups=webapp.example.com,namespace=guestbook-system,resources=visitors,verbs=get;list;watch;update\n",
		},
		"internal/controller/webapp/visitor_controller_test.go": {`"../../../config/crd/bases")) // mine`},
	} {
		text, err := plan.Read(file)
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q: %v\n%s", file, want, err, text)
			}
		}
	}
}

// TestListsOfAnotherNameFollow checks kustomization.yml, which kustomize also reads.
func TestListsOfAnotherNameFollow(t *testing.T) {
	p := newEdited(t)
	if err := p.fs.Rename("config/samples/kustomization.yaml", "config/samples/kustomization.yml"); err != nil {
		t.Fatal(err)
	}
	p.mustRun(toVisitor)
	if list := string(p.tree()["config/samples/kustomization.yml"]); !strings.Contains(list, "webapp_v1_visitor.yaml") {
		t.Errorf("it lists\n%s", list)
	}
}
