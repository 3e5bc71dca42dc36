package doctor_test

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/doctor"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// damage is a change that breaks a project, and the finding that must report it.
type damage struct {
	name string
	do   func(t *testing.T, p *doctor.Project)
	// prefix of the only finding, and part of its message
	file, say string
	// files that --fix changes; empty if it does not repair the damage
	mended []string
	// stops reports whether the damage makes the generated output unknown. Findings about the output are then missing
	// until the damage is repaired.
	stops bool
	// generated reports whether the finding depends on the generated output.
	generated bool
}

func remove(name string) func(*testing.T, *doctor.Project) {
	return func(t *testing.T, p *doctor.Project) {
		if err := os.Remove(filepath.Join(p.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func replace(name, old, now string) func(*testing.T, *doctor.Project) {
	return func(t *testing.T, p *doctor.Project) { edit(t, p, name, old, now) }
}

func add(name, text string) func(*testing.T, *doctor.Project) {
	return func(t *testing.T, p *doctor.Project) {
		path := filepath.Join(p.Dir, name)
		before, err := os.ReadFile(path)
		if err == nil || os.IsNotExist(err) {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, append(before, text...), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const (
	crdFile    = "config/crd/bases/webapp.example.com_guestbooks.yaml"
	roleFile   = "config/rbac/role.yaml"
	deepCopies = "api/v1/zz_generated.deepcopy.go"
	register   = "cmd/zz_generated.register.go"
	webhooks   = "config/webhook/manifests.yaml"
)

// damages are all damages. Damages that are combined affect different files.
var damages = []damage{
	{name: "CRD edited by hand", do: replace(crdFile, "plural: guestbooks", "plural: guests"), file: crdFile,
		say: "is edited by hand", mended: []string{crdFile}, generated: true},
	{name: "CRD is no YAML", do: add(crdFile, "a: [\n"), file: crdFile, say: "is edited by hand",
		mended: []string{crdFile}, generated: true},
	{name: "CRD removed", do: remove(crdFile), file: crdFile, say: "is missing", mended: []string{crdFile},
		generated: true},
	{name: "CRD of a kind that is gone", do: add("config/crd/bases/webapp.example.com_ghosts.yaml",
		"kind: CustomResourceDefinition\n"), file: "none"},
	{name: "deep copies edited", do: add(deepCopies, "// mine\n"), file: deepCopies, say: "is edited by hand",
		mended: []string{deepCopies}, generated: true},
	{name: "deep copies removed", do: remove(deepCopies), file: deepCopies, say: "is missing",
		mended: []string{deepCopies}, generated: true},
	{name: "registration removed", do: remove(register), file: register, say: "is missing", mended: []string{register},
		generated: true},
	{name: "webhooks removed", do: remove(webhooks), file: webhooks, say: "is missing", mended: []string{webhooks},
		generated: true},
	{name: "webhooks edited", do: replace(webhooks, "failurePolicy: Fail", "failurePolicy: Ignore"), file: webhooks,
		say: "is edited by hand", mended: []string{webhooks}, generated: true},
	{name: "role too large", do: replace(roleFile, "  - get\n", "  - get\n  - escalate\n"), file: roleFile,
		say: "is edited by hand", mended: []string{roleFile}, generated: true},
	{name: "role too small", do: replace(roleFile, "  - get\n", ""), file: roleFile, say: "is edited by hand",
		mended: []string{roleFile}, generated: true},
	{name: "role removed", do: remove(roleFile), file: roleFile, say: "is missing", mended: []string{roleFile},
		generated: true},
	{name: "list of CRDs removed", do: remove("config/crd/kustomization.yaml"), file: "config/crd/kustomization.yaml",
		say: "is missing", mended: []string{"config/crd/kustomization.yaml"}, generated: true},
	{name: "role binding is no YAML", do: add("config/rbac/role_binding.yaml", "a: [\n"),
		file: "config/rbac/role_binding.yaml:", say: "not valid YAML", generated: true, stops: true},
	// because the role does not bind without it
	{name: "list is no YAML", do: add("config/manager/kustomization.yaml", "a: [\n"),
		file: "config/manager/kustomization.yaml:", say: "not valid YAML", generated: true},
	{name: "listed file removed", do: remove("config/manager/namespace.yaml"), file: "config/manager/kustomization.yaml:",
		say: "lists namespace.yaml, which does not exist", generated: true},
	{name: "service account removed", do: remove("config/rbac/service_account.yaml"),
		file: "config/rbac/kustomization.yaml:", say: "lists service_account.yaml, which does not exist", generated: true},
	{name: "sample with an unknown field", do: replace("config/samples/webapp_v1_guestbook.yaml", "  message: ",
		"  mesage: "), file: "config/samples/webapp_v1_guestbook.yaml:", say: "has no field spec.mesage", generated: true},
	{name: "sample is no YAML", do: add("config/samples/webapp_v1_shelf.yaml", "a: [\n"),
		file: "config/samples/webapp_v1_shelf.yaml:", say: "not valid YAML", generated: true},
	{name: "sample of no kind", do: replace("config/samples/webapp_v2_guestbook.yaml", "kind: Guestbook",
		"kind: Gestbook"), file: "config/samples/webapp_v2_guestbook.yaml:", say: "no CRD of the project has",
		generated: true},
	{name: "marker misspelt", do: replace("api/v1/guestbook_types.go", "object:root", "object:rot"),
		file: "api/v1/guestbook_types.go:", say: "unknown marker", stops: true},
	{name: "marker misplaced", do: replace("api/v1/shelf_types.go", "type ShelfSpec struct {",
		"// +kubebuilder:validation:Minimum=1\ntype ShelfSpec struct {"), file: "api/v1/shelf_types.go:",
		say: "+kubebuilder:validation:Minimum", stops: true},
	{name: "rule misspelt", do: replace("api/v2/guestbook_types.go", "type GuestbookSpec struct {",
		"// +kubebuilder:validation:XValidation:rule=\"slf.x\"\ntype GuestbookSpec struct {"),
		file: "api/v2/guestbook_types.go:", say: "undeclared reference to 'slf'", stops: true},
	{name: "Go does not parse", do: add("internal/controller/shelf_controller.go", "func {\n"),
		file: "internal/controller/shelf_controller.go:", say: "expected", stops: true},
	{name: "lock broken", do: add("PROJECT.lock", "{\n"), file: "PROJECT.lock:", say: "want a path", stops: true},
	{name: "lock removed", do: remove("PROJECT.lock"), file: "PROJECT.lock", say: "is missing",
		mended: []string{"PROJECT.lock"}},
	{name: "go.mod removed", do: remove("go.mod"), file: "go.mod", say: "the file is missing", stops: true},
	{name: "patch of kubebuilder", do: add("config/crd/patches/webhook_in_guestbooks.yaml",
		"kind: CustomResourceDefinition\n"), file: "config/crd/patches/webhook_in_guestbooks.yaml",
		say: "belongs to kubebuilder", mended: []string{"config/crd/patches/webhook_in_guestbooks.yaml"}},
	{name: "insertion point of kubebuilder", do: add("cmd/main.go", "\n// +kubebuilder:scaffold:builder\n"),
		file: "cmd/main.go:", say: "marks where kubebuilder inserts code", mended: []string{"cmd/main.go"}},
	{name: "tool of kubebuilder", do: add("bin/controller-gen", "\n"), file: "bin/controller-gen", say: "is a tool"},
}

// TestRandomDamageIsReportedOnceAndFixed damages projects in each way, and in several random ways at once. Each damage
// is reported once, possibly only after the repair of a damage that stops the check. --fix repairs the fixable damages
// and changes nothing else, and a second --fix changes nothing.
func TestRandomDamageIsReportedOnceAndFixed(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) { d.check(t, []damage{d}) })
	}
	seeds.Each(t, 5, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		var some []damage
		for _, i := range r.Perm(len(damages))[:2+r.IntN(5)] {
			if !slices.ContainsFunc(some, func(d damage) bool { return d.touches(damages[i]) }) {
				some = append(some, damages[i])
			}
		}
		damage{}.check(t, some)
	})
}

// touches reports whether two damages affect the same file.
func (d damage) touches(other damage) bool {
	return strings.TrimSuffix(d.file, ":") == strings.TrimSuffix(other.file, ":")
}

func (damage) check(t *testing.T, some []damage) {
	t.Helper()
	p := goldenProject(t)
	var names []string
	stopped, locked := false, false
	for _, d := range some {
		d.do(t, p)
		names = append(names, d.name)
		stopped = stopped || d.stops
		locked = locked || strings.HasPrefix(d.file, "PROJECT.lock")
	}
	t.Log(strings.Join(names, "; "))
	found := examine(t, p)
	reported := map[int]int{}
	for _, f := range found {
		at := slices.IndexFunc(some, func(d damage) bool { return d.isTold(f, locked) })
		if at < 0 {
			t.Errorf("nothing is wrong with %v", f.Error)
			continue
		}
		reported[at]++
		if f.Hint == "" {
			t.Errorf("%v has no hint", f.Error)
		}
		if mends := len(some[at].mended) > 0; f.Fixable != mends {
			t.Errorf("fixable is %t: %v", f.Fixable, f.Error)
		}
	}
	for i, d := range some {
		hidden := stopped && d.generated || d.file == "none"
		if reported[i] != 1 && !(hidden && reported[i] == 0) && !(stopped && d.stops && reported[i] == 0) {
			t.Errorf("%s is reported %d times", d.name, reported[i])
		}
	}
	if stopped && len(reported) == 0 {
		t.Error("nothing is reported")
	}
	checkRepaired(t, p, some, found, stopped)
}

// isTold reports whether a finding reports the damage. Without a lock, edits by hand cannot be detected.
func (d damage) isTold(f doctor.Finding, locked bool) bool {
	text := f.Error.Error()
	say := d.say
	if locked && say == "is edited by hand" {
		say = "is out of date"
	}
	return strings.HasPrefix(text, d.file) && strings.Contains(text, say)
}

// examine runs all checks except the checks of the machine and of the bundled runtime, which golden projects do not
// have.
func examine(t *testing.T, p *doctor.Project) []doctor.Finding {
	t.Helper()
	again := &doctor.Project{Dir: p.Dir, FS: p.FS, Kctrl: p.Kctrl, GoVersion: p.GoVersion, Compiled: p.Compiled}
	found, err := doctor.Examine(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Code == "runtime" })
}

func checkRepaired(t *testing.T, p *doctor.Project, some []damage, found []doctor.Finding, stopped bool) {
	t.Helper()
	if !slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Fixable }) {
		return
	}
	before := filesOf(t, p)
	fix := func() int {
		again := &doctor.Project{Dir: p.Dir, FS: p.FS, Kctrl: p.Kctrl, GoVersion: p.GoVersion, Compiled: p.Compiled}
		fixes, err := doctor.Fix(t.Context(), again, found)
		if err != nil {
			if stopped {
				return 0 // the cause is reported, and nothing is written
			}
			t.Fatal(err)
		}
		root, err := transaction.Open(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := fixes.Apply(t.Context(), root, "test"); err != nil {
			t.Fatal(err)
		}
		return fixes.Len()
	}
	fix()
	allowed := []string{"PROJECT.lock"}
	for _, d := range some {
		allowed = append(allowed, d.mended...)
	}
	after := filesOf(t, p)
	for name := range maps.Keys(before) {
		if !bytes.Equal(before[name], after[name]) && !slices.Contains(allowed, name) {
			t.Errorf("--fix has changed %s", name)
		}
	}
	for name := range after {
		// Golden projects have no runtime. Without a lock, kctrl treats it as missing and adds it.
		if _, had := before[name]; !had && !slices.Contains(allowed, name) && !strings.HasPrefix(name, "third_party/kctrl/") {
			t.Errorf("--fix has made %s", name)
		}
	}
	if n := fix(); n > 0 {
		t.Errorf("--fix again changes %d files", n)
	}
	for _, f := range examine(t, p) {
		if f.Fixable && !stopped {
			t.Errorf("--fix leaves %v", f.Error)
		}
	}
}

func filesOf(t *testing.T, p *doctor.Project) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(p.Dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && name != ".git" {
			files[name], err = os.ReadFile(filepath.Join(p.Dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
