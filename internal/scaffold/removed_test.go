package scaffold_test

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// commands are the commands that write to a project, called like in cmd/kctrl.
func commands() map[string]func(*testing.T, *testProject) (*plan.Plan, error) {
	generated := func(o generate.Options) func(*testing.T, *testProject) (*plan.Plan, error) {
		return func(t *testing.T, p *testProject) (*plan.Plan, error) { return p.planGenerate(t, o) }
	}
	return map[string]func(*testing.T, *testProject) (*plan.Plan, error){
		"generate":  generated(generate.Options{Generators: []string{generate.Object, "applyconfig"}}),
		"manifests": generated(generate.Options{Generators: []string{generate.CRD, generate.RBAC, "webhook"}}),
		"create api": func(t *testing.T, p *testProject) (*plan.Plan, error) {
			shelf := guestbook
			shelf.Kind = "Shelf"
			return p.planAPI(t, shelf)
		},
	}
}

// withRoleName returns the options of kctrl manifests --role-name.
func withRoleName(name string) generate.Options {
	o := generate.Options{Generators: []string{generate.RBAC}}
	for _, flag := range o.Flags() {
		if flag.Name == "role-name" {
			*flag.To.(*string) = name
		}
	}
	return o
}

// planGenerate does the planning of kctrl generate and kctrl manifests.
func (p *testProject) planGenerate(t *testing.T, o generate.Options) (*plan.Plan, error) {
	t.Helper()
	fsys := afero.NewIOFS(p.open(t))
	proj, err := project.Load(fsys)
	if err != nil {
		return nil, err
	}
	plan, err := render.NewProjectPlan(fsys, proj, project.Build{})
	if err != nil {
		return nil, err
	}
	if err := gomod.PlanRuntime(plan, proj); err != nil {
		return nil, err
	}
	if slices.Contains(o.Generators, generate.Object) {
		if err := render.PlanRegistration(plan, proj); err != nil {
			return nil, err
		}
	}
	return plan, generate.Run(t.Context(), p.dir, plan, proj, o)
}

// TestAnythingMayBeRemoved removes each file and directory of a project, and runs each command. The command returns an
// error or a note with the missing file and a remedy, or leaves a tree that kustomize builds. If the tree is complete,
// repeating the command changes nothing.
func TestAnythingMayBeRemoved(t *testing.T) {
	whole := newProject(t)
	whole.initialize(t, scaffold.InitOptions{
		Domain: "example.com", Repo: "example.com/guestbook", Kctrl: project.Build{Version: "v1.2.3", Sum: "h1:x="},
	})
	whole.createAPI(t, guestbook)
	tree := readTree(t, whole.dir)
	removals := map[string]bool{}
	for name := range tree {
		for ; name != "."; name = path.Dir(name) {
			removals[name] = true
		}
	}
	for name, command := range commands() {
		t.Run(name, func(t *testing.T) {
			for _, removed := range slices.Sorted(maps.Keys(removals)) {
				t.Run("without "+removed, func(t *testing.T) {
					t.Parallel()
					p := newProject(t)
					for name, content := range tree {
						if name != removed && !strings.HasPrefix(name, removed+"/") {
							writeFile(t, filepath.Join(p.dir, name), content)
						}
					}
					testWithout(t, p, removed, command)
				})
			}
		})
	}
}

func testWithout(t *testing.T, p *testProject, removed string,
	command func(*testing.T, *testProject) (*plan.Plan, error)) {
	plan, err := command(t, p)
	if err != nil {
		for _, single := range diagnostic.All(err) {
			if e, ok := errors.AsType[*diagnostic.Error](single); !ok || e.Hint == "" {
				t.Errorf("the error %v has no hint", single)
			}
		}
		return
	}
	if err := plan.Apply(t.Context(), p.open(t), "test"); err != nil {
		t.Fatal(err)
	}
	noted := slices.ContainsFunc(plan.Notes(), func(note *diagnostic.Error) bool {
		return note.Hint != "" && (strings.Contains(note.Hint, removed) ||
			strings.Contains(note.Error(), path.Base(removed)) || strings.HasPrefix(note.Pos.Filename, removed))
	})
	for _, folder := range []string{"config/default", "config/crd", "config/samples"} {
		if removed == folder || strings.HasPrefix(folder, removed+"/") || path.Dir(removed) == folder &&
			path.Base(removed) == "kustomization.yaml" {
			continue // removed on purpose, and possibly restored
		}
		_, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(p.dir, folder))
		if err != nil && !noted {
			t.Errorf("kustomize build %s: %v, and no note says so: %v", folder, err, plan.Notes())
		}
	}
	again, err := command(t, p)
	if e, ok := errors.AsType[*diagnostic.Error](err); ok && strings.Contains(e.Message, "exists") {
		return // create api adds a kind once
	}
	if err != nil {
		t.Fatal(err)
	}
	wantNoChange(t, again)
}

