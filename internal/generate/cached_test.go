package generate_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

const sharedTypes = `// Package shared has types of many APIs.
package shared

// Size is how large something is.
type Size struct {
	// +kubebuilder:validation:Minimum=1
	Count int32 ` + "`json:\"count\"`" + `
}
`

const shopTypes = `// +groupName=shop.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cached/units"
	"example.com/shared"
)

// +kubebuilder:object:root=true

// Shop sells.
type Shop struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Size shared.Size ` + "`json:\"size\"`" + `
	Unit units.Unit  ` + "`json:\"unit\"`" + `
}
`

// cachedProject creates a project whose types come from two of its own packages and from a module in another directory.
func cachedProject(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cached")
	write(t, dir, "../shared/go.mod", "module example.com/shared\n\ngo 1.26\n")
	write(t, dir, "../shared/shared.go", sharedTypes)
	addModule(t, dir, "example.com/cached")
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "go.mod", string(mod)+"\nrequire example.com/shared v0.0.0\n\nreplace example.com/shared => ../shared\n")
	write(t, dir, "api/v1/shop_types.go", shopTypes)
	write(t, dir, "units/units.go", "package units\n\n// Unit is a unit.\ntype Unit string\n")
	write(t, dir, "controller/controller.go", "package controller\n\n// "+
		"+kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n\nfunc Run() {}\n")
	write(t, dir, "hack/boilerplate.go.txt", "// Nobody's.\n")
	return dir
}

// cachedRun generates, writes the result, and reports whether it came from the cache. It compares the result with a run
// without a cache.
func cachedRun(t testing.TB, dir string, o generate.Options) (hit bool) {
	t.Helper()
	plain := plan.New(os.DirFS(dir))
	without := o
	without.Cache = incremental.Store{}
	if err := generate.Run(t.Context(), dir, plain, nil, without); err != nil {
		t.Fatal(err)
	}
	hit, got := uncomparedRun(t, dir, o)
	if diff := cmp.Diff(outputs(plain), got); diff != "" {
		t.Fatalf("the result differs from that without a cache:\n%s", diff)
	}
	return hit
}

// uncomparedRun is like cachedRun without the comparison. It also returns the result.
func uncomparedRun(t testing.TB, dir string, o generate.Options) (hit bool, result map[string]string) {
	t.Helper()
	before := entries(t, o.Cache)
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
		t.Fatal(err)
	}
	root, err := transaction.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := p.Apply(t.Context(), root, "test"); err != nil {
		t.Fatal(err)
	}
	after := entries(t, o.Cache)
	hit = len(after) == len(before)
	for name, info := range after {
		hit = hit && before[name] != nil && os.SameFile(before[name], info)
	}
	return hit, outputs(p)
}

// entries returns the entries of a cache. A run that could not use its entry replaces it.
func entries(t testing.TB, store incremental.Store) map[string]fs.FileInfo {
	t.Helper()
	found := map[string]fs.FileInfo{}
	files, err := os.ReadDir(store.Dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".entry" {
			continue
		}
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[file.Name()] = info
	}
	return found
}

func edit(t testing.TB, dir, name, old, replacement string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s does not contain %q", name, old)
	}
	write(t, dir, name, strings.Replace(string(content), old, replacement, 1))
}

// later calls f some seconds later. By then the times of earlier files are old enough to show changes without reading
// the files.
func later(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(5 * time.Second)))
		f(t)
	})
}

