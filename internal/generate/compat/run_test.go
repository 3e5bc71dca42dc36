package compat_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// TestMarkersThatControllerGenIgnoresAreWarnings runs on code with mistakes that controller-gen does not report, and
// expects warnings.
func TestMarkersThatControllerGenIgnoresAreWarnings(t *testing.T) {
	tests := map[string]struct{ file, content, line string }{
		"unknown marker": {"internal/agent/more.go",
			"package agent\n\n// +kubebuilder:rbca:groups=a,verbs=get\n", "rbac:roleName=m paths=./internal/agent"},
		"argument of another generator": {"api/v1beta1/more.go",
			"package v1beta1\n\n// +kubebuilder:validation:MinLength=long\ntype Text string\n", "object paths=./api/v1beta1"},
		"marker in the wrong place": {"api/v1beta1/more.go",
			"package v1beta1\n\n// +kubebuilder:object:root=true\nfunc f() {}\n", "object crd paths=./api/v1beta1"},
		"code that does not compile": {"api/v1beta1/more.go", "package v1beta1\n\nvar x = undefined\n",
			"object crd paths=./api/v1beta1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "cgo" {
				t.Setenv("CGO_ENABLED", "1") // make test disables cgo; then the file does not belong to the package
			} else {
				t.Parallel()
			}
			theirs, ours := project(t), project(t)
			oracle.Write(t, theirs, test.file, test.content)
			oracle.Write(t, ours, test.file, test.content)
			args := strings.Fields(test.line)
			_, wantErr := runPeer(t, theirs, args)
			_, gotErr := run(t, ours, args, compat.Options{})
			if wantErr != nil || gotErr != nil {
				t.Fatalf("controller-gen: %v; kctrl: %v", wantErr, gotErr)
			}
			if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
				t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
			}
		})
	}
}

// TestFilesWithCgoAreReadWhereItIsOn checks a file that imports C, which is read only if cgo is enabled.
func TestFilesWithCgoAreReadWhereItIsOn(t *testing.T) {
	for _, enabled := range []string{"0", "1"} {
		t.Run(enabled, func(t *testing.T) {
			t.Setenv("CGO_ENABLED", enabled)
			theirs, ours := project(t), project(t)
			const file = "package v1beta1\n\nimport \"C\"\n\n// +kubebuilder:object:generate=true\ntype More struct{ A " +
				"[]string }\n"
			oracle.Write(t, theirs, "api/v1beta1/more.go", file)
			oracle.Write(t, ours, "api/v1beta1/more.go", file)
			args := []string{"object", "paths=./api/v1beta1"}
			if _, err := peerResult(t, oracle.Command{Dir: theirs, Args: args,
				Env: []string{"CGO_ENABLED=" + enabled}}); err != nil {
				t.Fatal(err)
			}
			if enabled == "1" && !hasCompiler(t) {
				return // the go command cannot read the file either
			}
			mustRun(t, ours, strings.Join(args, " "))
			if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
				t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
			}
			code := oracle.Files(t, ours)["api/v1beta1/zz_generated.deepcopy.go"]
			if reads := strings.Contains(code, "More"); reads != (enabled == "1") {
				t.Errorf("the file is read: %t", reads)
			}
		})
	}
}

// hasCompiler reports whether the go command finds a C compiler.
func hasCompiler(t *testing.T) bool {
	t.Helper()
	name, err := exec.CommandContext(t.Context(), "go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, err = exec.LookPath(strings.TrimSpace(string(name)))
	return err == nil
}

func TestBuildTagsChooseFiles(t *testing.T) {
	const special = "//go:build special && !plain\n\npackage shared\n\n// +kubebuilder:object:generate=true\ntype " +
		"Special struct{ A []string }\n"
	for _, tags := range [][]string{{"special", compat.DefaultBuildTag}, {compat.DefaultBuildTag, "special", "plain"},
		{"special"}, {}, {"other", "special"}} {
		t.Run(strings.Join(tags, ","), func(t *testing.T) {
			theirs, ours := project(t), project(t)
			args := []string{"object", "paths=./shared"}
			for _, dir := range []string{theirs, ours} {
				// Generated code is read if no build tag excludes it.
				mustRun(t, dir, "object paths=./shared")
				oracle.Write(t, dir, "shared/special.go", special)
			}
			if _, err := runPeer(t, theirs, append([]string{"--load-build-tags", strings.Join(tags, ",")},
				args...)); err != nil {
				t.Fatal(err)
			}
			store := incremental.Store{Dir: t.TempDir()}
			if _, err := run(t, ours, args, compat.Options{BuildTags: tags, Cache: store}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
				t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
			}
			if entries, err := os.ReadDir(store.Dir); err != nil || len(entries) == 0 {
				t.Errorf("nothing is kept, so the loader of controller-gen had a say: %v", err)
			}
			// A run with other tags must not use the cached result.
			if _, err := run(t, ours, args, compat.Options{Cache: store}); err != nil {
				t.Fatal(err)
			}
			if code := oracle.Files(t, ours)["shared/zz_generated.deepcopy.go"]; strings.Contains(code, "Special") {
				t.Error("the run without the tag has the result of the one with it")
			}
		})
	}
}

// TestDirectoriesWithTwoPackagesFail checks directories that the go command rejects, whether types are needed or not.
func TestDirectoriesWithTwoPackagesFail(t *testing.T) {
	for _, line := range []string{"object crd paths=./api/v1", "rbac:roleName=r paths=./internal/..."} {
		theirs, ours := project(t), project(t)
		for _, dir := range []string{theirs, ours} {
			oracle.Write(t, dir, "api/v1/other.go", "package other\n")
			oracle.Write(t, dir, "internal/agent/other.go", "package other\n")
		}
		_, wantErr := runPeer(t, theirs, strings.Fields(line))
		_, gotErr := run(t, ours, strings.Fields(line), compat.Options{})
		if wantErr == nil || gotErr == nil || !strings.Contains(gotErr.Error(), "found packages") {
			t.Errorf("%s: controller-gen: %v; kctrl: %v", line, wantErr, gotErr)
		}
	}
}

// TestConsequencesOfAMarkerAreReportedOnce checks an invalid marker because of which controller-tools does not find a
// type. kctrl must report the marker, but not the kind that uses the type.
func TestConsequencesOfAMarkerAreReportedOnce(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "few/v1/few.go", "package v1\n\n// +kubebuilder:validation:Minimum=few\ntype Few int\n")
	oracle.Write(t, dir, "few/v2/few.go", `// +groupName=few.example.com
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/operator/few/v1"
)

type Few struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`
	Size v1.Few       `+"`json:\"size\"`"+`
}
`)
	_, err := run(t, dir, strings.Fields("crd paths=./few/..."), compat.Options{})
	if all := diagnostic.All(err); len(all) != 1 || !strings.Contains(all[0].Error(), "few") {
		t.Errorf("got %d errors, want one about the marker: %v", len(all), err)
	}
}

