package compat_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// mustRun generates and writes.
func mustRun(t *testing.T, dir string, line string) {
	t.Helper()
	if _, err := run(t, dir, strings.Fields(line), compat.Options{}); err != nil {
		t.Fatal(err)
	}
}

const role = "rbac:roleName=manager paths=./internal/..."

func TestFilesWithTheSameContentAreNotTouched(t *testing.T) {
	dir := project(t)
	mustRun(t, dir, role)
	name := filepath.Join(dir, "config/rbac/role.yaml")
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, role)
	if info, err := os.Stat(name); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("the file was written again: %v, %v", info.ModTime(), err)
	}
}

func TestChangedFilesKeepTheirModeAndAreReplaced(t *testing.T) {
	dir := project(t)
	name := filepath.Join(dir, "config/rbac/role.yaml")
	oracle.Write(t, dir, "config/rbac/role.yaml", "old\n")
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	mustRun(t, dir, role)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	// A reader sees either the old content or the new one while the file is replaced.
	before := make([]byte, 100)
	if n, _ := open.Read(before); string(before[:n]) != "old\n" {
		t.Errorf("the old file was overwritten with %q", before[:n])
	}
	if leftover, _ := filepath.Glob(filepath.Join(dir, "config/rbac/.*")); len(leftover) > 0 {
		t.Errorf("left behind: %v", leftover)
	}
}

func TestLinksStayLinks(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "elsewhere/role.yaml", "old\n")
	oracle.Write(t, dir, "config/rbac/other.txt", "")
	link := filepath.Join(dir, "config/rbac/role.yaml")
	if err := os.Symlink("../../elsewhere/role.yaml", link); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, role)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info.Mode(), err)
	}
	if content, _ := os.ReadFile(filepath.Join(dir, "elsewhere/role.yaml")); !strings.Contains(string(content),
		"ClusterRole") {
		t.Errorf("the target of the link is %q", content)
	}
}

func TestNothingIsWrittenIfOneFileCannotBe(t *testing.T) {
	for name, line := range map[string]string{
		"file in the way of a folder": "crd:allowDangerousTypes=true,ignoreUnexportedFields=true rbac:roleName=manager " +
			"paths=./api/... paths=./internal/... output:rbac:dir=hack/boilerplate.go.txt/x output:crd:dir=new/crds",
		"folder in the way of a file": "crd:allowDangerousTypes=true,ignoreUnexportedFields=true " +
			"rbac:roleName=manager,fileName=hack paths=./api/... paths=./internal/... output:rbac:dir=. output:crd:dir=new/crds",
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t)
			want := oracle.Files(t, dir)
			if _, err := run(t, dir, strings.Fields(line), compat.Options{}); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(want, oracle.Files(t, dir)); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
			if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
				t.Error("a folder was left behind")
			}
		})
	}
}

// TestFilesAreBackIfALaterOneCannotBeReplaced checks that a run restores the first file if it cannot replace the second
// one, because a directory has its name.
func TestFilesAreBackIfALaterOneCannotBeReplaced(t *testing.T) {
	dir := project(t)
	mustRun(t, dir, "object:headerFile=hack/boilerplate.go.txt paths=./api/v1")
	name := filepath.Join(dir, "api/v1/zz_generated.deepcopy.go")
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := errors.Join(os.Chmod(name, 0o600), os.Chtimes(name, long, long)); err != nil {
		t.Fatal(err)
	}
	before := oracle.Files(t, dir)
	const line = "object crd rbac:roleName=manager,fileName=sub paths=./api/v1 paths=./api/v1beta1 " +
		"paths=./internal/agent output:rbac:dir=out output:crd:dir=out/sub"
	_, err := run(t, dir, strings.Fields(line), compat.Options{})
	if err == nil || err.Error() != "out/sub: would be both a file and a directory" {
		t.Fatalf("error is %v", err)
	}
	if diff := cmp.Diff(before, oracle.Files(t, dir)); diff != "" {
		t.Errorf("the tree is not as it was:\n%s", diff)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 || !info.ModTime().Equal(long) {
		t.Errorf("%v, mode %v, modified %v", err, info.Mode(), info.ModTime())
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a folder is left")
	}
}

func TestLinkToNothingIsALinkToTheFile(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "config/rbac/other.txt", "")
	if err := os.Symlink("../../elsewhere/role.yaml", filepath.Join(dir, "config/rbac/role.yaml")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, dir, role)
	info, err := os.Lstat(filepath.Join(dir, "elsewhere/role.yaml"))
	if err != nil || !info.Mode().IsRegular() {
		t.Errorf("the target of the link: %v, %v", info, err)
	}
}
