package migrate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
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
	if err := m.plan.Delete("main.go", plan.Own); err != nil { // as what moves
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
