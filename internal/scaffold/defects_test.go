package scaffold_test

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// These tests check for defects of kubebuilder v4. So do TestOperandTestsFindEachDefect, testdata/script/usage.txtar,
// and TestGolden, which builds config/default after each command.

// withGuestbook returns a project with one kind.
func withGuestbook(t *testing.T) *randomProject {
	t.Helper()
	p := newRandomProject(t, rand.New(rand.NewPCG(2, 2)))
	p.mustRun(guestbook)
	return p
}

func (p *randomProject) mustRun(opts any) {
	p.Helper()
	if !p.run(opts) {
		p.Fatalf("%+v is refused", opts)
	}
}

// read returns the file of the project with this name, in any directory.
func (p *randomProject) read(base string) (name, text string) {
	p.Helper()
	for name, content := range p.tree() {
		if path.Base(name) == base || name == base {
			return name, string(content)
		}
	}
	p.Fatalf("there is no %s", base)
	return "", ""
}

func (p *randomProject) put(name, text string) {
	p.Helper()
	if err := afero.WriteFile(p.fs, name, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

var (
	shelf = scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Plural: "shelves", Resource: true,
		Controller: true, Namespaced: true}
	defaulter = scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true}
	validator = scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Validation: true}
)

// TestCreateRestoresALostRegistration removes a registration from main.go, which the next create must restore.
func TestCreateRestoresALostRegistration(t *testing.T) {
	p := withGuestbook(t)
	_, main := p.read("cmd/main.go")
	p.put("cmd/main.go", strings.Replace(main, ", register)", ")", 1))
	p.mustRun(shelf)
	if _, main := p.read("cmd/main.go"); !strings.Contains(main, ", register)") {
		t.Errorf("main.go does not register what there is:\n%s", main)
	}
	if _, register := p.read("cmd/zz_generated.register.go"); !strings.Contains(register, "ShelfReconciler") {
		t.Errorf("the controller is not registered:\n%s", register)
	}
}

// TestBracesOfUsersStay checks that no template engine reads braces in code and strings.
func TestBracesOfUsersStay(t *testing.T) {
	p := withGuestbook(t)
	p.mustRun(defaulter)
	name, text := p.read("guestbook_defaulter.go")
	mine := text + "\ntype port struct{ Name string }\n\nvar ports = []port{{Name: \"http\"}}\n\nconst template = \"{{ " +
		".Resource.Kind }} {{\"\n"
	p.put(name, mine)
	p.mustRun(validator)
	if _, now := p.read("guestbook_defaulter.go"); now != mine {
		t.Errorf("what the user wrote is now\n%s", now)
	}
	p.check()
}

// TestCommentsDoNotMakeRegistrationsTwo adds a comment to the registration and creates the kind again, which must not
// add a second registration.
func TestCommentsDoNotMakeRegistrationsTwo(t *testing.T) {
	p := withGuestbook(t)
	name, text := p.read("cmd/zz_generated.register.go")
	p.put(name, strings.Replace(text, "\treturn errors.Join(\n", "\treturn errors.Join(\n\t\t// mine\n", 1))
	again := guestbook
	again.Force = true
	p.mustRun(again)
	if _, text := p.read(name); strings.Count(text, "GuestbookReconciler)") != 1 {
		t.Errorf("the controller is registered several times:\n%s", text)
	}
}

// failing is a disk on which the nth write fails.
type failing struct {
	afero.Fs
	left int
}

var errFull = errors.New("the disk is full")

func (f *failing) fails() bool { f.left--; return f.left == 0 }

// OpenFile opens a file.
func (f *failing) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 && f.fails() {
		return nil, errFull
	}
	return f.Fs.OpenFile(name, flag, perm)
}

// Rename renames a file.
func (f *failing) Rename(from, to string) error {
	if f.fails() {
		return errFull
	}
	return f.Fs.Rename(from, to)
}

// TestFailedInitCanBeRepeated fails init at different writes. The next init succeeds.
func TestFailedInitCanBeRepeated(t *testing.T) {
	opts := scaffold.InitOptions{
		Domain: "example.com", Repo: "example.com/guestbook", License: "none", Runtime: project.Module,
		Kctrl: project.Build{Version: "v1.0.0", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
	}
	failed := 0
	for n := 1; n < 400; n += 7 {
		memory := afero.NewMemMapFs()
		plan, err := scaffold.PlanInit(afero.NewIOFS(memory), opts)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Apply(t.Context(), &failing{memory, n}, "kctrl init") == nil {
			break
		}
		failed++
		if plan, err = scaffold.PlanInit(afero.NewIOFS(memory), opts); err != nil {
			t.Fatalf("after failing at write %d: %v", n, err)
		}
		if err := plan.Apply(t.Context(), memory, "kctrl init"); err != nil {
			t.Fatalf("after failing at write %d: %v", n, err)
		}
	}
	if failed == 0 {
		t.Error("no write has failed")
	}
}

// TestControllersOfBuiltInKindsMayComeFirst checks that the group of a built-in kind does not count as the project's
// only group.
func TestControllersOfBuiltInKindsMayComeFirst(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{})
	p.mustRun(scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true})
	p.mustRun(guestbook)
	p.check()
}

