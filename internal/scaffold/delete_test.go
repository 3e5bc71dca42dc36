package scaffold_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// deletion is a delete command: its options and its planner.
type deletion struct {
	scaffold.DeleteOptions
	plan func(fs.FS, *project.Project, scaffold.DeleteOptions) (*plan.Plan, error)
}

// inverse returns the commands that undo a create command, in order. If the version became the hub of several versions,
// their conversions are deleted first.
func inverse(opts any, before, after *project.Project) []any {
	switch o := opts.(type) {
	case scaffold.APIOptions:
		d := scaffold.DeleteOptions{Group: o.Group, Version: o.Version, Kind: o.Kind}
		if !o.Resource {
			return []any{deletion{d, scaffold.PlanDeleteController}}
		}
		var commands []any
		hub := project.Resource{Group: o.Group, Domain: after.Domain, Version: o.Version, Kind: o.Kind}
		for _, v := range after.Versions(hub) {
			if was, found := before.Find(v.APIGroup(), v.Version, v.Kind); found && was.Hub == "" && v.Hub != "" &&
				len(after.Versions(hub)) > 1 {
				with := d
				with.Version, with.Conversion, with.Spokes = v.Hub, true, []string{v.Version}
				commands = append(commands, deletion{with, scaffold.PlanDeleteWebhook})
			}
		}
		if r, found := after.Find(hub.APIGroup(), o.Version, o.Kind); found && r.Controller && len(after.Versions(hub)) > 0 {
			commands = append(commands, deletion{d, scaffold.PlanDeleteController}) // the version alone cannot be deleted
		}
		return append(commands, deletion{d, scaffold.PlanDeleteAPI})
	case scaffold.ControllerOptions:
		return []any{deletion{scaffold.DeleteOptions{Group: o.Group, Version: o.Version, Kind: o.Kind, Name: o.Name},
			scaffold.PlanDeleteController}}
	case scaffold.WebhookOptions:
		return []any{deletion{scaffold.DeleteOptions{
			Group: o.Group, Version: o.Version, Kind: o.Kind, Defaulting: o.Defaulting, Validation: o.Validation,
			Conversion: o.Conversion, Policy: o.Policy,
			Spokes: o.Spokes,
		}, scaffold.PlanDeleteWebhook}}
	}
	return nil
}

// invertible reports whether delete commands can undo a command. They do not restore the stored version, or the issuer
// of existing webhooks' certificates.
func invertible(opts any, proj *project.Project) bool {
	switch o := opts.(type) {
	case scaffold.APIOptions:
		return !o.StorageVersion
	case scaffold.WebhookOptions:
		hasWebhooks := slices.ContainsFunc(proj.Resources, func(r project.Resource) bool {
			return r.Defaulting ||
				r.Validation || r.Hub != ""
		})
		return !hasWebhooks || o.Certificates == "" || o.Certificates == proj.Certificates
	}
	return true
}

func (p *randomProject) load() *project.Project {
	p.Helper()
	proj, err := project.Load(afero.NewIOFS(p.fs))
	if err != nil {
		p.Fatal(err)
	}
	return proj
}

func sameTree(want, got map[string][]byte) string {
	return cmp.Diff(textTree(want), textTree(got))
}

func textTree(tree map[string][]byte) map[string]string {
	text := map[string]string{}
	for name, content := range tree {
		text[name] = string(content)
	}
	return text
}

// TestDeleteTakesBackCreate runs random create commands. It undoes each command immediately and runs it again, and
// finally undoes all commands in reverse order. Each time the tree must equal the earlier one, byte for byte.
func TestDeleteTakesBackCreate(t *testing.T) {
	seeds.Each(t, 8, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 1))
		p := newRandomProject(t, r)
		type step struct {
			tree map[string][]byte
			back []any
			opts any
		}
		var steps []step
		for range length(r, 14) {
			opts := randomOptions(r)
			proj := p.load()
			tree := p.tree()
			if !invertible(opts, proj) || !p.run(opts) {
				continue
			}
			s := step{tree, inverse(opts, proj, p.load()), opts}
			for _, d := range s.back {
				if !p.run(d) {
					t.Fatalf("%+v is refused after %+v", d, opts)
				}
			}
			if diff := sameTree(tree, p.tree()); diff != "" {
				t.Fatalf("%+v and back changes (-want +got)\n%s", opts, diff)
			}
			p.run(opts)
			steps = append(steps, s)
		}
		p.check()
		for _, s := range slices.Backward(steps) {
			for _, d := range s.back {
				if !p.run(d) {
					t.Fatalf("%+v is refused", d)
				}
				p.check()
			}
			if diff := sameTree(s.tree, p.tree()); diff != "" {
				t.Fatalf("%+v and, after others, back changes (-want +got)\n%s", s.opts, diff)
			}
		}
	})
}

