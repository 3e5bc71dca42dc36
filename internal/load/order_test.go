package load_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// TestOrderIsThatOfTheLoader compares the order of packages with the order of controller-gen's loader, for random
// modules, nested modules, imports and paths.
func TestOrderIsThatOfTheLoader(t *testing.T) {
	seeds.Each(t, 5, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		dirs := []string{
			"api", "api/v1", "api/v1beta1", "api-x", "api/z", "b", "b/c", "internal/t",
			"nested", "nested/v1", "nested/deep/m", "x_y", "x",
		}
		write(t, dir, "go.mod", "module example.com/p\n\ngo 1.26\n")
		write(t, dir, "nested/go.mod", "module example.com/p/nested\n\ngo 1.26\n")
		// A package imports only packages that precede it in a random order, so imports have no cycles.
		order := slices.Clone(dirs)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for i, folder := range order {
			if random.IntN(6) == 0 {
				continue
			}
			var imports []string
			for _, other := range order[:i] {
				if inNested(folder) == inNested(other) && random.IntN(4) == 0 && exists(dir, other) {
					imports = append(imports, fmt.Sprintf("import _ %q\n", path.Join("example.com/p", other)))
				}
			}
			write(t, dir, path.Join(folder, "a.go"), "package p\n\n"+strings.Join(imports, ""))
		}
		var patterns []string
		for _, pattern := range []string{"./...", "./api/...", "./b/...", "./api/v1", "./nested/v1", "./x", "./nested/..."} {
			target, tree := strings.CutSuffix(pattern, "/...")
			if random.IntN(3) == 0 && (tree && isDir(dir, target) || exists(dir, target)) {
				patterns = append(patterns, pattern)
			}
		}
		random.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
		if len(patterns) == 0 {
			patterns = []string{"./..."}
		}
		program, err := load.Load(t.Context(), load.Config{Dir: dir, Patterns: patterns, Lenient: true})
		roots, theirs := loader.LoadRootsWithConfig(&packages.Config{Dir: dir, Context: t.Context()}, patterns...)
		if err != nil || theirs != nil {
			t.Fatalf("%q: %v, %v", patterns, err, theirs)
		}
		ordered, ok := program.InOrder()
		if !ok {
			t.Fatalf("%q: no order", patterns)
		}
		var got, want []string
		for _, pkg := range ordered {
			got = append(got, pkg.PkgPath)
		}
		for _, pkg := range roots {
			want = append(want, pkg.PkgPath)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", patterns, got, want)
		}
	})
}

func inNested(folder string) bool { return strings.HasPrefix(folder+"/", "nested/") }

func exists(dir, folder string) bool {
	_, err := os.Stat(filepath.Join(dir, folder, "a.go"))
	return err == nil
}

func isDir(dir, folder string) bool {
	info, err := os.Stat(filepath.Join(dir, folder))
	return err == nil && info.IsDir()
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
