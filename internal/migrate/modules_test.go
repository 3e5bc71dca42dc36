package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/testing/module"
)

// TestVersionsThatBuiltinKindsHaveNoMoreAreKept migrates a project whose k8s.io/api has a version that the one of the runtime lacks.
func TestVersionsThatBuiltinKindsHaveNoMoreAreKept(t *testing.T) {
	const project = `
-- go.mod --
module example.com/project

go 1.26

require k8s.io/api v0.0.0

replace k8s.io/api => ./k8s
-- main.go --
package project

import (
	lost "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/api/scheduling/v1beta1"
)

var _, _ = lost.Workload{}, v1beta1.Workload{}
-- stable/stable.go --
package stable

import v1 "k8s.io/api/gone/v1"

var _ v1.Gone
-- Dockerfile --
FROM golang:1.26
COPY go.mod go.sum ./
COPY third_party/kctrl/ third_party/kctrl/
RUN go build ./...
-- k8s/go.mod --
module k8s.io/api

go 1.26
-- k8s/scheduling/v1beta1/types.go --
package v1beta1

type Workload struct{}
`
	const old = `
-- k8s/scheduling/v1alpha2/types.go --
package v1alpha2

type Workload struct{}
-- k8s/scheduling/v1alpha2/types_test.go --
package v1alpha2
-- k8s/gone/v1/types.go --
package v1

type Gone struct{}
`
	dir, scratch := extract(t, project+old[1:]), extract(t, project)
	m := &migration{dir: dir, plan: plan.New(os.DirFS(dir)), report: &Report{}, modules: []goModule{{path: "example.com/project", folder: "."}}}
	if err := m.plan.Delete("main.go"); err != nil { // as what moves
		t.Fatal(err)
	}
	if err := m.keepDropped(t.Context(), scratch, "."); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", ".")
	build.Dir, build.Env = scratch, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	kept := map[string]string{}
	for c := range m.plan.Changes() {
		if c.Op == plan.Delete {
			continue
		}
		kept[c.Path] = string(c.After)
	}
	if len(kept) != 3 || kept["third_party/k8s.io/api/scheduling/v1alpha2/go.mod"] == "" || kept["third_party/k8s.io/api/scheduling/v1alpha2/types.go"] == "" {
		t.Errorf("kept %q", kept)
	}
	if want := "COPY third_party/k8s.io/api/scheduling/v1alpha2/ third_party/k8s.io/api/scheduling/v1alpha2/\n"; !strings.Contains(kept["Dockerfile"], want) {
		t.Errorf("the image is built without it:\n%s", kept["Dockerfile"])
	}
	if len(m.report.Left) != 1 || !m.report.Left[0].Rewritten {
		t.Errorf("reported %v", m.report.Left)
	}
}

// extract writes the files of an archive to a folder of the test.
func extract(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(dir, file.Name), file.Data)
	}
	return dir
}

// TestPinsBelowWhatTheRuntimeNeedsAreRaised reads the go.mod of a copy whose replacements pin modules of Kubernetes.
func TestPinsBelowWhatTheRuntimeNeedsAreRaised(t *testing.T) {
	scratch := t.TempDir()
	const before = "module example.com/project\n\ngo 1.26\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.34.0\n\tk8s.io/client-go => k8s.io/client-go v0.99.0\n\tk8s.io/kubelet => k8s.io/kubelet v0.34.0\n\tk8s.io/apimachinery => ../apimachinery\n)\n"
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"third_party/kctrl/go.mod": {Data: []byte("module m\n\nrequire (\n\tk8s.io/api v0.37.2\n\tk8s.io/client-go v0.37.2\n\tk8s.io/apimachinery v0.37.2\n)\n")}}
	m := &migration{plan: plan.New(files), report: &Report{}}
	if err := m.raisePins(scratch, "."); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(scratch, "go.mod"))
	if want := strings.Replace(before, "api v0.34.0", "api v0.37.2", 1); err != nil || string(after) != want {
		t.Errorf("got %s, %v, want %s", after, err, want)
	}
	if len(m.report.Left) != 1 || m.report.Left[0].Reason != "k8s.io/api was pinned to v0.34.0, and the runtime needs v0.37.2" {
		t.Errorf("the report says %+v", m.report.Left)
	}
}

// TestModulesOfAReleaseRiseTogether reads the go.mod of a copy that requires and pins modules which are released with those of the runtime.
func TestModulesOfAReleaseRiseTogether(t *testing.T) {
	proxy := t.TempDir()
	for _, name := range []string{"k8s.io/helpers", "k8s.io/pinned"} {
		write(t, filepath.Join(proxy, name, "@v", "v0.37.2.info"), []byte(`{"Version":"v0.37.2"}`))
		write(t, filepath.Join(proxy, name, "@v", "v0.37.2.mod"), []byte("module "+name+"\n"))
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", t.TempDir()) // nobody else is to have these
	const before = `module example.com/project

go 1.26

require (
	k8s.io/apimachinery v0.37.2
	k8s.io/gone v0.36.3
	k8s.io/helpers v0.36.3
	k8s.io/klog/v2 v2.140.0
	k8s.io/newer v0.38.0
	k8s.io/pinned v0.36.3
	k8s.io/utils v0.0.0-20260626114624-be93311217bd
	sigs.k8s.io/other v0.36.3
)

replace k8s.io/pinned => k8s.io/pinned v0.36.1
`
	scratch := t.TempDir()
	write(t, filepath.Join(scratch, "go.mod"), []byte(before))
	m := &migration{report: &Report{}}
	if err := m.raiseReleased(t.Context(), scratch, "."); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(scratch, "go.mod"))
	want := strings.NewReplacer("helpers v0.36.3", "helpers v0.37.2", "pinned v0.36.3", "pinned v0.37.2", "pinned v0.36.1", "pinned v0.37.2").Replace(before)
	if err != nil || string(after) != want {
		t.Errorf("got %s, %v, want %s", after, err, want)
	}
	if len(m.report.Left) != 1 || m.report.Left[0].Code != "k8s.io/pinned => v0.36.1" {
		t.Errorf("the report says %+v", m.report.Left)
	}
}