// TestCertificatesAreOfWebhooks checks that a project without webhooks stores no certificate issuer: the setting
// appears with the first webhook and disappears with the last.
func TestCertificatesAreOfWebhooks(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	policy := scaffold.WebhookOptions{Group: "apps", Version: "v1", Kind: "Deployment", Policy: true,
		Certificates: project.CertManager}
	edited := change{scaffold.EditOptions{Certificates: new(project.CertManager)}}
	if p.run(policy) || p.run(edited) {
		t.Fatal("a project without webhooks gets a note about their certificates")
	}
	policy.Certificates = ""
	p.mustRun(policy)
	before := p.tree()
	if p.run(edited) {
		t.Fatal("a policy gets a note about certificates")
	}
	both := scaffold.WebhookOptions{Group: "core", Version: "v1", Kind: "Pod", Defaulting: true,
		Certificates: project.SelfSigned}
	p.mustRun(both)
	p.mustRun(edited)
	p.check()
	if got := p.load().Certificates; got != project.CertManager {
		t.Errorf("certificates are %q", got)
	}
	p.mustRun(change{scaffold.EditOptions{MultiGroup: new(true)}}) // renders all files again
	p.mustRun(change{scaffold.EditOptions{MultiGroup: new(false)}})
	for _, d := range inverse(both, nil, nil) {
		p.mustRun(d)
	}
	if diff := sameTree(before, p.tree()); diff != "" {
		t.Errorf("webhooks and back changes (-want +got)\n%s", diff)
	}
}

// TestDeleteInAnyOrderKeepsTheTreeWhole runs random create and delete commands that the project allows. The resulting
// project can be read and deployed, and without kinds it equals a new one.
func TestDeleteInAnyOrderKeepsTheTreeWhole(t *testing.T) {
	seeds.Each(t, 5, func(t *testing.T, seed uint64) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 2))
		p := newRandomProject(t, r)
		start := p.tree()
		var done []any
		for range length(r, 20) {
			opts := randomOptions(r)
			if api, ok := opts.(scaffold.APIOptions); ok {
				api.StorageVersion = false
				opts = api
			}
			before := p.load()
			if p.run(opts) {
				done = append(done, inverse(opts, before, p.load())...)
			}
			if len(done) > 0 && r.IntN(2) == 0 {
				p.run(done[r.IntN(len(done))])
			}
			p.check()
		}
		for range 10 {
			for _, d := range done {
				p.run(d)
			}
			for _, res := range p.load().Resources {
				p.run(deletion{scaffold.DeleteOptions{
					Group: res.Group, Version: res.Version, Kind: res.Kind, Defaulting: res.Defaulting, Validation: res.Validation,
					Policy: res.Policy,
				}, scaffold.PlanDeleteWebhook})
				p.run(deletion{scaffold.DeleteOptions{Group: res.Group, Kind: res.Kind}, scaffold.PlanDeleteAPI})
			}
		}
		if left := p.load().Resources; len(left) > 0 {
			t.Fatalf("nothing deletes %+v", left)
		}
		if diff := sameTree(start, p.tree()); diff != "" {
			t.Errorf("a project without kinds is not a new one (-want +got)\n%s", diff)
		}
	})
}

// newEdited returns a project with only one kind, which has two versions and every optional part.
func newEdited(t *testing.T) *randomProject {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
		Namespaced: true})
	return p
}