// TestGroupsOfOneIdentifierHaveTwoImports checks that the imports have different names.
func TestGroupsOfOneIdentifierHaveTwoImports(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{MultiGroup: true})
	for _, group := range []string{"foo.policy", "foo-policy"} {
		opts := guestbook
		opts.Group = group
		p.mustRun(opts)
	}
	name, text := p.read("cmd/zz_generated.register.go")
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, spec := range file.Imports {
		if spec.Name != nil && seen[spec.Name.Name] {
			t.Errorf("two imports have the name %s:\n%s", spec.Name.Name, text)
		} else if spec.Name != nil {
			seen[spec.Name.Name] = true
		}
	}
	p.check()
}

// TestRemovedComponentsStayRemoved checks that commands do not add components again that a user has removed from
// config/default.
func TestRemovedComponentsStayRemoved(t *testing.T) {
	p := withGuestbook(t)
	p.mustRun(defaulter)
	name, text := p.read("config/default/kustomization.yaml")
	without := strings.Replace(text, "components: [../components/webhook]\n", "components: []\n", 1)
	if without == text {
		t.Fatalf("the component is not listed:\n%s", text)
	}
	p.put(name, without)
	p.mustRun(validator)
	if _, now := p.read(name); strings.Contains(now, "[../components/webhook]") {
		t.Errorf("the component is back:\n%s", now)
	}
}

// TestControllersOfOperandsAreFormatted checks the format of the Go files.
func TestControllersOfOperandsAreFormatted(t *testing.T) {
	p := withGuestbook(t)
	runs := shelf
	runs.Operand = &render.Operand{Image: "nginx", Port: 80, Finalizer: true}
	p.mustRun(runs)
	p.check()
}

// TestNoCommandRunsKctrl checks that no command runs kctrl by name, because the name may differ or not be in $PATH.
func TestNoCommandRunsKctrl(t *testing.T) {
	call := regexp.MustCompile(`exec\.Command(Context)?\([^)]*"kctrl"`)
	for _, dir := range []string{".", "edit", "fields", "plan", "project", "versions", "../../cmd/kctrl"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if path.Ext(entry.Name()) != ".go" || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			source, err := os.ReadFile(path.Join(dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if call.Match(source) {
				t.Errorf("%s calls kctrl by its name", path.Join(dir, entry.Name()))
			}
		}
	}
}

// TestListItemsAreIndentedAlike checks that kustomizations indent all items of a list alike.
func TestListItemsAreIndentedAlike(t *testing.T) {
	p := withGuestbook(t)
	for _, opts := range []any{shelf, defaulter, validator} {
		p.mustRun(opts)
	}
	for name, content := range p.tree() {
		if path.Base(name) != "kustomization.yaml" {
			continue
		}
		indents := map[string]bool{}
		for line := range strings.Lines(string(content)) {
			if rest := strings.TrimLeft(line, " "); strings.HasPrefix(rest, "- ") && !strings.Contains(rest, ":") {
				indents[line[:len(line)-len(rest)]] = true
			}
		}
		if len(indents) > 1 {
			t.Errorf("%s indents its lists in several ways:\n%s", name, content)
		}
	}
}

// TestRepeatedCommandsWriteNothing also checks that no Go file is empty.
func TestRepeatedCommandsWriteNothing(t *testing.T) {
	p := withGuestbook(t)
	p.mustRun(defaulter)
	p.wantNothing(guestbook)
	p.wantNothing(defaulter)
	for name, content := range p.tree() {
		if len(bytes.TrimSpace(content)) == 0 && path.Ext(name) == ".go" {
			t.Errorf("%s is empty", name)
		}
	}
}

// TestNamespacedManagersWatchTheirOwnNamespace checks the flag in the Deployment.
func TestNamespacedManagersWatchTheirOwnNamespace(t *testing.T) {
	p := newMemoryProject(t, scaffold.InitOptions{Namespaced: true})
	_, manager := p.read("config/manager/manager.yaml")
	for _, want := range []string{"- --namespaces=$(WATCH_NAMESPACE)\n", "- name: WATCH_NAMESPACE\n",
		"fieldPath: metadata.namespace\n"} {
		if !strings.Contains(manager, want) {
			t.Errorf("the manager has no %q:\n%s", want, manager)
		}
	}
}

// TestCheckoutsMayEndLinesInCRLF checks that other line ends do not count as an edit. Every command accepts such files,
// and no file has both kinds of line ends afterwards.
func TestCheckoutsMayEndLinesInCRLF(t *testing.T) {
	version := guestbook
	version.Version, version.Controller = "v2", false
	for _, opts := range []any{shelf, version, validator, scaffold.WebhookOptions{Group: "webapp", Version: "v1",
		Kind: "Guestbook", Policy: true}} {
		p := withGuestbook(t)
		p.mustRun(defaulter)
		for name, content := range p.tree() {
			p.put(name, strings.ReplaceAll(string(content), "\n", "\r\n"))
		}
		before := p.tree()
		p.mustRun(opts)
		for name, content := range p.tree() {
			if _, was := before[name]; was && name != project.LockFile &&
				strings.Count(string(content), "\n") != strings.Count(string(content), "\r\n") {
				t.Errorf("%+v: of %s only some lines end in CRLF", opts, name)
			}
		}
		after := p.tree()
		p.run(opts)
		for name, content := range p.tree() {
			if string(content) != string(after[name]) {
				t.Errorf("%+v: %s changes the second time", opts, name)
			}
		}
	}
}