// TestOtherModulesThatDoNotCompileWithTheReleaseAreFound loads a project that imports a module which uses what k8s.io/api has no more.
func TestOtherModulesThatDoNotCompileWithTheReleaseAreFound(t *testing.T) {
	others := extract(t, `
-- api/go.mod --
module k8s.io/api

go 1.26
-- api/core/v1/types.go --
package v1

type Pod struct{ New string }
-- helpers/go.mod --
module example.com/helpers

go 1.26
-- helpers/helpers.go --
package helpers

import v1 "k8s.io/api/core/v1"

func Name(pod *v1.Pod) string { return pod.Old }
-- fine/go.mod --
module example.com/fine

go 1.26
-- fine/fine.go --
package fine

import v1 "k8s.io/api/core/v1"

func Name(pod *v1.Pod) string { return pod.New }
`)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte(`module example.com/project

go 1.26

require (
	example.com/fine v0.0.0
	example.com/helpers v0.0.0
	k8s.io/api v0.37.2
)

replace (
	example.com/fine => `+others+`/fine
	example.com/helpers => `+others+`/helpers
	k8s.io/api => `+others+`/api
)
`))
	write(t, filepath.Join(dir, "main.go"), []byte("package project\n\nimport (\n\t_ \"example.com/fine\"\n\t_ \"example.com/helpers\"\n)\n"))
	p, err := loadOn(t.Context(), newDeclarations(), dir, []goModule{{path: "example.com/project", folder: "."}}, nil, nil, "v0.37.2")
	if err != nil {
		t.Fatal(err)
	}
	if all := p.problems(); len(all) != 0 {
		t.Errorf("in the project itself: %v", all)
	}
	all := p.outdated()
	if len(all) != 1 || all[0].Pos != "example.com/helpers v0.0.0" || !strings.HasPrefix(all[0].Msg, "helpers.go:5:44: pod.Old undefined") {
		t.Errorf("found %v", all)
	}
}

func TestComplaintOfTheGoCommandNamesTheModule(t *testing.T) {
	const out = "go: downloading k8s.io/b v1.0.0\ngo: k8s.io/a@v1.0.0: reading https://proxy/a.mod: 403 Forbidden\n\tserver response: This module version is not available.\n"
	if got, want := complaint(out), "go: k8s.io/a@v1.0.0: reading https://proxy/a.mod: 403 Forbidden"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestModulesAreReadTogether has a module that builds with three others: what these import is read once, unless one does not compile as it
// builds it, as its tests want a module of their own, or is not in its folder.
func TestModulesAreReadTogether(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.com/root\n\ngo 1.26\n\nrequire (\n\texample.com/api v0.0.0\n\texample.com/lib v0.0.0\n)\n\nreplace (\n\texample.com/api => ./api\n\texample.com/lib => ./lib\n\texample.com/absent => ./absent\n)\n",
		"main.go":         "package main\n\nimport (\n\t\"example.com/api\"\n\t\"example.com/lib\"\n)\n\nfunc main() { lib.Do(api.One) }\n",
		"api/go.mod":      "module example.com/api\n\ngo 1.26\n",
		"api/api.go":      "package api\n\nconst One = 1\n",
		"api/api_test.go": "package api\n\nvar _ = One\n",
		"lib/go.mod":      "module example.com/lib\n\ngo 1.26\n\nrequire example.com/only v0.0.0\n\nreplace example.com/only => ../only\n",
		"lib/lib.go":      "package lib\n\nfunc Do(int) {}\n",
		"lib/lib_test.go": "package lib\n\nimport \"example.com/only\"\n\nfunc init() { Do(only.One) }\n",
		"only/go.mod":     "module example.com/only\n\ngo 1.26\n",
		"only/only.go":    "package only\n\nconst One = 1\n",
		"absent/go.mod":   "module example.com/absent\n\ngo 1.26\n",
		"absent/a.go":     "package absent\n",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text))
	}
	modules, err := modulesOf(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(t.Context(), newDeclarations(), dir, modules, []string{"GOFLAGS=-mod=mod", "GOWORK=off", module.Offline(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range p.problems() {
		t.Errorf("%s: %s", problem.Pos, problem.Msg)
	}
	var names []string
	for _, f := range p.files() {
		names = append(names, f.name)
	}
	if want := []string{"absent/a.go", "api/api.go", "api/api_test.go", "lib/lib.go", "lib/lib_test.go", "main.go", "only/only.go"}; !slices.Equal(names, want) {
		t.Errorf("read are %v, want %v", names, want)
	}
	read := map[string]*packages.Package{}
	for _, pkg := range p.packages {
		if pkg.ID == pkg.PkgPath {
			read[pkg.PkgPath] = pkg
		}
	}
	main := read["example.com/root"]
	if main.Imports["example.com/api"] != read["example.com/api"] {
		t.Error("a module that compiles as another builds it is read twice")
	}
	if main.Imports["example.com/lib"] == read["example.com/lib"] {
		t.Error("a module that does not is not read as it is built alone")
	}
}