func (p *randomProject) edit(name string, change func([]byte) []byte) {
	p.Helper()
	text, err := afero.ReadFile(p.fs, name)
	if err == nil {
		err = afero.WriteFile(p.fs, name, change(slices.Clone(text)), 0o644)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// notesOf runs a delete command, and returns its notes by file.
func (p *randomProject) notesOf(d deletion) map[string]*diagnostic.Error {
	p.Helper()
	fsys := afero.NewIOFS(p.fs)
	plan, err := planOf(fsys, p.load(), d)
	if err != nil {
		p.Fatal(err)
	}
	if err := plan.Apply(p.Context(), p.fs, "test"); err != nil {
		p.Fatal(err)
	}
	notes := map[string]*diagnostic.Error{}
	for _, note := range plan.Notes() {
		notes[note.Pos.Filename] = note
	}
	return notes
}

// TestDeleteKeepsWhatUsersEdited edits one file of a kind at a time and deletes the kind, which must keep and report
// the file. Then it deletes the kept file.
func TestDeleteKeepsWhatUsersEdited(t *testing.T) {
	empty := newMemoryProject(t, scaffold.InitOptions{}).tree()
	gone := deletion{scaffold.DeleteOptions{Group: "webapp", Version: "v1", Kind: "Guestbook"}, scaffold.PlanDeleteAPI}
	forced := gone
	forced.Force = true
	whole := newEdited(t).tree()
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if _, always := empty[name]; always || strings.Contains(name, "zz_generated") ||
			strings.HasSuffix(name, "groupversion_info.go") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := newEdited(t)
			p.edit(name, func(text []byte) []byte { return append(text, mineIn(name)...) })
			mine := p.tree()[name]
			notes := p.notesOf(gone)
			note := notes[name]
			if note == nil || note.Hint == "" || !strings.Contains(note.Message, "kept") {
				t.Errorf("no note says that %s is kept: %v", name, notes)
			}
			left := p.tree()
			if isList := strings.HasSuffix(name, "kustomization.yaml"); !isList && !bytes.Equal(left[name], mine) ||
				len(left[name]) == 0 {
				t.Errorf("%s is not what it was", name)
			}
			for other := range notes {
				if _, found := left[other]; !found {
					t.Errorf("%s is said to be kept, and is not there", other)
				}
			}
			p.check()
			if name == "config/crd/kustomization.yaml" || name == "config/samples/kustomization.yaml" {
				return // which no longer has an owner
			}
			p.notesOf(forced)
			left = p.tree()
			delete(left, project.LockFile)
			want := maps.Clone(empty)
			delete(want, project.LockFile)
			if diff := sameTree(want, left); diff != "" {
				t.Errorf("--force leaves (-want +got)\n%s", diff)
			}
		})
	}
}

// mineIn returns a user's addition to a file.
func mineIn(name string) string {
	switch {
	case strings.HasSuffix(name, ".go"):
		return "\n// Mine is the user's.\nvar _ = 1\n"
	default:
		return "# mine\n"
	}
}