// TestChangesThatCount changes inputs that generators can read, one at a time. The next run must generate again, and
// the run after it must not.
func TestChangesThatCount(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string, o *generate.Options){
		"a comment": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "api/v1/shop_types.go", "Shop sells.", "Shop buys.")
		},
		"a marker elsewhere": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "controller/controller.go", "verbs=get", "verbs=list")
		},
		"a type in another package": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "units/units.go", "string", "int")
		},
		"a type in a replaced module": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "../shared/shared.go", "Minimum=1", "Minimum=2")
		},
		"a new file in a replaced module": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "../shared/more.go", "package shared\n")
		},
		"the go.mod of a replaced module": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "../shared/go.mod", "1.26", "1.25")
		},
		"a new file": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "api/v1/more.go", "package v1\n")
		},
		"a new package": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "more/more.go", "package more\n\n// +kubebuilder:rbac:groups=\"\",resources=nodes,verbs=get\n")
		},
		"a file that is gone": func(t *testing.T, dir string,
			_ *generate.Options) {
			remove(t, dir, "controller/controller.go")
		},
		"a build constraint": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "controller/controller.go", "package", "//go:build ignore\n\npackage")
		},
		"a module boundary": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "controller/go.mod", "module example.com/controller\n")
		},
		"go.mod": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "go.mod", "module", "// Ours.\nmodule")
		},
		"go.sum": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "go.sum", read(t, dir, "go.sum")+"\n")
		},
		"go.work": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "go.work", "go 1.26.0\n\nuse .\n")
		},
		"a go.work above": func(t *testing.T, dir string, _ *generate.Options) {
			write(t, dir, "../go.work", "go 1.26.0\n\nuse ./cached\n")
		},
		"the header": func(t *testing.T, dir string, _ *generate.Options) {
			edit(t, dir, "hack/boilerplate.go.txt", "Nobody's", "Somebody's")
		},
		"no header any more": func(t *testing.T, dir string,
			_ *generate.Options) {
			remove(t, dir, "hack/boilerplate.go.txt")
		},
		"an option": func(t *testing.T, _ string, o *generate.Options) { setFlag(t, o, "role-name", "other") },
		"fewer generators": func(_ *testing.T, _ string, o *generate.Options) {
			o.Generators = []string{generate.Object, generate.RBAC}
		},
		"other paths": func(_ *testing.T, _ string, o *generate.Options) { o.Paths = []string{"./api/..."} },
		"GOOS":        func(t *testing.T, _ string, _ *generate.Options) { t.Setenv("GOOS", "plan9") },
		"GOFLAGS":     func(t *testing.T, _ string, _ *generate.Options) { t.Setenv("GOFLAGS", "-tags=more") },
		"GOWORK":      func(t *testing.T, _ string, _ *generate.Options) { t.Setenv("GOWORK", "off") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := cachedProject(t)
			o := everything()
			o.Cache.Dir = filepath.Join(t.TempDir(), "cache")
			later(t, func(t *testing.T) {
				for _, want := range []bool{false, true, true, true} {
					if hit, _ := uncomparedRun(t, dir, o); hit != want {
						t.Fatalf("before the change: from the cache %v, want %v", hit, want)
					}
				}
				if stamps, _ := filepath.Glob(filepath.Join(o.Cache.Dir, "*.stamps")); len(stamps) != 1 {
					t.Fatalf("stamps: %v", stamps)
				}
				change(t, dir, &o)
				for _, want := range []bool{false, true} {
					if hit := cachedRun(t, dir, o); hit != want {
						t.Errorf("after the change: from the cache %v, want %v", hit, want)
					}
				}
			})
		})
	}
}

// TestChangesThatDoNotCount changes files that no generator reads, and edits or removes outputs. The next run must use
// the cache and repair the outputs.
func TestChangesThatDoNotCount(t *testing.T) {
	const code, role = "api/v1/zz_generated.deepcopy.go", "config/rbac/role.yaml"
	for name, change := range map[string]func(t *testing.T, dir string){
		"a time": func(t *testing.T, dir string) {
			if err := os.Chtimes(filepath.Join(dir, "api/v1/shop_types.go"), time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		},
		"a test":                    func(t *testing.T, dir string) { write(t, dir, "api/v1/shop_test.go", "package v1\n") },
		"a file of another system":  func(t *testing.T, dir string) { write(t, dir, "api/v1/shop_plan9.go", "package v1\n") },
		"a file that is no Go":      func(t *testing.T, dir string) { write(t, dir, "README.md", "Read me.\n") },
		"an empty folder":           func(t *testing.T, dir string) { write(t, dir, "docs/index.md", "") },
		"an edited output":          func(t *testing.T, dir string) { edit(t, dir, role, "pods", "secrets") },
		"edited code":               func(t *testing.T, dir string) { edit(t, dir, code, "Shop", "Pohs") },
		"code that does not parse":  func(t *testing.T, dir string) { edit(t, dir, code, "func", "<<<<<<<") },
		"an output that went away":  func(t *testing.T, dir string) { remove(t, dir, role) },
		"all outputs that are code": func(t *testing.T, dir string) { remove(t, dir, code) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := cachedProject(t)
			o := everything()
			o.Cache.Dir = t.TempDir()
			cachedRun(t, dir, o)
			want := files(t, dir)
			change(t, dir)
			if !cachedRun(t, dir, o) {
				t.Error("the run did not use the cache")
			}
			got := files(t, dir)
			for name := range want {
				if strings.Contains(name, "generated") || strings.HasPrefix(name, "config") {
					if diff := cmp.Diff(want[name], got[name]); diff != "" {
						t.Errorf("%s was not repaired:\n%s", name, diff)
					}
				}
			}
		})
	}
}

