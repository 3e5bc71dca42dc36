package kubectl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "

func TestManifestsKeepTheirPlace(t *testing.T) {
	manifests, err := ReadManifests("-", strings.NewReader("# a comment\n---\n"+configMap+"a\n---\n---\n"+configMap+"b\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range manifests {
		got = append(got, m.Pos.String()+" "+Describe(m.Object))
	}
	want := []string{"standard input:3:1 configmap/a", "standard input:9:1 configmap/b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListsAreTakenApart(t *testing.T) {
	manifests, err := parseManifests("f", []byte(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}]}`))
	if err != nil || len(manifests) != 2 || manifests[1].Object.GetName() != "b" {
		t.Errorf("parseManifests = %v, %v", manifests, err)
	}
}

func TestEveryBadDocumentIsReportedWithItsLine(t *testing.T) {
	_, err := parseManifests("f.yaml", []byte("kind: X\nmetadata: {name: a}\n---\n"+configMap+"\"\"\n---\n- 1\n---\n"+
		configMap+"..\n---\n"+configMap+"a\n  namespace: a/b\n"))
	var got []string
	for _, e := range diagnostic.All(err) {
		got = append(got, e.Error())
	}
	want := []string{
		"f.yaml:1:1: the object has no apiVersion",
		"f.yaml:4:1: the ConfigMap has no metadata.name",
		"f.yaml:9:1: not a Kubernetes object",
		`f.yaml:11:1: ".." is not a valid object name: it may not be '..'`,
		`f.yaml:16:1: "a/b" is not a valid object name: it may not contain '/'`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenYAMLIsReportedWithItsLine(t *testing.T) {
	_, err := parseManifests("f.yaml", []byte("a: 1\nb: [\n"))
	d, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || d.Pos.Filename != "f.yaml" || d.Pos.Line == 0 {
		t.Errorf("parseManifests = %#v", err)
	}
}

func TestDirectoriesAreReadInOrderWithoutTheirKustomization(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yml"), configMap+"b\n")
	write(t, filepath.Join(dir, "a.yaml"), configMap+"a\n")
	write(t, filepath.Join(dir, "kustomization.yaml"), "resources: [a.yaml]\n")
	write(t, filepath.Join(dir, "README.md"), "# no object\n")
	manifests, err := ReadManifests(dir, nil)
	if err != nil || len(manifests) != 2 || manifests[0].Object.GetName() != "a" {
		t.Errorf("ReadManifests = %v, %v", manifests, err)
	}
}

func TestKustomizationsAreBuilt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), configMap+"a\n")
	write(t, filepath.Join(dir, "kustomization.yaml"), "resources: [a.yaml]\nnamePrefix: x-\n")
	manifests, err := BuildKustomization(dir, "")
	if err != nil || len(manifests) != 1 || manifests[0].Object.GetName() != "x-a" {
		t.Errorf("BuildKustomization = %v, %v", manifests, err)
	}
	if _, err := BuildKustomization(t.TempDir(), ""); err == nil {
		t.Error("a folder without a kustomization was built")
	}
}
