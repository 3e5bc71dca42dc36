package compat_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// project copies testdata/operator into a temporary directory and makes it a module that contains another module.
func project(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "operator")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "operator"))); err != nil {
		t.Fatal(err)
	}
	oracle.Module(t, dir, "example.com/operator")
	oracle.Module(t, filepath.Join(dir, "third"), "example.com/third")
	return dir
}

// TestMain runs the tests and fails if a recording of controller-gen is unused.
func TestMain(m *testing.M) { os.Exit(oracle.Main(m)) }

// runPeer runs controller-gen in dir and returns its output.
func runPeer(t testing.TB, dir string, args []string) (stdout string, err error) {
	t.Helper()
	hasYear := func(arg string) bool { return strings.HasPrefix(arg, "applyconfiguration:headerFile=") }
	return peerResult(t, oracle.Command{Dir: dir, Args: args, Dated: slices.ContainsFunc(args, hasYear)})
}

func peerResult(t testing.TB, c oracle.Command) (stdout string, err error) {
	t.Helper()
	result := oracle.Run(t, c)
	if result.Failed {
		err = errors.New(result.Stderr)
	}
	return result.Stdout, err
}

// run is the counterpart of runPeer for this package.
func run(t testing.TB, dir string, args []string, o compat.Options) (stdout string, err error) {
	t.Helper()
	command, err := compat.Parse(args)
	if err != nil {
		return "", err
	}
	o.Dir = dir
	result, err := command.Run(t.Context(), o)
	if err != nil {
		return "", err
	}
	return string(result.Stdout()), result.Write(t.Context(), "")
}

// TestOutputIsThatOfControllerGen compares all files and the standard output with controller-gen's.
func TestOutputIsThatOfControllerGen(t *testing.T) {
	tests := []string{
		"applyconfiguration paths=./apply/...",
		"applyconfiguration:headerFile=hack/boilerplate.go.txt,externalApplyConfigurations=k8s.io/api/core/v1.LocalObjectReference@k8s.io/client-go/applyconfigurations/core/v1 object paths=./apply/v1",
		"applyconfiguration paths=./apply/v2 output:none",
		"applyconfiguration paths=./api/...",
		"object paths=./api/...",
		"object:headerFile=hack/boilerplate.go.txt,year=2026 paths=./api/v1 paths=./shared",
		"object:headerFile=hack/boilerplate.go.txt paths={./api/v1,./shared}",
		"object paths=./api/v1;./api/v1beta1 output:stdout",
		"object paths=./shared output:dir=out/code",
		"object paths=./shared output:artifacts:config=conf,code=out",
		"object paths=./... output:none",
		"object crd paths=./api/v1 output:object:stdout output:crd:dir=crds",
		"crd paths=./api/v1/...",
		"crd paths=./api/v1;./api/v1beta1",
		"crd:maxDescLen=0 paths=./api/v1beta1 output:dir=a/b",
		"crd:maxDescLen=30,omitToolVersion=true paths=./api/v1",
		"crd:maxDescLen=-1 paths=./api/v1beta1 output:stdout",
		"crd:generateEmbeddedObjectMeta=true paths=./api/v1 output:stdout",
		"crd:headerFile=hack/boilerplate.yaml.txt,year=2026 paths=./api/v1beta1",
		"crd:crdVersions=v1,deprecatedV1beta1CompatibilityPreserveUnknownFields=true paths=./api/v1beta1",
		"crd:crdVersions={v1,v1} paths=./api/v1beta1",
		"crd:deprecatedV1beta1CompatibilityPreserveUnknownFields=false paths=./api/v1beta1",
		"crd:allowDangerousTypes=true,ignoreUnexportedFields=true paths=./api/loose/...",
		"crd paths=./third/...",
		"crd:allowDangerousTypes=true,ignoreUnexportedFields=true object paths=./...",
		"crd paths=example.com/operator/api/v1beta1",
		"crd paths=example.com/operator/api/v1... output:stdout",
		"crd paths=example.com/operator/api/v1/... output:stdout",
		"crd paths=example.com/operator/api/v1;example.com/operator/api/v1beta1 paths=./third/...",
		"crd:allowDangerousTypes=true,ignoreUnexportedFields=true paths=example.com/operator/api/... paths=./api/v1",
		"object crd paths=k8s.io/api/autoscaling/v1 output:none",
		"object paths=k8s.io/api/autoscaling/v1 output:stdout",
		"object paths=k8s.io/api/policy/... output:none",
		"rbac:roleName=manager paths=example.com/operator/internal/...",
		"crd paths=./internal/...",
		"rbac:roleName=manager paths=./...",
		"rbac:roleName=manager,fileName=rights.yaml,headerFile=hack/boilerplate.yaml.txt,year=2026 paths=./internal/... " +
			"output:rbac:artifacts:config=config/rights",
		"rbac:roleName=manager paths=./shared",
		"rbac:roleName=manager paths=./internal/agent output:stdout",
		"webhook paths=./internal/webhook",
		"webhook paths=./internal/...",
		"webhook:headerFile=hack/boilerplate.yaml.txt,year=2026 paths=./internal/policy output:stdout",
		"webhook paths=./api/v1",
		"rbac:roleName=manager-role crd webhook paths=./api/v1 paths=./internal/... " +
			"output:crd:artifacts:config=config/crd/bases",
		"schemapatch:manifests=manifests paths=./api/v1beta1 output:dir=patched",
		"schemapatch:manifests=./manifests paths=./api/v1;./api/v1beta1 output:dir=manifests",
		"schemapatch:manifests=manifests,maxDescLen=0,generateEmbeddedObjectMeta=true paths=./api/v1 output:dir=patched",
		"schemapatch:manifests=manifests paths=./shared output:dir=patched",
	}
	for _, line := range tests {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			compare(t, strings.Fields(line), compat.Options{})
		})
	}
}

// compare runs controller-gen and this package in identical directories.
func compare(t *testing.T, args []string, o compat.Options, flags ...string) {
	t.Helper()
	theirs, ours := project(t), project(t)
	wantOut, wantErr := runPeer(t, theirs, append(flags, args...))
	gotOut, gotErr := run(t, ours, args, o)
	if wantErr != nil || gotErr != nil {
		t.Fatalf("controller-gen: %v; kctrl: %v", wantErr, gotErr)
	}
	if diff := cmp.Diff(wantOut, gotOut); diff != "" {
		t.Errorf("standard output differs (-controller-gen +kctrl):\n%s", diff)
	}
	if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
		t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
	}
}
