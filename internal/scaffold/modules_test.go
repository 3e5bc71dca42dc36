package scaffold_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const (
	runtimeModule = "github.com/kctrl-dev/kctrl"
	// fakeVersion is a release of kctrl in a separate module cache.
	fakeVersion = "v0.1.0"
)

// TestModuleTemplatesAreTidy compares the templates of go.mod and go.sum with files that it computes as the go command
// does. The computation starts from the oldest supported k8s.io modules for the bundled runtime, and from the root
// go.mod for a new project. With -update it rewrites the templates.
func TestModuleTemplatesAreTidy(t *testing.T) {
	stale := false
	check := func(id string, computed []byte) {
		path := filepath.Join("..", "templates", "files", filepath.FromSlash(id)+".tmpl")
		want := append([]byte("{{- /* ModuleView */ -}}\n"), computed...)
		got, err := os.ReadFile(path)
		if err == nil && bytes.Equal(got, want) {
			return
		}
		stale = true
		if *update {
			writeFile(t, path, want)
			return
		}
		t.Errorf("%s is not what go mod tidy makes of the root go.mod: run make golden", path)
	}

	// A new project gets the same additions with either source of the runtime, apart from the initial requirements of
	// each.
	inBundled := map[string][]byte{}
	checkAdded := func(id string, computed []byte) {
		bundled, second := inBundled[id]
		if !second {
			inBundled[id] = computed
			return
		}
		var missing []string
		for line := range strings.Lines(string(bundled)) {
			if !strings.Contains(string(computed), line) {
				missing = append(missing, line)
			}
		}
		if strings.HasSuffix(id, "go.sum") {
			// The other source needs these from the beginning: a published runtime has tests, which go mod tidy reads.
			lines := slices.AppendSeq(missing, strings.Lines(string(computed)))
			slices.Sort(lines)
			computed = []byte(strings.Join(lines, ""))
		} else if len(missing) > 0 {
			t.Errorf("%s: with a bundled runtime a project needs %s too", id, missing)
		}
		check(id, computed)
	}

	bundle := writeRuntime(t, olderKubernetes(t, 2)+".0", false)
	check("bundled/third_party/kctrl/go.mod", readFile(t, bundle, "go.mod"))
	check("bundled/third_party/kctrl/go.sum", readFile(t, bundle, "go.sum"))

	replacement := writeControllerRuntime(t, bundle)
	check("dropin/third_party/controller-runtime/go.mod", readFile(t, replacement, "go.mod"))
	check("dropin/third_party/controller-runtime/go.sum", readFile(t, replacement, "go.sum"))

	proj := t.TempDir()
	writeNewProject(t, proj, "v0.0.0", "\nreplace github.com/kctrl-dev/kctrl => ./third_party/kctrl\n")
	if err := os.CopyFS(filepath.Join(proj, "third_party", "kctrl"), os.DirFS(bundle)); err != nil {
		t.Fatal(err)
	}
	tidy(t, proj, moduleEnv())
	check("bundled/go.mod", moduleTemplate(t, proj, "v0.0.0", "v0.0.0"))
	check("bundled/go.sum", readFile(t, proj, "go.sum"))

	mod, sums := readFile(t, proj, "go.mod"), readFile(t, proj, "go.sum")
	writeFile(t, filepath.Join(proj, "applied", "applied.go"), []byte(applied))
	writeFile(t, filepath.Join(proj, "go.sum"), sourceFile(t, "go.sum"))
	tidy(t, proj, moduleEnv())
	checkAdded("applyconfiguration/go.mod", addedRequirements(t, mod, readFile(t, proj, "go.mod")))
	checkAdded("applyconfiguration/go.sum", addedLines(sums, readFile(t, proj, "go.sum")))

	// The API packages alone must have the requirements of the project that they import.
	api := t.TempDir()
	typesMod := strings.Replace(strings.Replace(string(mod), "module example.com/project\n",
		"module example.com/project/api\n", 1), "require "+runtimeModule+" v0.0.0\n", "", 1)
	writeFile(t, filepath.Join(api, "go.mod"), []byte(strings.Split(typesMod, "\nreplace ")[0]))
	writeFile(t, filepath.Join(api, "go.sum"), sourceFile(t, "go.sum"))
	writeFile(t, filepath.Join(api, "v1", "types.go"), []byte(typed))
	tidy(t, api, moduleEnv())
	check("apimodule/api/go.mod", []byte(strings.Replace(string(readFile(t, api, "go.mod")),
		"module example.com/project/api\n", "module {{.Repo}}/api\n", 1)))
	check("apimodule/api/go.sum", readFile(t, api, "go.sum"))
	apiMod, apiSums := readFile(t, api, "go.mod"), readFile(t, api, "go.sum")
	writeFile(t, filepath.Join(api, "applied", "applied.go"), []byte(applied))
	writeFile(t, filepath.Join(api, "go.mod"), []byte(strings.Split(typesMod, "\nreplace ")[0]))
	writeFile(t, filepath.Join(api, "go.sum"), sourceFile(t, "go.sum"))
	tidy(t, api, moduleEnv())
	check("apiapplyconfiguration/go.mod", addedRequirements(t, apiMod, readFile(t, api, "go.mod")))
	check("apiapplyconfiguration/go.sum", addedLines(apiSums, readFile(t, api, "go.sum")))

	published := t.TempDir()
	writeNewProject(t, published, fakeVersion, "")
	env := proxyEnv(newModuleProxy(t, kctrl.Source, fakeVersion), shadowModuleCache(t))
	tidy(t, published, env)
	check("module/go.mod", moduleTemplate(t, published, fakeVersion, "{{.RuntimeVersion}}"))
	check("module/go.sum", withoutModule(readFile(t, published, "go.sum"), runtimeModule))

	mod, sums = readFile(t, published, "go.mod"), readFile(t, published, "go.sum")
	writeFile(t, filepath.Join(published, "applied", "applied.go"), []byte(applied))
	writeFile(t, filepath.Join(published, "go.sum"), sourceFile(t, "go.sum"))
	tidy(t, published, env)
	checkAdded("applyconfiguration/go.mod", addedRequirements(t, mod, readFile(t, published, "go.mod")))
	checkAdded("applyconfiguration/go.sum", addedLines(sums, readFile(t, published, "go.sum")))

	if stale && *update {
		t.Fatal("the module templates changed: run make golden once more, for what is made from them")
	}
}