// TestDeleteRefusesWhatOthersNeed checks that the error contains the position of the use, and that the tree does not
// change.
func TestDeleteRefusesWhatOthersNeed(t *testing.T) {
	v1 := scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Resource: true, Controller: true,
		Namespaced: true}
	v2, v3, shelf := v1, v1, v1
	v2.Version, v3.Version, shelf.Kind = "v2", "v3", "Shelf"
	api := func(version string) deletion {
		return deletion{scaffold.DeleteOptions{Group: "webapp", Version: version, Kind: "Guestbook"}, scaffold.PlanDeleteAPI}
	}
	inVersion := api("v1")
	inVersion.plan = scaffold.PlanDeleteVersion
	for _, tt := range []struct {
		rule       string
		commands   []any
		files      map[string]string
		delete     deletion
		want, hint string
	}{
		{"stored", []any{v1, v2}, nil, api("v1"), "is the version that API servers store",
			"move // +kubebuilder:storageversion"},
		{"hub", []any{v1, v2, v3}, nil, api("v2"), "is the hub that v1 and v3 are converted to",
			"kctrl delete webhook --group webapp --version v2 --kind Guestbook --conversion goes first"},
		{"only version", []any{v1}, nil, inVersion, "is the only version of its kind",
			"kctrl delete api --group webapp --kind Guestbook"},
		{"webhook", []any{v1, scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true,
			Validation: true}}, nil, api("v1"),
			"has a defaulter", "kctrl delete webhook --group webapp --version v1 --kind Guestbook --defaulting --validation " +
				"goes first"},
		{"further controller", []any{v1, scaffold.ControllerOptions{Group: "webapp", Version: "v1", Kind: "Guestbook",
			Name: "backup"}}, nil, api("v1"),
			"has the controller backup", "kctrl delete controller --group webapp --version v1 --kind Guestbook " +
				"--controller-name backup goes first"},
		{"another kind", []any{v1, shelf}, map[string]string{
			"internal/controller/shelf_owns.go": "package controller\n\nimport guest \"example.com/guestbook/api/v1\"\n\nvar " +
				"owned guest.Guestbook\n",
		}, api("v1"), "internal/controller/shelf_owns.go:5:17: needs Guestbook, which api/v1/guestbook_types.go declares",
			"remove this use first"},
		{"a method", []any{v1}, map[string]string{
			"api/v1/more.go": "package v1\n\n// More is more.\nfunc (g *Guestbook) More() {}\n",
		}, api("v1"), "api/v1/more.go:4:10: needs Guestbook", "remove this use first"},
		{"no such kind", []any{shelf}, nil, api("v1"), "there is no kind webapp.example.com/v1.Guestbook",
			"the kinds of the project are webapp.example.com/v1.Shelf"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p := newMemoryProject(t, scaffold.InitOptions{})
			for _, opts := range tt.commands {
				if !p.run(opts) {
					t.Fatalf("%+v is refused", opts)
				}
			}
			for name, text := range tt.files {
				if err := afero.WriteFile(p.fs, name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := planOf(afero.NewIOFS(p.fs), p.load(), tt.delete)
			all := diagnostic.All(err)
			if len(all) != 1 {
				t.Fatalf("got %v, want one line", all)
			}
			e, ok := all[0].(*diagnostic.Error)
			if !ok || !strings.Contains(e.Error(), tt.want) || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("got %v\nhint: %s", all[0], e.Hint)
			}
		})
	}
}

// controllerOfShelf returns the file of a controller, in the layout of a directory of API packages.
func controllerOfShelf(dir string) string {
	if strings.Contains(dir, "webapp") {
		return "internal/controller/webapp/shelf_controller.go"
	}
	return "internal/controller/shelf_controller.go"
}

// TestListsWithDirectoriesUnderTheirOldName checks that kctrl recognizes entries under bases, the old name of resources
// in kustomizations.
func TestListsWithDirectoriesUnderTheirOldName(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.edit("config/default/kustomization.yaml", func(text []byte) []byte { return append(text, "bases:\n- ../crd\n"...) })
	before := p.tree()["config/default/kustomization.yaml"]
	if !p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Resource: true}) {
		t.Fatal("create api is refused")
	}
	if after := p.tree()["config/default/kustomization.yaml"]; !bytes.Equal(before, after) {
		t.Errorf("config/crd is listed twice, which kustomize refuses:\n%s", after)
	}
}