func TestDamagedEntryIsRecreated(t *testing.T) {
	dir := cachedProject(t)
	o := everything()
	o.Cache.Dir = t.TempDir()
	cachedRun(t, dir, o)
	for name, damage := range map[string]func([]byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"cut off":       func(text []byte) []byte { return text[:len(text)-1] },
		"longer":        func(text []byte) []byte { return append(text, 0) },
		"other format":  func(text []byte) []byte { return append([]byte("x"), text[1:]...) },
		"wrong content": func(text []byte) []byte { text[len(text)-40] ^= 1; return text },
	} {
		t.Run(name, func(t *testing.T) {
			for file := range entries(t, o.Cache) {
				text := read(t, o.Cache.Dir, file)
				write(t, o.Cache.Dir, file, string(damage([]byte(text))))
			}
			for _, want := range []bool{false, true} {
				if hit := cachedRun(t, dir, o); hit != want {
					t.Errorf("from the cache %v, want %v", hit, want)
				}
			}
		})
	}
}

// TestEntryOfAnotherProjectIsRecreated replaces the cache entry of one project with the entry of another, which must
// not be used.
func TestEntryOfAnotherProjectIsRecreated(t *testing.T) {
	o := everything()
	o.Cache.Dir = t.TempDir()
	cachedRun(t, cachedProject(t), o)
	var foreign string
	for name := range entries(t, o.Cache) {
		foreign = read(t, o.Cache.Dir, name)
		remove(t, o.Cache.Dir, name)
	}
	dir := cachedProject(t)
	cachedRun(t, dir, o)
	for name := range entries(t, o.Cache) {
		write(t, o.Cache.Dir, name, foreign)
	}
	if cachedRun(t, dir, o) {
		t.Error("the entry of another project was used")
	}
}

func TestErrorsAreNotCached(t *testing.T) {
	dir := cachedProject(t)
	o := everything()
	o.Cache.Dir = t.TempDir()
	edit(t, dir, "units/units.go", "string", "Nothing")
	for range 2 {
		if err := generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, o); err == nil {
			t.Error("no error")
		}
	}
	if n := len(entries(t, o.Cache)); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestWarningsAreRepeated(t *testing.T) {
	dir := cachedProject(t)
	// No file is generated from this type.
	write(t, dir, "units/idle.go", "package units\n\n// +kubebuilder:validation:Minimun=1\ntype Idle int\n")
	o := everything()
	o.Cache.Dir = t.TempDir()
	var runs [2][]string
	for i := range runs {
		o.Warn = func(f lint.Finding) { runs[i] = append(runs[i], f.Error.Error()+"; "+f.Hint) }
		if err := generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, o); err != nil {
			t.Fatal(err)
		}
	}
	if len(runs[0]) != 1 || cmp.Diff(runs[0], runs[1]) != "" {
		t.Errorf("first %q, then %q", runs[0], runs[1])
	}
}

func TestRunsAtTheSameTime(t *testing.T) {
	dir := cachedProject(t)
	o := everything()
	o.Cache.Dir = t.TempDir()
	want := run(t, dir, everything())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				p := plan.New(os.DirFS(dir))
				if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
					t.Error(err)
				} else if diff := cmp.Diff(want, outputs(p)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	wg.Wait()
	if n := len(entries(t, o.Cache)); n != 1 {
		t.Errorf("%d files in the cache, want 1", n)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	dir := cachedProject(t)
	file := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(file), "file", "in the way")
	o := everything()
	o.Cache.Dir = filepath.Join(file, "cache")
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run(t, dir, everything()), outputs(p)); diff != "" {
		t.Error(diff)
	}
}

// goCalls puts a go command in PATH that counts its calls, and returns a function that returns the count.
func goCalls(t *testing.T) func() int {
	t.Helper()
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := exec.CommandContext(t.Context(), command, "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script := fmt.Sprintf("#!/bin/sh\necho call >>'%s'\nexec '%s' \"$@\"\n", log, command)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOROOT", strings.TrimSpace(string(root)))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() int {
		calls, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(calls), "\n")
	}
}

// planned runs all generators without writing.
func planned(t *testing.T, dir string, o generate.Options) error {
	t.Helper()
	return generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, o)
}