// typed is a file with all imports that kctrl writes into Go types.
const typed = `package v1

import (
	_ "k8s.io/apimachinery/pkg/api/resource"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/apimachinery/pkg/runtime/schema"
	_ "k8s.io/apimachinery/pkg/util/intstr"
)
`

// applied is a file with the imports of apply configurations.
const applied = `package applied

import (
	_ "k8s.io/apimachinery/pkg/util/managedfields"
	_ "k8s.io/client-go/applyconfigurations/meta/v1"
	_ "sigs.k8s.io/structured-merge-diff/v6/typed"
)
`

// addedRequirements returns a go.mod with the requirements that after has in addition to before, or that only after
// lists as direct ones.
func addedRequirements(t *testing.T, before, after []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("module example.com/needed\n\nrequire (\n")
	lines := strings.Split(string(before), "\n")
	file, err := modfile.Parse("go.mod", after, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		line := fmt.Sprintf("\t%s %s", r.Mod.Path, r.Mod.Version)
		if r.Indirect {
			line += " // indirect"
		}
		if !slices.Contains(lines, line) && r.Mod.Path != runtimeModule {
			fmt.Fprintln(&out, line)
		}
	}
	out.WriteString(")\n")
	return out.Bytes()
}

func addedLines(before, after []byte) []byte {
	had := strings.SplitAfter(string(before), "\n")
	added := slices.DeleteFunc(strings.SplitAfter(string(after), "\n"),
		func(line string) bool { return slices.Contains(had, line) })
	return []byte(strings.Join(added, ""))
}

