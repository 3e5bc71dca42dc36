package scaffold_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// TestRenderGivesGoldenProjects renders all files of the golden projects from PROJECT alone, byte for byte, except
// generated files. The stored version of a kind comes from its types.
func TestRenderGivesGoldenProjects(t *testing.T) {
	for _, story := range stories() {
		t.Run(story.golden, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("..", "..", "testdata", story.golden)
			root := os.DirFS(dir)
			proj, err := project.Load(root)
			if err != nil {
				t.Fatal(err)
			}
			var env render.Env
			for name, text := range map[string]*[]byte{"hack/boilerplate.go.txt": &env.Header, "go.mod": &env.GoMod} {
				if *text, err = fs.ReadFile(root, name); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := render.Render(proj, env)
			if err != nil || len(tree.Failed) > 0 {
				t.Fatal(err, tree.Failed)
			}
			want := readTree(t, dir)
			for name, content := range want {
				got := tree.Contents[name]
				switch {
				case isGenerated(name), isCopied(proj, name):
				case got == nil:
					t.Errorf("%s is not rendered", name)
				case !bytes.Equal(got, content):
					t.Errorf("%s differs:\n%s", name, firstDifference(content, got))
				}
			}
			for name := range tree.Contents {
				if want[name] == nil && !strings.HasPrefix(name, "third_party/") {
					t.Errorf("%s is rendered, and no golden file", name)
				}
			}
		})
	}
}

// isGenerated reports whether a generator writes the file of a golden project, or the file lists other files.
func isGenerated(name string) bool {
	return strings.HasPrefix(path.Base(name), "zz_generated.deepcopy") || strings.HasPrefix(name, "config/crd/bases/") ||
		slices.Contains([]string{"config/rbac/role.yaml", "config/webhook/manifests.yaml", "PROJECT.lock",
			"hack/boilerplate.go.txt"}, name)
}

// isCopied reports whether a file has the types of a kind with several versions, one of which the author marks as
// stored.
func isCopied(proj *project.Project, name string) bool {
	return slices.ContainsFunc(proj.Resources, func(r project.Resource) bool {
		return len(proj.Versions(r)) > 0 && path.Base(name) == strings.ToLower(r.Kind)+"_types.go"
	})
}
