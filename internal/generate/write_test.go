package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	proj "github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

const crdFile = "config/crd/bases/webapp.example.com_guestbooks.yaml"

// generated returns a project with all generated files, and with the kustomization that lists its CRD.
func generated(t *testing.T) string {
	t.Helper()
	dir := project(t, "scaffold")
	write(t, dir, "config/crd/kustomization.yaml", "# Ours.\nresources:\n- others.yaml\n")
	again(t, dir, everything())
	return dir
}

// again generates in dir, applies the plan and returns the changed files, without the lock.
func again(t *testing.T, dir string, o generate.Options) []string {
	t.Helper()
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
		t.Fatal(err)
	}
	var changes []string
	for change := range p.Changes() {
		if change.Path != proj.LockFile {
			changes = append(changes, change.Op.String()+" "+change.Path)
		}
	}
	apply(t, dir, p)
	return changes
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestNewCRDIsListed(t *testing.T) {
	dir := generated(t)
	want := "# Ours.\nresources:\n- others.yaml\n- bases/webapp.example.com_guestbooks.yaml\n"
	if diff := cmp.Diff(want, read(t, dir, "config/crd/kustomization.yaml")); diff != "" {
		t.Error(diff)
	}
	// An item that the user removed from the list stays removed.
	write(t, dir, "config/crd/kustomization.yaml", "resources: []\n")
	if changes := again(t, dir, everything()); len(changes) > 0 {
		t.Errorf("a second run changes %v", changes)
	}
}

func TestOutputsOfRemovedTypesGo(t *testing.T) {
	dir := generated(t)
	remove(t, dir, "api/v1/guestbook_types.go")
	want := []string{
		"delete api/v1/zz_generated.deepcopy.go",
		"delete " + crdFile,
		"update config/crd/kustomization.yaml",
	}
	if diff := cmp.Diff(want, again(t, dir, everything())); diff != "" {
		t.Error(diff)
	}
	if got := read(t, dir, "config/crd/kustomization.yaml"); strings.Contains(got, "guestbooks") {
		t.Errorf("the kustomization still lists the CRD:\n%s", got)
	}
}

func TestOnlyGeneratorsThatRunRemove(t *testing.T) {
	dir := generated(t)
	remove(t, dir, "api/v1/guestbook_types.go")
	if changes := again(t, dir, generate.Options{Generators: []string{generate.Object}}); len(changes) != 1 {
		t.Errorf("deep copies alone change %v", changes)
	}
	if changes := again(t, dir, generate.Options{Generators: []string{generate.RBAC}}); len(changes) != 0 {
		t.Errorf("the role alone changes %v", changes)
	}
}

func TestFilesOfOthersStay(t *testing.T) {
	dir := generated(t)
	write(t, dir, "config/crd/bases/example.org_others.yaml", "kind: CustomResourceDefinition\n")
	write(t, dir, crdFile, "# edited\n")
	remove(t, dir, "api/v1/guestbook_types.go")
	again(t, dir, generate.Options{Generators: []string{generate.CRD}})
	read(t, dir, "config/crd/bases/example.org_others.yaml")
	if got := read(t, dir, crdFile); got != "# edited\n" {
		t.Errorf("an edited CRD was changed to %q", got)
	}
}

func TestSomePathsRemoveNothing(t *testing.T) {
	dir := generated(t)
	o := everything()
	o.Paths = []string{"./internal/..."}
	if changes := again(t, dir, o); len(changes) > 0 {
		t.Errorf("a run over other packages changes %v", changes)
	}
}

func TestRoleWithoutRulesIsEmptied(t *testing.T) {
	dir := generated(t)
	write(t, dir, "internal/controller/guestbook_controller.go", "package controller\n")
	if diff := cmp.Diff([]string{"update config/rbac/role.yaml"}, again(t, dir, everything())); diff != "" {
		t.Error(diff)
	}
	want := "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: manager-role\nrules: " +
		"[]\n"
	if diff := cmp.Diff(want, read(t, dir, "config/rbac/role.yaml")); diff != "" {
		t.Error(diff)
	}
	remove(t, dir, "config/rbac/role.yaml")
	if changes := again(t, dir, everything()); len(changes) > 0 {
		t.Errorf("without rules and without a file, a run changes %v", changes)
	}
}

func TestHandEditedOutputsAreRepaired(t *testing.T) {
	dir := generated(t)
	want := read(t, dir, "api/v1/zz_generated.deepcopy.go")
	write(t, dir, "api/v1/zz_generated.deepcopy.go", "<<<<<<< HEAD\n"+want)
	again(t, dir, everything())
	if diff := cmp.Diff(want, read(t, dir, "api/v1/zz_generated.deepcopy.go")); diff != "" {
		t.Error(diff)
	}
}

func TestKindsOfProjectMustExist(t *testing.T) {
	dir := project(t, "scaffold")
	resource := proj.Resource{Group: "webapp", Domain: "example.com", Version: "v1", Kind: "Guestbook",
		Plural: "guestbooks", API: true}
	gone := resource
	gone.Kind, gone.Plural = "Visitor", "visitors"
	external := resource
	external.Kind, external.API = "Deployment", false
	p := &proj.Project{Resources: []proj.Resource{resource, gone, external}}

	plan := plan.New(os.DirFS(dir))
	want := "PROJECT: lists webapp.example.com/v1.Visitor, but no Go type is that kind\n" +
		"hint: bring back the type Visitor with its markers, or remove the kind from PROJECT\n"
	if diff := cmp.Diff(want, report(generate.Run(t.Context(), dir, plan, p, everything()))); diff != "" {
		t.Error(diff)
	}
	if plan.Len() > 0 {
		t.Error("the plan has changes in spite of the error")
	}
}

func TestNestedModulesAreTheirOwn(t *testing.T) {
	dir := project(t, "scaffold")
	want := run(t, dir, everything())
	write(t, dir, "third_party/other/go.mod", "module example.com/other\n")
	write(t, dir, "third_party/other/api/types.go", "// +groupName=other.example.com\n// "+
		"+kubebuilder:nonsense=1\npackage api\n")
	write(t, dir, "_ignored/x.go", "package x\n\n// +kubebuilder:nonsense=1\n")
	if diff := cmp.Diff(want, run(t, dir, generate.Options{Generators: []string{generate.Object, generate.CRD,
		generate.RBAC}})); diff != "" {
		t.Error(diff)
	}
}
