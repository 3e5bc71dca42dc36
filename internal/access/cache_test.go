package access

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
)

// TestResultsAreKept checks that cached results equal computed ones, before and after changes of the inputs.
func TestResultsAreKept(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("project/go.mod", "module example.com/x\n\ngo 1.26\n\nrequire example.com/y v0.0.0\n\n"+
		"replace example.com/y => ../y\n")
	write("project/main.go", "package main\n\nimport \"example.com/y\"\n\nfunc main() { y.F() }\n")
	write("y/go.mod", "module example.com/y\n\ngo 1.26\n")
	write("y/y.go", "package y\n\nfunc F() {}\n")
	cfg := Config{Dir: filepath.Join(dir, "project"), Cache: incremental.Store{Dir: t.TempDir()}}
	analyzed := func() *Result {
		t.Helper()
		result, err := Analyze(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	put := func(result *Result) {
		t.Helper()
		key, ok := cfg.key(t.Context())
		if !ok {
			t.Fatal("the result cannot be cached")
		}
		cfg.Cache.PutValue(key, result)
	}
	first := analyzed()
	if len(first.Roots) != 1 {
		t.Fatalf("programs %v", first.Roots)
	}
	if second := analyzed(); !reflect.DeepEqual(first, second) {
		t.Errorf("got %+v from the cache, want %+v", second, first)
	}
	marked := *first
	marked.Roots = []string{"kept"}
	put(&marked)
	if kept := analyzed(); !slices.Equal(kept.Roots, marked.Roots) {
		t.Errorf("the result is new: %v", kept.Roots)
	}
	write("y/y.go", "package y\n\nfunc F() { println() }\n")
	if changed := analyzed(); slices.Equal(changed.Roots, marked.Roots) {
		t.Error("a replaced module does not count")
	}
	write("project/broken.go", "package main\n\nfunc f() { undefined() }\n")
	if changed := analyzed(); len(changed.Problems) == 0 {
		t.Error("a new file does not count")
	}
	if again := analyzed(); len(again.Problems) == 0 {
		t.Error("the cache loses problems")
	}
	put(&marked)
	cfg.Patterns = []string{"./..."}
	if other := analyzed(); slices.Equal(other.Roots, marked.Roots) {
		t.Error("patterns do not count")
	}
}