// TestVersionsWithoutATypeAreNoPanic checks a manifest with a version whose package declares only other kinds.
func TestVersionsWithoutATypeAreNoPanic(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "api/v2/groupversion_info.go", "// +groupName=webapp.example.com\npackage v2\n")
	oracle.Write(t, dir, "hand/guestbooks.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: webapp.example.com
  names: {kind: Guestbook}
  versions:
  - name: v1
  - name: v2
`)
	_, err := run(t, dir, strings.Fields("schemapatch:manifests=hand paths=./api/v1 paths=./api/v2 output:dir=hand"),
		compat.Options{})
	want := "hand/guestbooks.yaml:8:11: version v2 has no Go type: package example.com/operator/api/v2 does not declare " +
		"Guestbook"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFilesOfTestsAreNotRead checks a test file whose package clause matches neither the package of the directory nor
// its external tests.
func TestFilesOfTestsAreNotRead(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "shared/other_test.go", "package other\n")
	if _, err := runPeer(t, dir, strings.Fields("object paths=./shared output:stdout")); err == nil {
		t.Error("controller-gen reads it, and passes over what the go command says")
	}
	mustRun(t, dir, "object paths=./shared")
}

// TestWhyTheGoCommandIsAskedIsNoWarning checks that import paths cause no warning with settings that only the go
// command supports.
func TestWhyTheGoCommandIsAskedIsNoWarning(t *testing.T) {
	dir := project(t)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	oracle.Write(t, filepath.Dir(overlay), "overlay.json", "{}")
	t.Setenv("GOFLAGS", "-overlay="+overlay)
	command, err := compat.Parse([]string{"object", "paths=example.com/operator/shared"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir})
	if err != nil || len(result.Warnings) > 0 {
		t.Errorf("error %v, warnings %v", err, result.Warnings)
	}
}

func TestNoPathsMeansTheDirectoryItself(t *testing.T) {
	theirs, ours := filepath.Join(project(t), "shared"), filepath.Join(project(t), "shared")
	if _, err := runPeer(t, theirs, []string{"object"}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, ours, "object")
	if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
		t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(ours, "zz_generated.deepcopy.go")); err != nil {
		t.Error(err)
	}
}

// TestKindMarkersOfTheStorageVersionCount checks versions whose markers of the kind differ. kctrl uses the markers of
// the storage version, and controller-gen uses the markers of any version.
func TestKindMarkersOfTheStorageVersionCount(t *testing.T) {
	dir := project(t)
	name := filepath.Join(dir, "api/v1beta1/types.go")
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(source), "shortName=gb;book", "shortName=other", 1)
	oracle.Write(t, dir, "api/v1beta1/types.go", changed)
	args := strings.Fields("crd paths=./api/v1;./api/v1beta1 output:stdout")
	want, err := run(t, dir, args, compat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(want, "    shortNames:\n    - gb\n    - book\n") || strings.Contains(want, "- other\n") {
		t.Errorf("the short names are not those of the storage version:\n%.600s", want)
	}
	for range 10 {
		if got, err := run(t, dir, args, compat.Options{}); err != nil || got != want {
			t.Fatalf("another run differs, or fails: %v", err)
		}
	}
}

// TestSkippedVersionsLeaveNothing checks a kind whose versions are all skipped. controller-gen writes a CRD without a
// name, and fails randomly if the skipped version has other markers.
func TestSkippedVersionsLeaveNothing(t *testing.T) {
	dir := project(t)
	oracle.Write(t, dir, "skipped/types.go", `// +groupName=skipped.example.com
package skipped

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:skipversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=A,type=string,JSONPath=.a
type Gone struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`
}
`)
	for range 10 {
		if got, err := run(t, dir, []string{"crd", "paths=./skipped", "output:stdout"}, compat.Options{}); err != nil ||
			got != "" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}
