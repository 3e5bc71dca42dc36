package generate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// TestAGeneratorIsOneRow adds one as a developer would, and has all that commands do with one: flags, output, the
// kustomization, and taking back what it makes no more.
func TestAGeneratorIsOneRow(t *testing.T) {
	before := all
	t.Cleanup(func() { all = before })
	name := "docs.yaml"
	all = append(slices.Clone(all), Generator{
		Name: "docs", folder: func(Options) string { return "config/docs" }, kustomization: "config", usual: "config/docs",
		Flags: func(o *Options) []Flag { return []Flag{{Name: "docs-name", To: &o.RoleName}} },
		generate: func(*generation, genall.GenerationContext) ([]artifact.File, error) {
			return []artifact.File{{Path: "config/docs/" + name, Content: []byte("docs: true\n")}}, nil
		},
	})
	if names := Named(func(g Generator) bool { return !g.Code }); !slices.Contains(names, "docs") {
		t.Errorf("kctrl manifests runs %v", names)
	}
	dir := t.TempDir()
	for file, content := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": "package m\n", "config/kustomization.yaml": "resources: []\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changes := func() string {
		p := plan.New(os.DirFS(dir))
		if err := Run(t.Context(), dir, p, nil, Options{Generators: []string{"docs"}}); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for change := range p.Changes() {
			lines = append(lines, change.Op.String()+" "+change.Path)
		}
		root, err := transaction.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := p.Apply(t.Context(), root, "test"); err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	if got := changes(); !strings.Contains(got, "config/docs/docs.yaml") || !strings.Contains(got, "config/kustomization.yaml") {
		t.Errorf("the first run: %s", got)
	}
	name = "other.yaml"
	if got := changes(); !strings.Contains(got, "delete config/docs/docs.yaml") || !strings.Contains(got, "config/docs/other.yaml") {
		t.Errorf("the run after it: %s", got)
	}
}

func TestNamesOfGeneratorsAreTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range Generators() {
		if seen[g.Name] || g.generate == nil || g.kustomization != "" && g.usual == "" {
			t.Errorf("%s is there twice, makes nothing, or has files in a kustomization and no usual folder", g.Name)
		}
		seen[g.Name] = true
	}
}
