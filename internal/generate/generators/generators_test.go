package generators_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/genall"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/generators"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// docs has the options of an additional generator.
type docs struct {
	Title string `marker:",optional"`
}

// RegisterMarkers registers nothing.
func (docs) RegisterMarkers(*ctmarkers.Registry) error { return nil }

// Generate is not called.
func (docs) Generate(*genall.GenerationContext) error { return nil }

// TestAddingAGeneratorIsOneRow adds a generator as a developer would. Commands must then support it: flags, output, the
// kustomization, and removal of files that it no longer writes. kctrl gen must support its options, output rules,
// output and cache.
func TestAddingAGeneratorIsOneRow(t *testing.T) {
	name := "docs.yaml"
	t.Cleanup(generators.Add(generator.Generator{
		Name: "docs", Options: docs{Title: "things"}, Dir: generator.Flag{Name: "output-docs-dir", Default: "config/docs"},
		Kustomization: "config",
		Flags: func(options any) []generator.Flag {
			o := options.(*docs)
			return []generator.Flag{{Name: "docs-title", To: &o.Title, Default: o.Title}}
		},
		Generate: func(in generator.Input, options genall.Generator) error {
			out, err := in.Open(nil, name)
			if err != nil {
				return err
			}
			_, err = out.Write([]byte("title: " + options.(docs).Title + "\n"))
			return cmp.Or(err, out.Close())
		},
	}))
	if names := generate.Named(func(g generator.Generator) bool { return !g.Code }); !slices.Contains(names, "docs") {
		t.Errorf("kctrl manifests runs %v", names)
	}
	dir := t.TempDir()
	for file, content := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": "package m\n",
		"config/kustomization.yaml": "resources: []\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := generate.Options{Generators: []string{"docs"}}
	var flags []string
	for _, flag := range o.Flags() {
		flags = append(flags, flag.Name)
		if flag.Name == "docs-title" {
			*flag.To.(*string) = "all things"
		}
	}
	if want := []string{"output-docs-dir", "docs-title"}; !slices.Equal(flags, want) {
		t.Errorf("flags are %v, want %v", flags, want)
	}
	changes := func() string {
		p := plan.New(os.DirFS(dir))
		if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
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
	if got := changes(); !strings.Contains(got, "config/docs/docs.yaml") ||
		!strings.Contains(got, "config/kustomization.yaml") {
		t.Errorf("the first run: %s", got)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "config/docs/docs.yaml")); err != nil ||
		string(content) != "title: all things\n" {
		t.Errorf("the file has %q, %v", content, err)
	}
	name = "other.yaml"
	if got := changes(); !strings.Contains(got, "delete config/docs/docs.yaml") ||
		!strings.Contains(got, "config/docs/other.yaml") {
		t.Errorf("the run after it: %s", got)
	}

	name = "docs.yaml"
	store := incremental.Store{Dir: t.TempDir()}
	for _, args := range [][]string{
		{"docs:title=theirs", "paths=./...", "output:docs:dir=out"},
		{"docs:title=theirs", "paths=./...", "output:docs:dir=out"},
		{"docs:title=theirs", "paths=./...", "output:dir=out"}, {"docs:title=theirs", "crd", "paths=./...", "output:dir=out"},
	} {
		command, err := compat.Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		result, err := command.Run(t.Context(), compat.Options{Dir: dir, Cache: store})
		if err != nil {
			t.Fatal(err)
		}
		files := result.Files()
		if len(files) != 1 || files[0].Path != filepath.Join(dir, "out", name) ||
			string(files[0].Content) != "title: theirs\n" {
			t.Errorf("kctrl gen %v makes %v", args, files)
		}
	}
	if _, err := compat.Parse([]string{"docs:titel=x"}); err == nil || !strings.Contains(err.Error(), "titel") {
		t.Errorf("a wrong option: %v", err)
	}
}

func TestNamesOfGeneratorsAreTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range generators.All() {
		if seen[g.Name] || g.Generate == nil || g.Options == nil || g.Kustomization != "" && g.Dir.Default == "" {
			t.Errorf("%s is there twice, makes nothing, or has files in a kustomization and no usual folder", g.Name)
		}
		seen[g.Name] = true
	}
}
