package compat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// twoModules creates a module that uses one type of another module. The directory of the other module is below it.
func twoModules(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	oracle.Module(t, filepath.Join(dir, "api"), "example.com/two/api")
	oracle.Module(t, dir, "example.com/two")
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	oracle.Write(t, dir, "go.mod", string(mod)+"\nrequire example.com/two/api v0.0.0\n\nreplace example.com/two/api => "+
		"./api\n")
	oracle.Write(t, dir, "api/v1/types.go", `// +kubebuilder:object:generate=true
package v1

import "k8s.io/apimachinery/pkg/runtime"

type Small struct{ Names []string }

type Large struct{ Anything runtime.RawExtension }
`)
	oracle.Write(t, dir, "config/types.go", `// +kubebuilder:object:generate=true
package config

import "example.com/two/api/v1"

type Config struct{ Small v1.Small }
`)
	return dir
}

func TestModulesThatShareAPackageNeedDifferentTypes(t *testing.T) {
	theirs, ours := twoModules(t), twoModules(t)
	const line = "object paths=./config paths=./api/..."
	if _, err := runPeer(t, theirs, strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		store := incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
		if _, err := run(t, ours, strings.Fields(line), compat.Options{Cache: store}); err != nil {
			t.Fatal(err)
		}
		if len(modified(t, store)) == 0 {
			t.Fatal("the loader of controller-tools was needed")
		}
	}
	if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
		t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
	}
}

func TestTreesWithoutPackagesAreAWarning(t *testing.T) {
	args := strings.Fields("crd paths=./hack/... paths=./api/v1")
	compare(t, args, compat.Options{})
	dir, store := project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	command, err := compat.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir, Cache: store})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`path "./hack/...": no Go package there`}
	if diff := cmp.Diff(want, texts(result.Warnings)); diff != "" {
		t.Error(diff)
	}
	if len(modified(t, store)) == 0 {
		t.Error("the loader of controller-tools was needed")
	}
}