// TestKindsJoinPackagesThatWereMigrated creates a kind in a version that already has kinds of kubebuilder, in each of
// kubebuilder's layouts. The new kind joins their package, and their builder registers it. Deleting the kind restores
// every byte.
func TestKindsJoinPackagesThatWereMigrated(t *testing.T) {
	for _, dir := range []string{"api/v1", "api/webapp/v1", "apis/webapp/v1", "apis/v1", "pkg/apis/webapp/v1"} {
		for name, builder := range map[string]string{
			"of nothing": "runtime.NewSchemeBuilder()", "of others": "runtime.NewSchemeBuilder(addLeaf)",
			"of lines": "runtime.NewSchemeBuilder(\n\t\taddLeaf,\n\t)",
		} {
			t.Run(dir+" "+name, func(t *testing.T) {
				p := newMemoryProject(t, scaffold.InitOptions{MultiGroup: strings.Contains(dir, "webapp")})
				write := func(name, text string) {
					if err := afero.WriteFile(p.fs, dir+"/"+name, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				written := []byte(strings.Replace(migratedGroup, "BUILDER", builder, 1))
				write("groupversion_info.go", string(written))
				write("leaf_types.go", migratedLeaf)
				p.edit("PROJECT", func(text []byte) []byte {
					leaf := "  - {group: webapp, domain: example.com, version: v1, kind: Leaf, plural: leaves, namespaced: true, " +
						"path: example.com/guestbook/" + dir + "}\n"
					return append(bytes.TrimSuffix(text, []byte("resources: []\n")), "resources:\n"+leaf...)
				})
				back := deletion{scaffold.DeleteOptions{Group: "webapp", Kind: "Shelf"}, scaffold.PlanDeleteAPI}
				// The first kind adds the package's imports to go.mod, and its registration to main.
				p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Resource: true})
				p.run(back)
				before := p.tree()
				if !p.run(scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Resource: true, Controller: true}) {
					t.Fatal("create api is refused")
				}
				after := p.tree()
				p.edit("PROJECT", func(text []byte) []byte {
					return bytes.Replace(text, []byte("kctrl: "+memoryKctrl.Name()), []byte("kctrl: v0.0.1"),
						1) // disables the upgrade
				})
				p.upgrade(func(string, string) ([]byte, bool, error) { return nil, false, nil })
				if controller := controllerOfShelf(dir); after[controller] == nil ||
					!bytes.Equal(p.tree()[controller], after[controller]) {
					t.Errorf("an upgrade makes of the controller\n%s", p.tree()[controller])
				}
				group := string(after[dir+"/groupversion_info.go"])
				if after[dir+"/shelf_types.go"] == nil || strings.Count(group, "addKnownTypes") != 1 {
					t.Errorf("the package is not %s, or does not register the kind:\n%s", dir, group)
				}
				if register := string(after[dir+"/zz_generated.register.go"]); !strings.Contains(register, "&Shelf{}") {
					t.Errorf("registered are\n%s", register)
				}
				controller := "example.com/guestbook/" + dir + `"`
				if !slices.ContainsFunc(slices.Collect(maps.Values(after)), func(text []byte) bool {
					return bytes.Contains(text, []byte(controller)) && bytes.Contains(text, []byte("ShelfReconciler"))
				}) {
					t.Errorf("no controller imports %s", controller)
				}
				p.run(back)
				if again := p.tree()[dir+"/groupversion_info.go"]; !bytes.Equal(again, written) {
					t.Errorf("the package is not as it was:\n%s", again)
				}
				if diff := sameTree(before, p.tree()); diff != "" {
					t.Errorf("create and delete change (-want +got)\n%s", diff)
				}
			})
		}
	}
}

const migratedGroup = `// +kubebuilder:object:generate=true
// +groupName=webapp.example.com
package v1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	GroupVersion  = schema.GroupVersion{Group: "webapp.example.com", Version: "v1"}
	SchemeBuilder = BUILDER
	AddToScheme   = SchemeBuilder.AddToScheme
)
`

const migratedLeaf = `package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +kubebuilder:object:root=true

// Leaf is a kind.
type Leaf struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func addLeaf(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Leaf{})
	return nil
}

func init() {
	SchemeBuilder.Register(addLeaf)
}
`

// TestDeleteReportsDeployedWebhooks checks that delete reports an edited webhook that it keeps. Because of the
// webhook's marker, API servers would call a webhook that no process serves.
func TestDeleteReportsDeployedWebhooks(t *testing.T) {
	p := newEdited(t)
	p.run(scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Policy: true})
	const name = "internal/webhook/guestbook_defaulter.go"
	p.edit(name, func(text []byte) []byte { return append(text, "\n// mine\n"...) })
	plan, err := scaffold.PlanDeleteWebhook(afero.NewIOFS(p.fs), p.load(), scaffold.DeleteOptions{
		Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Policy: true, Kctrl: memoryKctrl,
	})
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for _, note := range plan.Notes() {
		const message = "has the path /mutate-webapp-example-com-v1-guestbook, which the manager does not serve"
		if note.Pos.Filename == name && strings.Contains(note.Message, message) && note.Hint != "" {
			reported++
		}
	}
	if reported != 1 {
		t.Errorf("notes %v", plan.Notes())
	}
}