// TestKustomizationsMayHaveOtherNames checks that commands edit kustomizations with the other names that kustomize
// supports, and write none beside them.
func TestKustomizationsMayHaveOtherNames(t *testing.T) {
	for _, base := range []string{"kustomization.yml", "Kustomization"} {
		p := newGuestbook(t)
		for name := range readTree(t, p.dir) {
			if path.Base(name) == "kustomization.yaml" {
				if err := os.Rename(filepath.Join(p.dir, name), filepath.Join(p.dir, path.Dir(name), base)); err != nil {
					t.Fatal(err)
				}
			}
		}
		shelf := guestbook
		shelf.Kind = "Shelf"
		p.createAPI(t, shelf)
		for name := range readTree(t, p.dir) {
			if path.Base(name) == "kustomization.yaml" {
				t.Errorf("%s was written beside %s", name, base)
			}
		}
		p.checkDeployable(t)
		if !strings.Contains(string(p.kustomize(t, "config/default")), "shelf-admin-role") {
			t.Errorf("the roles of the new kind are not deployed with %s", base)
		}
	}
}

// TestUnlistedControllersStayOff checks that commands do not list CRDs and roles again that the user has removed from a
// list.
func TestUnlistedControllersStayOff(t *testing.T) {
	p := newGuestbook(t)
	drop := func(file, item string) {
		t.Helper()
		text := readFile(t, p.dir, file)
		out, err := edit.RemoveListItem(text, file, []string{"resources"}, item)
		if err != nil || len(out) == len(text) {
			t.Fatalf("%s does not list %s: %v", file, item, err)
		}
		writeFile(t, filepath.Join(p.dir, file), out)
	}
	drop("config/default/kustomization.yaml", "../crd")
	drop("config/rbac/kustomization.yaml", "guestbook_admin_role.yaml")
	shelf, again := guestbook, guestbook
	shelf.Kind, again.Force = "Shelf", true
	p.createAPI(t, shelf)
	p.createAPI(t, again)
	if text := readFile(t, p.dir, "config/default/kustomization.yaml"); strings.Contains(string(text), "../crd") {
		t.Errorf("../crd is back:\n%s", text)
	}
	if text := string(readFile(t, p.dir, "config/rbac/kustomization.yaml")); strings.Contains(text, "guestbook_admin") ||
		!strings.Contains(text, "shelf_admin") {
		t.Errorf("want the roles of the new kind only:\n%s", text)
	}
}

// TestLostListsComeBackWhole checks that every command that rebuilds a lost list includes every kind.
func TestLostListsComeBackWhole(t *testing.T) {
	want := map[string][]string{
		"config/crd/kustomization.yaml":     {"webapp.example.com_guestbooks.yaml", "webapp.example.com_shelves.yaml"},
		"config/samples/kustomization.yaml": {"webapp_v1_guestbook.yaml", "webapp_v1_shelf.yaml"},
	}
	p := newGuestbook(t)
	for file := range want {
		must(t, os.Remove(filepath.Join(p.dir, file)))
	}
	shelf := guestbook
	shelf.Kind, shelf.Plural = "Shelf", "shelves"
	p.createAPI(t, shelf)
	check := func(file string) {
		t.Helper()
		text := string(readFile(t, p.dir, file))
		for _, item := range want[file] {
			if !strings.Contains(text, item) {
				t.Errorf("%s does not list %s:\n%s", file, item, text)
			}
		}
	}
	for file := range want {
		check(file)
	}
	must(t, os.Remove(filepath.Join(p.dir, "config/crd/kustomization.yaml")))
	plan, err := p.planGenerate(t, generate.Options{Generators: []string{generate.CRD, generate.RBAC}})
	must(t, err)
	must(t, plan.Apply(t.Context(), p.open(t), "test"))
	check("config/crd/kustomization.yaml")
}