// writeRuntime writes the runtime as its own tidy module and returns the directory. The module requires the given
// version of the k8s.io modules and no newer dependencies. With tests, it includes the tests of packages that do not
// use the test server, which needs the newest modules. Missing modules are downloaded.
func writeRuntime(t *testing.T, kubernetes string, tests bool) string {
	t.Helper()
	dir := t.TempDir()
	testedByServer := dirsTestedByServer(t)
	err := fs.WalkDir(kctrl.Source, "runtime", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") && (!tests || testedByServer[path.Dir(name)]) {
			return err
		}
		content, err := fs.ReadFile(kctrl.Source, name)
		writeFile(t, filepath.Join(dir, name), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if tests {
		for _, name := range sharedFiles {
			writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), readFile(t, "../..", name))
		}
	}
	root, err := modfile.Parse("go.mod", sourceFile(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	goMod := bytes.NewBufferString("module " + runtimeModule + "\n\ngo " + root.Go.Version + "\n\nrequire (\n")
	for _, name := range []string{"api", "apiextensions-apiserver", "apimachinery", "client-go"} {
		fmt.Fprintf(goMod, "\tk8s.io/%s %s\n", name, kubernetes)
	}
	goMod.WriteString(")\n")
	writeFile(t, filepath.Join(dir, "go.mod"), goMod.Bytes())
	// The go command queries the checksum database only for modules without a known checksum.
	sums := slices.Concat(sourceFile(t, "go.sum"), bundledTemplate(t, "go.sum"))
	writeFile(t, filepath.Join(dir, "go.sum"), sums)
	tidy(t, dir, moduleEnv())
	return dir
}

// oldestControllerRuntime is the first release of controller-runtime that the module in third_party replaces. The
// module requires no newer modules than this release, so it raises no requirement of an operator.
const oldestControllerRuntime = "sigs.k8s.io/controller-runtime@v0.23.0"

// writeControllerRuntime writes the module that replaces controller-runtime beside a copy of the runtime, with the
// requirements of the oldest release that it replaces, and returns its directory.
func writeControllerRuntime(t *testing.T, runtime string) string {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "controller-runtime")
	source, err := kctrl.ControllerRuntime()
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.CopyFS(dir, source), os.CopyFS(filepath.Join(parent, "kctrl"), os.DirFS(runtime)))
	if err != nil {
		t.Fatal(err)
	}
	var release struct{ GoMod string }
	listed := goCommand(t, parent, moduleEnv(), "mod", "download", "-json", oldestControllerRuntime)
	if err := json.Unmarshal([]byte(listed), &release); err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", readFile(t, filepath.Dir(release.GoMod), filepath.Base(release.GoMod)), nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := modfile.Parse("go.mod", sourceFile(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		file.AddGoStmt(root.Go.Version),
		file.AddRequire(runtimeModule, "v0.0.0"),
		file.AddReplace(runtimeModule, "", "../kctrl", ""),
	)
	text, formatErr := file.Format()
	if err := errors.Join(err, formatErr); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "go.mod"), text)
	writeFile(t, filepath.Join(dir, "go.sum"), slices.Concat(sourceFile(t, "go.sum"), readFile(t, dir, "go.sum")))
	tidy(t, dir, moduleEnv())
	return dir
}

// dirsTestedByServer returns the directories of the runtime whose tests import the test server.
func dirsTestedByServer(t *testing.T) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	err := fs.WalkDir(kctrl.Source, "runtime", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") &&
			bytes.Contains(sourceFile(t, name), []byte(`"`+runtimeModule+"/testserver/")) {
			dirs[path.Dir(name)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// bundledTemplate returns a module file of the bundled runtime, as projects get it.
func bundledTemplate(t *testing.T, name string) []byte {
	t.Helper()
	content := readFile(t, "../templates/files/bundled/third_party/kctrl", name+".tmpl")
	return bytes.TrimPrefix(content, []byte("{{- /* ModuleView */ -}}\n"))
}

// TestProjectsMayChooseOlderKubernetes follows docs/kubernetes.md: a scaffolded project uses older k8s.io modules, is
// tidy and builds, also with kinds that are created later. A subtest vets the project and the runtime, and runs the
// tests on a real API server.
func TestProjectsMayChooseOlderKubernetes(t *testing.T) {
	for name, version := range map[string]string{
		"oldest":                  olderKubernetes(t, 2) + ".0",
		"last patch of oldest":    olderKubernetes(t, 2), // a version with two numbers means its last patch
		"last patch of the other": olderKubernetes(t, 1),
	} {
		t.Run(name, func(t *testing.T) {
			p := newGuestbook(t)
			p.create(t, scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true,
				Validation: true})
			modules := []string{"k8s.io/api@" + version, "k8s.io/apimachinery@" + version, "k8s.io/client-go@" + version}
			goCommand(t, p.dir, moduleEnv(), append([]string{"get"}, modules...)...)
			tidy(t, p.dir, moduleEnv())
			chosen := kubernetesOf(t, p)
			for i, got := range chosen {
				if !strings.HasPrefix(got+".", modules[i]+".") {
					t.Errorf("the project has %s, and not %s", got, modules[i])
				}
			}
			for _, opts := range []any{
				scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Resource: true, Controller: true},
				scaffold.APIOptions{Group: "webapp", Version: "v1", Kind: "Site", Resource: true, Controller: true,
					Namespaced: true, Operand: &render.Operand{Port: 80}},
				scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Shelf", Defaulting: true, Validation: true,
					Policy: true},
				scaffold.WebhookOptions{Group: "core", Version: "v1", Kind: "Pod", Defaulting: true, Validation: true, Policy: true,
					Rules: []string{"a=true"}},
				scaffold.ControllerOptions{Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true},
			} {
				p.create(t, opts)
			}
			goCommand(t, p.dir, cacheEnv(), "build", "./...")
			goCommand(t, p.dir, moduleEnv(), "mod", "tidy", "-diff")
			t.Run("controller-runtime", func(t *testing.T) {
				dir := writeControllerRuntime(t, writeRuntime(t, olderKubernetes(t, 2)+".0", false))
				goCommand(t, dir, moduleEnv(), append([]string{"get"}, modules...)...)
				goCommand(t, dir, cacheEnv(), "build", "./...")
			})
			t.Run("vet and test", func(t *testing.T) {
				goCommand(t, p.dir, cacheEnv(), "vet", "./...")
				goCommand(t, p.dir, realServerEnv(t), "test", "-vet=off", "./...")
				_, version, _ := strings.Cut(chosen[0], "@")
				runtime := writeRuntime(t, version, true)
				goCommand(t, runtime, moduleEnv(), "vet", "./...")
			})
		})
	}
}