// TestKeptWebhooksAreDeletedTogether checks a forced deletion of several webhooks, whose files an earlier deletion kept
// for some of them.
func TestKeptWebhooksAreDeletedTogether(t *testing.T) {
	both := scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Validation: true}
	gone := deletion{scaffold.DeleteOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true,
		Validation: true}, scaffold.PlanDeleteWebhook}
	defaulter, forced := gone, gone
	defaulter.Validation, forced.Force = false, true
	for _, first := range []deletion{gone, defaulter} {
		p := newEdited(t)
		want := p.tree()
		p.run(both)
		for _, name := range []string{"internal/webhook/guestbook_defaulter.go", "internal/webhook/guestbook_validator.go"} {
			p.edit(name, func(text []byte) []byte { return append(text, mineIn(name)...) })
		}
		p.notesOf(first)
		p.notesOf(forced)
		got := p.tree()
		delete(want, project.LockFile)
		delete(got, project.LockFile)
		if diff := sameTree(want, got); diff != "" {
			t.Errorf("--force leaves (-want +got)\n%s", diff)
		}
	}
}

// newVersions returns a project with a kind in two versions, of which API servers store the second.
func newVersions(t *testing.T) (*randomProject, deletion) {
	p := newEdited(t)
	p.mustRun(scaffold.APIOptions{
		Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true, Namespaced: true, StorageVersion: true,
	})
	return p, deletion{
		scaffold.DeleteOptions{Group: "webapp", Version: "v1", Kind: "Guestbook"}, scaffold.PlanDeleteVersion,
	}
}

// moveController makes the controller of newVersions use version v2, as a user does.
func moveController(p *randomProject) {
	toV2 := strings.NewReplacer("webappv1", "webappv2", `/api/v1"`, `/api/v2"`)
	for _, end := range []string{".go", "_test.go"} {
		p.edit("internal/controller/guestbook_controller"+end, func(text []byte) []byte {
			return []byte(toV2.Replace(string(text)))
		})
	}
}

// TestAControllerThatWasMovedStays checks a controller that the user has moved to another version: it belongs to that
// version.
func TestAControllerThatWasMovedStays(t *testing.T) {
	p, v1 := newVersions(t)
	moveController(p)
	p.mustRun(v1)
	p.check()
	if register := string(p.tree()["cmd/zz_generated.register.go"]); !strings.Contains(register, "GuestbookReconciler") {
		t.Errorf("the controller is not registered:\n%s", register)
	}
	if r, found := p.load().Find("webapp.example.com", "v2", "Guestbook"); !found || !r.Controller {
		t.Errorf("PROJECT has %+v", r)
	}
}

// TestTheControllersVersionStays checks that a version is not deleted while the kind's controller uses it, because the
// controller would be deleted or no longer registered. With --force, both are deleted.
func TestTheControllersVersionStays(t *testing.T) {
	p, v1 := newVersions(t)
	before := p.tree()
	_, err := p.plan(v1)
	e, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || !strings.Contains(e.Message, "webapp.example.com/v1.Guestbook has a controller, which uses it") ||
		!strings.Contains(e.Hint, "make internal/controller/guestbook_controller.go use v2") {
		t.Errorf("got %v", err)
	}
	if diff := sameTree(before, p.tree()); diff != "" {
		t.Errorf("the tree changed (-before +after)\n%s", diff)
	}
	v1.Force = true
	p.mustRun(v1)
	p.check()
}

// TestTheStoredVersionStaysMarked checks types that stay because the user has edited them.
func TestTheStoredVersionStaysMarked(t *testing.T) {
	p, v1 := newVersions(t)
	moveController(p)
	const types = "api/v1/guestbook_types.go"
	p.edit(types, func(text []byte) []byte { return append(text, "\n// mine\n"...) })
	p.mustRun(v1)
	tree := p.tree()
	if tree[types] == nil {
		t.Fatal("the edited types are gone")
	}
	if types := string(tree["api/v2/guestbook_types.go"]); !strings.Contains(types, "+kubebuilder:storageversion") {
		t.Errorf("neither version is stored:\n%s", types)
	}
}
