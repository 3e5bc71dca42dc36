package generate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDifferencesNameTests checks that the tests in docs/controller-gen.md exist.
func TestDifferencesNameTests(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "controller-gen.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 10 {
		t.Fatalf("only %d tests are named", len(named))
	}
	for _, m := range named {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var code strings.Builder
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(source)
		}
		if !strings.Contains(code.String(), "\nfunc "+m[2]+"(t *testing.T) {") {
			t.Errorf("there is no %s in %s", m[2], m[1])
		}
	}
}
