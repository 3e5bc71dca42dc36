package migrate

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// apiFile is a Go file of an API package: how the group is said, and a kind with markers.
func apiFile(group, kind, markers string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(strings.Join([]string{
		"package api", `import ("k8s.io/apimachinery/pkg/runtime/schema"; metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; "example.com/project/names")`,
		"var _ = names.Group", group, markers, "type " + kind + " struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}",
		"type " + kind + "List struct {\n\tmetav1.TypeMeta\n\tmetav1.ListMeta\n}",
	}, "\n"))}
}

// TestKindsOfAProjectWithoutPROJECT has API packages that say their group in all the ways that there are.
func TestKindsOfAProjectWithoutPROJECT(t *testing.T) {
	const declared = `var GroupVersion = schema.GroupVersion{Group: "fruit.example.com", Version: "v1"}`
	requires := &fstest.MapFile{Data: []byte("module example.com/project\n\nrequire sigs.k8s.io/controller-runtime v0.24.1\n")}
	names := &fstest.MapFile{Data: []byte("package names\n\nconst Group = \"nuts.example.com\"\n")}
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  []string // domain, then each kind
	}{
		{"a literal", fstest.MapFS{"api/v1/a.go": apiFile(declared, "Apple", "")}, []string{"example.com", "fruit.example.com/v1.Apple apples namespaced example.com/project/api/v1"}},
		{"a marker and the folder", fstest.MapFS{"apis/v1beta2/a.go": apiFile("// +groupName=fruit.example.com\n", "Apple", "")}, []string{"example.com", "fruit.example.com/v1beta2.Apple apples namespaced example.com/project/apis/v1beta2"}},
		{"a constant of another package", fstest.MapFS{"api/a.go": apiFile(`var GV = schema.GroupVersion{Group: names.Group, Version: "v1"}`, "Nut", "// +genclient:nonNamespaced")}, []string{"example.com", "nuts.example.com/v1.Nut nuts cluster example.com/project/api"}},
		{"markers of a kind", fstest.MapFS{"api/v1/a.go": apiFile(declared, "Apple", `// +kubebuilder:resource:path="pommes",scope="Cluster",shortName=ap`)}, []string{"example.com", "fruit.example.com/v1.Apple pommes cluster example.com/project/api/v1"}},
		{"several groups", fstest.MapFS{
			"api/fruit/v1/a.go": apiFile(declared, "Apple", ""),
			"api/nuts/v1/a.go":  apiFile(`var GV = schema.GroupVersion{Group: names.Group, Version: "v1"}`, "Nut", ""),
		}, []string{"example.com", "fruit.example.com/v1.Apple apples namespaced example.com/project/api/fruit/v1", "nuts.example.com/v1.Nut nuts namespaced example.com/project/api/nuts/v1"}},
		{"groups with nothing in common", fstest.MapFS{
			"api/a/v1/a.go": apiFile(declared, "Apple", ""),
			"api/b/v1/a.go": apiFile(`var GV = schema.GroupVersion{Group: "trees.other.org", Version: "v1"}`, "Tree", ""),
			"api/c/v1/a.go": apiFile(`var GV = schema.GroupVersion{Group: "leaves.other.org", Version: "v1"}`, "Leaf", ""),
		}, []string{"other.org", "fruit.example.com/v1.Apple apples namespaced example.com/project/api/a/v1", "trees.other.org/v1.Tree trees namespaced example.com/project/api/b/v1", "leaves.other.org/v1.Leaf leaves namespaced example.com/project/api/c/v1"}},
		{"a group that is the domain of another", fstest.MapFS{
			"api/a/v1/a.go": apiFile(`var GV = schema.GroupVersion{Group: "example.com", Version: "v1"}`, "Apple", ""),
			"api/b/v1/a.go": apiFile(declared, "Pear", ""),
		}, []string{"example.com", "example.com/v1.Apple apples namespaced example.com/project/api/a/v1", "fruit.example.com/v1.Pear pears namespaced example.com/project/api/b/v1"}},
		{"no kinds of its own", fstest.MapFS{"main.go": {Data: []byte("package main")}}, []string{"my.domain"}},
		{"what is no version, of a built-in group, a test, other modules and broken files", fstest.MapFS{
			"api/a.go": apiFile("// +groupName=fruit.example.com\n", "Apple", ""), "api/v1/a_test.go": apiFile(declared, "Apple", ""),
			"apps/v1/a.go": apiFile("// +groupName=apps\n", "Apple", ""), "vendor/api/v1/a.go": apiFile(declared, "Apple", ""),
			"tools/go.mod": {Data: []byte("module example.com/tools")}, "tools/v1/a.go": apiFile(declared, "Apple", ""), "broken/v1/a.go": {Data: []byte("package")},
		}, []string{"my.domain"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.files["go.mod"], test.files["names/names.go"] = requires, names
			p, err := readPeer(test.files)
			if err != nil {
				t.Fatal(err)
			}
			proj := p.project(test.files, project.Build{}, nil)
			got := []string{proj.Domain}
			for _, r := range proj.Resources {
				scope := "cluster"
				if r.Namespaced {
					scope = "namespaced"
				}
				got = append(got, fmt.Sprint(r.String(), " ", r.Plural, " ", scope, " ", r.Path))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err := proj.Validate(); err != nil {
				t.Errorf("PROJECT is not valid: %v", err)
			}
		})
	}
}

func TestAFolderThatIsNoOperatorIsRefused(t *testing.T) {
	for name, files := range map[string]fs.FS{
		"nothing":        fstest.MapFS{},
		"another go.mod": fstest.MapFS{"go.mod": {Data: []byte("module example.com/project\n")}},
	} {
		if _, err := readPeer(files); err == nil || !strings.Contains(err.Error(), "no PROJECT file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
