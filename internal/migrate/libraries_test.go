package migrate

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// TestProjectsWithLibrariesCompile rewrites a project whose libraries import a version of controller-runtime, and checks the types of the result.
func TestProjectsWithLibrariesCompile(t *testing.T) {
	for _, version := range []string{"v0.14.4", "v0.17.2", "v0.22.5", "v0.24.1", peerRelease} {
		t.Run(version, func(t *testing.T) {
			dir := libraryModules(t, version)
			p := rewriteLibraries(t, dir)
			if version == peerRelease && p.libraryFeatures() != allFeatures {
				t.Errorf("%s has %+v", version, p.libraryFeatures())
			}
			for _, e := range compile(t, dir) {
				if !p.convertsManagers && strings.Contains(e.Msg, "Manager") {
					continue // which is left
				}
				t.Errorf("after: %s: %s", strings.TrimPrefix(e.Pos, dir), e.Msg)
			}
		})
	}
}

// TestAdaptersForLibrariesWork tests the package that converts values of controller-runtime, with an API server in memory.
func TestAdaptersForLibrariesWork(t *testing.T) {
	for _, version := range []string{"v0.24.1", peerRelease} {
		t.Run(version, func(t *testing.T) {
			dir := libraryModules(t, version)
			p := rewriteLibraries(t, dir)
			copyFolder(t, "testdata/libraries/test", filepath.Join(dir, p.adapterFolder))
			command := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "./...")
			command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// libraryModules is a project and the module of its library beside it, with a version of controller-runtime.
func libraryModules(t *testing.T, version string) string {
	t.Helper()
	dir := newModule(t, peerStub)
	library := t.TempDir()
	editGoMod(t, filepath.Join(dir, "go.mod"), func(file *modfile.File) error {
		if err := file.DropReplace(peerModule, ""); err != nil {
			return err
		}
		if err := file.AddRequire(peerModule, version); err != nil {
			return err
		}
		return file.AddReplace("example.com/library", "", library, "")
	})
	copyFolder(t, "testdata/libraries/library", library)
	write(t, filepath.Join(library, "go.mod"), []byte("module example.com/library\n\ngo 1.26.0\n"))
	copyFolder(t, "testdata/libraries/before", filepath.Join(dir, "operator"))
	for file, since := range map[string]string{"metrics.go": "v0.16.0", "handlers.go": "v0.19.0"} { // what older ones have no package or types for
		if semver.Compare(version, since) >= 0 {
			continue
		}
		for _, folder := range []string{library, filepath.Join(dir, "operator")} {
			if err := os.Remove(filepath.Join(folder, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func editGoMod(t *testing.T, name string, change func(*modfile.File) error) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := change(file); err != nil {
		t.Fatal(err)
	}
	file.Cleanup()
	if text, err = file.Format(); err != nil {
		t.Fatal(err)
	}
	write(t, name, text)
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(from, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("nothing in %s: %v", from, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, filepath.Base(name)), text)
	}
}

// rewriteLibraries rewrites the Go files of a module where they are, and writes the package that converts.
func rewriteLibraries(t *testing.T, dir string) *program {
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
	for _, f := range files {
		after, err := f.rewrite()
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		for _, l := range f.left {
			t.Errorf("left: %s:%d: %s", l.File, l.Line, l.Reason)
		}
		if testing.Verbose() {
			t.Logf("%s", after)
		}
		write(t, filepath.Join(dir, f.name), after)
	}
	m := &migration{dir: dir, plan: plan.New(fs.FS(os.DirFS(dir))), modules: []goModule{ofCases}, peer: &peer{}, report: &Report{}}
	if err := m.writeAdapters(p); err != nil {
		t.Fatal(err)
	}
	for c := range m.plan.Changes() {
		write(t, filepath.Join(dir, c.Path), c.After)
	}
	return p
}

// TestControllerRuntimeOfLibrariesIsRaised reads the go.mod of a copy whose libraries have caches that do not compile any more.
func TestControllerRuntimeOfLibrariesIsRaised(t *testing.T) {
	const before = `module example.com/project

go 1.26

require sigs.k8s.io/controller-runtime v0.22.5

replace sigs.k8s.io/controller-runtime => sigs.k8s.io/controller-runtime v0.22.4
`
	for _, raises := range []bool{true, false} {
		scratch := t.TempDir()
		write(t, filepath.Join(scratch, "go.mod"), []byte(before))
		m := &migration{report: &Report{}, raisesPeer: raises}
		if err := m.raisePeer(scratch, "."); err != nil {
			t.Fatal(err)
		}
		want := before
		if raises {
			want = strings.NewReplacer("v0.22.5", peerRelease, "v0.22.4", peerRelease).Replace(before)
		}
		after, err := os.ReadFile(filepath.Join(scratch, "go.mod"))
		if err != nil || string(after) != want || (len(m.report.Left) == 1) != raises {
			t.Errorf("raises %v: got %s, %v, %+v", raises, after, err, m.report.Left)
		}
	}
}

// TestOnlyCachesOfLibrariesRaiseControllerRuntime asks about a library that has a cache, directly and through another one, and about one that has
// clients alone.
func TestOnlyCachesOfLibrariesRaiseControllerRuntime(t *testing.T) {
	cache := &packages.Package{PkgPath: peerModule + "/pkg/cache"}
	clients := &packages.Package{PkgPath: "example.com/clients", Imports: map[string]*packages.Package{"client": {PkgPath: peerModule + "/pkg/client"}}}
	caches := &packages.Package{PkgPath: "example.com/caches", Imports: map[string]*packages.Package{"cache": cache}}
	through := &packages.Package{PkgPath: "example.com/through", Imports: map[string]*packages.Package{"caches": caches}}
	for _, test := range []struct {
		version string
		library *packages.Package
		want    bool
	}{
		{"v0.22.5", caches, true}, {"v0.22.5", through, true}, {"v0.22.5", clients, false}, {"v0.22.5", cache, false},
		{oldestCompilingCache, through, false}, {"", through, false},
	} {
		p := &program{modules: []goModule{{path: "example.com/project", folder: "."}}, packages: []*packages.Package{
			{PkgPath: "example.com/project", Imports: map[string]*packages.Package{"library": test.library}},
		}}
		if got := p.raisesPeer(test.version); got != test.want {
			t.Errorf("%s with %s: got %v", test.version, test.library.PkgPath, got)
		}
	}
}
