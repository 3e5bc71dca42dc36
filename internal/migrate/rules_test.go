package migrate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the rules make of the cases")

// TestRules rewrites the cases of testdata/rules: each is a package before and after, with what is left to do. What the rules make of
// them compiles, but for what is left.
func TestRules(t *testing.T) { rewriteCases(t, peerStub, "[^v]*") }

// TestRulesForOldVersions does so with cases for the signatures that controller-runtime had in v0.14.
func TestRulesForOldVersions(t *testing.T) {
	rewriteCases(t, "testdata/controller-runtime-v0.14", "v0.14_*")
}

// rewriteCases rewrites the cases of a pattern, which are for controller-runtime as in a folder.
func rewriteCases(t *testing.T, peer, pattern string) {
	before, after := newModule(t, peer), newModule(t, peer)
	cases := writeCases(t, before, "before/", "testdata/rules/"+pattern+".txtar")
	got := rewriteAll(t, before)
	for folder, archive := range cases {
		t.Run(folder, func(t *testing.T) {
			result := got[folder]
			if *update {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return !strings.HasPrefix(f.Name, "before/") })
				archive.Files = append(archive.Files, result...)
				write(t, filepath.Join("testdata/rules", folder+".txtar"), txtar.Format(archive))
				return
			}
			want := slices.DeleteFunc(slices.Clone(archive.Files), func(f txtar.File) bool { return strings.HasPrefix(f.Name, "before/") })
			if got, want := string(txtar.Format(&txtar.Archive{Files: result})), string(txtar.Format(&txtar.Archive{Files: want})); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
		if !strings.HasPrefix(string(archive.Comment), "# Left") {
			for _, file := range got[folder] {
				if source, ok := strings.CutPrefix(file.Name, "after/"); ok {
					write(t, filepath.Join(after, folder, source), file.Data)
				}
			}
		}
	}
	for _, e := range compile(t, after) {
		t.Errorf("%s: %s", strings.TrimPrefix(e.Pos, after), e.Msg)
	}
}

// writeCases writes the files below a folder of the cases of a pattern to a module, and returns the cases by the folders of their packages.
func writeCases(t *testing.T, dir, below, pattern string) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	cases := map[string]*txtar.Archive{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimSuffix(filepath.Base(name), ".txtar")
		cases[folder] = archive
		for _, file := range archive.Files {
			if source, ok := strings.CutPrefix(file.Name, below); ok {
				write(t, filepath.Join(dir, folder, source), file.Data)
			}
		}
	}
	return cases
}

// dependencies are the declarations of what the modules of all tests import, each of which is parsed once.
var dependencies = newDeclarations()

// ofCases is the module that newModule makes, and casesEnv the settings with which the go command reads it.
var (
	ofCases  = goModule{path: "example.com/cases", folder: "."}
	casesEnv = []string{"GOFLAGS=-mod=mod", "GOWORK=off"}
)

// loadCases reads the packages of a module that newModule has made.
func loadCases(t *testing.T, dir string) (*program, error) {
	t.Helper()
	return load(t.Context(), dependencies, dir, []goModule{ofCases}, casesEnv)
}

const (
	peerStub        = "testdata/controller-runtime"
	zapModule       = "go.uber.org/zap"
	rotatorModule   = "github.com/open-policy-agent/cert-controller"
	jsonpatchModule = "gomodules.xyz/jsonpatch/v2"
)

// newModule is a module with the requirements of this repository, and with controller-runtime's signatures, which are in a folder.
func newModule(t *testing.T, peer string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := file.Module.Mod.Path
	for _, err := range []error{
		file.AddModuleStmt("example.com/cases"),
		file.AddRequire(own, "v0.0.0"), file.AddReplace(own, "", root, ""),
		file.AddRequire(peerModule, "v0.0.0"), file.AddReplace(peerModule, "", filepath.Join(root, "internal/migrate", peer), ""),
		file.AddRequire(jsonpatchModule, "v2.5.0"), file.AddReplace(jsonpatchModule, "", filepath.Join(root, "internal/migrate/testdata/jsonpatch"), ""),
		file.AddRequire("example.com/library", "v0.0.0"), file.AddReplace("example.com/library", "", filepath.Join(root, "internal/migrate/testdata/library"), ""),
		file.AddRequire(zapModule, "v1.0.0"), file.AddReplace(zapModule, "", filepath.Join(root, "internal/migrate/testdata/zap"), ""),
		file.AddRequire(rotatorModule, "v0.0.0"), file.AddReplace(rotatorModule, "", filepath.Join(root, "internal/migrate/testdata/cert-controller"), ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	file.Cleanup()
	if text, err = file.Format(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), text)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), sums)
	return dir
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rewriteAll returns the files after, and what is left, of each package of a module.
func rewriteAll(t *testing.T, dir string) map[string][]txtar.File {
	t.Helper()
	p, err := loadCases(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.problems() {
		t.Fatalf("before: %s: %s", e.Pos, e.Msg)
	}
	files := p.files()
	p.survey(files)
	got, left := map[string][]txtar.File{}, map[string]string{}
	for _, f := range files {
		folder, name, _ := strings.Cut(f.name, "/")
		after, err := f.rewrite()
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		got[folder] = append(got[folder], txtar.File{Name: "after/" + name, Data: after})
		for _, l := range f.left {
			kind := "left"
			if l.Rewritten {
				kind = "look"
			} else if err := isSnippet(l.Snippet); err != nil {
				t.Errorf("%s: what to write for %s: %v", l.File, l.Reason, err)
			}
			left[folder] += fmt.Sprintf("%s: %s: %s\n", kind, name, l.Reason)
		}
	}
	for folder, text := range left {
		got[folder] = append(got[folder], txtar.File{Name: "report", Data: []byte(text)})
	}
	return got
}

// compile returns what does not compile in a module, tests included.
func compile(t *testing.T, dir string) []packages.Error {
	t.Helper()
	p, err := loadOn(t.Context(), dependencies, dir, []goModule{ofCases}, casesEnv, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return p.problems()
}