// olderKubernetes returns the minor version of the k8s.io modules that is before minor versions older than the tested
// one. The bundled runtime requires the version that is two minor versions older; a project may use it or a newer one.
func olderKubernetes(t *testing.T, before int) string {
	t.Helper()
	root, err := modfile.Parse("go.mod", sourceFile(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	minor := 0
	newest := root.Require[slices.IndexFunc(root.Require,
		func(r *modfile.Require) bool { return r.Mod.Path == "k8s.io/apimachinery" })].Mod.Version
	if _, err := fmt.Sscanf(newest, "v0.%d.", &minor); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("v0.%d", minor-before)
}

// kubernetesOf returns the k8s.io modules of a project's program.
func kubernetesOf(t *testing.T, p *testProject) []string {
	t.Helper()
	out := goCommand(t, p.dir, moduleEnv(), "list", "-m", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go")
	return strings.Split(strings.ReplaceAll(strings.TrimSpace(out), " ", "@"), "\n")
}

// writeNewProject writes a project as it is after init, as far as go mod tidy depends on it: its imports, and the
// available versions.
func writeNewProject(t *testing.T, dir, runtimeVersion, replace string) {
	t.Helper()
	root, err := modfile.Parse("go.mod", sourceFile(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBufferString("module example.com/project\n\ngo " + root.Go.Version + "\n\nrequire " + runtimeModule +
		" " + runtimeVersion + "\n\nrequire (\n")
	for _, r := range root.Require {
		fmt.Fprintf(out, "\t%s // indirect\n", r.Mod)
	}
	out.WriteString(")\n" + replace)
	text := strings.ReplaceAll(out.String(), "@", " ")
	writeFile(t, filepath.Join(dir, "go.mod"), []byte(text))
	writeFile(t, filepath.Join(dir, "go.sum"), sourceFile(t, "go.sum"))
	for _, template := range templates.Project() {
		if template.ID != "project/cmd/main.go" {
			continue
		}
		code, err := template.Render(templates.ProjectView{})
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "cmd", "main.go"), code)
	}
}

// moduleTemplate returns a template of a go.mod.
func moduleTemplate(t *testing.T, dir, version, inTemplate string) []byte {
	t.Helper()
	text := string(readFile(t, dir, "go.mod"))
	text = strings.Replace(text, "module example.com/project\n", "module {{.Repo}}\n", 1)
	return []byte(strings.Replace(text, runtimeModule+" "+version, runtimeModule+" "+inTemplate, 1))
}

func withoutModule(sums []byte, module string) []byte {
	lines := slices.DeleteFunc(strings.SplitAfter(string(sums), "\n"), func(line string) bool {
		return strings.HasPrefix(line, module+" ")
	})
	return []byte(strings.Join(lines, ""))
}

func tidy(t *testing.T, dir string, env []string) {
	t.Helper()
	goCommand(t, dir, env, "mod", "tidy")
}

// goCommand runs the go command, and returns its output.
func goCommand(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := tryGoCommand(t.Context(), dir, env, args...)
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGoCommand(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// cacheEnv returns the environment of a go command that has only the module cache.
func cacheEnv() []string { return append(moduleEnv(), "GOPROXY=off") }

// moduleEnv returns the environment of a go command that may download modules.
func moduleEnv() []string {
	// With -trimpath, code compiled in one directory is reused in every other one.
	return []string{"GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOWORK=off"}
}

func sourceFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := fs.ReadFile(kctrl.Source, name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBundledRuntimeNeedsNoOtherModules checks that the bundle requires only modules that its packages import.
func TestBundledRuntimeNeedsNoOtherModules(t *testing.T) {
	imported := map[string]bool{}
	err := fs.WalkDir(kctrl.Source, "runtime", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, sourceFile(t, name), parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported[strings.Trim(spec.Path.Value, `"`)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", bundledTemplate(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		used := slices.ContainsFunc(slices.Collect(maps.Keys(imported)), func(path string) bool {
			return path == r.Mod.Path || strings.HasPrefix(path, r.Mod.Path+"/")
		})
		if used == r.Indirect {
			t.Errorf("%s: indirect is %v, imported by the runtime is %v", r.Mod.Path, r.Indirect, used)
		}
	}
}