// TestLostRuntimeComesBack removes the runtime or a part of it. The restored files must come from one version of kctrl.
func TestLostRuntimeComesBack(t *testing.T) {
	p := newGuestbook(t)
	before := readTree(t, p.dir)
	for _, lost := range []string{"third_party", "third_party/kctrl/go.mod", "third_party/kctrl/runtime/client"} {
		must(t, os.RemoveAll(filepath.Join(p.dir, lost)))
		for name, command := range commands() {
			plan, err := command(t, p)
			if err != nil || len(plan.Notes()) == 0 || plan.Notes()[0].Hint == "" {
				t.Errorf("%s without %s: got %v, want a note", name, lost, err)
			}
		}
		plan, err := p.planGenerate(t, generate.Options{Generators: []string{generate.Object}})
		must(t, err)
		must(t, plan.Apply(t.Context(), p.open(t), "test"))
		after := readTree(t, p.dir)
		if !maps.EqualFunc(before, after, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("the tree is another one after %s was lost and restored", lost)
		}
	}

	// Another kctrl wrote a file that this one does not have, and one with other content.
	lock := strings.ReplaceAll(string(before["PROJECT.lock"]), "third_party/kctrl/runtime/object/object.go",
		"third_party/kctrl/runtime/object/older.go")
	writeFile(t, filepath.Join(p.dir, "PROJECT.lock"), []byte(lock))
	_, err := p.planGenerate(t, generate.Options{Generators: []string{generate.Object}})
	e, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || e.Pos.Filename != "third_party/kctrl/runtime/object/older.go" ||
		!strings.Contains(e.Hint, "remove the directory") {
		t.Errorf("got %v, want the missing file of another kctrl", err)
	}
	must(t, os.RemoveAll(filepath.Join(p.dir, "third_party")))
	plan, err := p.planGenerate(t, generate.Options{Generators: []string{generate.Object}})
	must(t, err)
	must(t, plan.Apply(t.Context(), p.open(t), "test"))
	if after := readTree(t, p.dir); string(after["PROJECT.lock"]) != string(before["PROJECT.lock"]) {
		t.Error("the lock does not know the runtime that replaced the other one")
	}
}

// TestBindingFollowsTheRole renames a role with kctrl manifests. A binding must follow, unless it binds another role.
func TestBindingFollowsTheRole(t *testing.T) {
	const binding = "config/rbac/role_binding.yaml"
	for _, style := range []string{"manager-role", `"manager-role"`, "'manager-role' # ours"} {
		p := newGuestbook(t)
		original := strings.Replace(string(readFile(t, p.dir, binding)), "manager-role\n", style+"\n", 1)
		writeFile(t, filepath.Join(p.dir, binding), []byte(original))
		for _, name := range []string{"guest", "another", ""} {
			plan, err := p.planGenerate(t, withRoleName(name))
			must(t, err)
			must(t, plan.Apply(t.Context(), p.open(t), "test"))
			p.kustomize(t, "config/default")
			if name == "" {
				name = "manager-role"
			}
			if bound := strings.Trim(boundRole(t, p), " "); bound != name {
				t.Errorf("%s: the binding names %s, the role is %s", style, bound, name)
			}
		}
		if text := string(readFile(t, p.dir, binding)); text != original {
			t.Errorf("there and back again is\n%s\nwant\n%s", text, original)
		}
		writeFile(t, filepath.Join(p.dir, binding), []byte(strings.Replace(original, "name: "+style+"\n", "name: admin\n",
			1)))
		plan, err := p.planGenerate(t, withRoleName("guest"))
		must(t, err)
		must(t, plan.Apply(t.Context(), p.open(t), "test"))
		if bound := boundRole(t, p); bound != "admin" {
			t.Errorf("a binding of another role names %s now", bound)
		}
	}
}

func boundRole(t *testing.T, p *testProject) string {
	t.Helper()
	var binding struct {
		RoleRef struct{ Name string } `json:"roleRef"`
	}
	text := string(readFile(t, p.dir, "config/rbac/role_binding.yaml"))
	_, ref, _ := strings.Cut(text, "roleRef:")
	ref, _, _ = strings.Cut(ref, "subjects:")
	file := filepath.Join(t.TempDir(), "ref.yaml")
	ref = strings.Replace(strings.Replace(ref, "  apiGroup: rbac.authorization.k8s.io\n", "", 1), "  kind: ClusterRole\n",
		"", 1)
	writeFile(t, file, []byte("roleRef:"+ref))
	readYAML(t, file, &binding)
	return binding.RoleRef.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