// TestListedPackagesAreAskedForOnce uses projects whose packages the go command lists. kctrl must call the go command
// again only after a change that affects its result.
func TestListedPackagesAreAskedForOnce(t *testing.T) {
	calls := goCalls(t)
	for name, test := range map[string]struct {
		change  func(t *testing.T, dir string)
		nothing bool // the change has no effect
		fails   bool // the change makes runs fail
	}{
		"nothing": {nothing: true, change: func(*testing.T, string) {}},
		"a test": {nothing: true, change: func(t *testing.T, dir string) {
			write(t, dir, "units/units_test.go",
				"package units\n")
		}},
		"generated code": {nothing: true, change: func(t *testing.T,
			dir string) {
			remove(t, dir, "api/v1/zz_generated.deepcopy.go")
		}},
		"a type": {change: func(t *testing.T, dir string) { edit(t, dir, "units/units.go", "string", "int") }},
		"a file": {change: func(t *testing.T, dir string) { write(t, dir, "units/more.go", "package units\n") }},
		"a constraint": {change: func(t *testing.T, dir string) {
			edit(t, dir, "units/units.go", "package", "//go:build !none\n\npackage")
		}},
		"a type of another module": {change: func(t *testing.T, dir string) {
			edit(t, dir, "../shared/shared.go",
				"Minimum=1", "Minimum=2")
		}},
		"a file of another module": {change: func(t *testing.T, dir string) {
			write(t, dir, "../shared/more.go",
				"package shared\n")
		}},
		"go.mod of another module": {change: func(t *testing.T, dir string) {
			edit(t, dir, "../shared/go.mod", "1.26",
				"1.25")
		}},
		"another module that is not": {fails: true, change: func(t *testing.T,
			dir string) {
			remove(t, dir, "../shared/go.mod")
		}},
		"go.mod": {change: func(t *testing.T, dir string) {
			edit(t, dir, "go.mod", "module",
				"// Ours.\nmodule")
		}},
		"go.sum": {change: func(t *testing.T,
			dir string) {
			write(t, dir, "go.sum", read(t, dir, "go.sum")+"\n")
		}},
		"go.work": {change: func(t *testing.T, dir string) {
			write(t, dir, "../go.work",
				"go 1.26.0\n\nuse ./cached\n")
		}},
		"a module in the project": {fails: true, change: func(t *testing.T, dir string) {
			write(t, dir, "units/go.mod",
				"module example.com/units\n")
		}},
		"GOFLAGS": {change: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "-tags=another") }},
		"GOOS":    {change: func(t *testing.T, _ string) { t.Setenv("GOOS", "plan9") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOFIPS140", asksGo)
			dir := cachedProject(t)
			o := everything()
			o.Cache.Dir = filepath.Join(t.TempDir(), "cache")
			if name == "generated code" {
				cachedRun(t, dir, o)
			}
			if err := planned(t, dir, o); err != nil {
				t.Fatal(err)
			}
			before := calls()
			if err := planned(t, dir, o); err != nil || calls() != before {
				t.Fatalf("before the change: %d calls, %v", calls()-before, err)
			}
			test.change(t, dir)
			err := planned(t, dir, o)
			if (err != nil) != test.fails {
				t.Errorf("after the change: %v", err)
			}
			if called := calls() != before; called == test.nothing {
				t.Errorf("after the change: called %v, want %v", called, !test.nothing)
			}
		})
	}
}

// TestInputsOfTheGoCommandMayBeUnknown checks that every run calls the go command in projects for which kctrl cannot
// detect changes of packages.
func TestInputsOfTheGoCommandMayBeUnknown(t *testing.T) {
	calls := goCalls(t)
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"a driver": func(t *testing.T, _ string) {
			driver := filepath.Join(t.TempDir(), "driver")
			if err := os.WriteFile(driver, []byte("#!/bin/sh\ngo version >/dev/null\necho '{\"NotHandled\":true}'\n"),
				0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOPACKAGESDRIVER", driver)
		},
		"flags that say where files are": func(t *testing.T, dir string) {
			write(t, dir, "../overlay.json", "{}")
			t.Setenv("GOFLAGS", "-overlay="+filepath.Join(filepath.Dir(dir), "overlay.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOFIPS140", asksGo)
			dir := cachedProject(t)
			prepare(t, dir)
			o := everything()
			o.Cache.Dir = filepath.Join(t.TempDir(), "cache")
			for range 2 {
				before := calls()
				if err := planned(t, dir, o); err != nil {
					t.Fatal(err)
				}
				if calls() == before {
					t.Error("the go command was not called")
				}
			}
		})
	}
}

// BenchmarkUnchanged generates all files of a project that is up to date.
func BenchmarkUnchanged(b *testing.B) {
	dir := project(b, "scaffold")
	o := everything()
	o.Cache = incremental.Store{Dir: b.TempDir()}
	for b.Loop() {
		p := plan.New(os.DirFS(dir))
		if err := generate.Run(b.Context(), dir, p, nil, o); err != nil {
			b.Fatal(err)
		}
	}
}
