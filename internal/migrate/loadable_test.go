package migrate

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyProgramsHaveToCompile has code that does not compile in a program, in what it imports, and in what it does not.
func TestOnlyProgramsHaveToCompile(t *testing.T) {
	const broken = "package PKG\n\nvar _ = missing\n"
	for _, test := range []struct {
		name, file string
		refused    bool
	}{
		{"the program", "cmd/other.go", true},
		{"what it imports", "used/other.go", true},
		{"a test of the program", "cmd/other_test.go", false},
		{"a test of what it imports", "used/other_test.go", false},
		{"what nothing imports but tests", "framework/other.go", false},
		{"a program that has nothing to rewrite", "tool/other.go", false},
		{"what only that imports", "helpers/other.go", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := newModule(t, peerStub)
			for name, text := range map[string]string{
				"cmd/main.go":            "package main\n\nimport (\n\t_ \"example.com/cases/used\"\n\t_ \"sigs.k8s.io/controller-runtime/pkg/log\"\n)\n\nfunc main() {}\n",
				"tool/main.go":           "package main\n\nimport (\n\t_ \"example.com/cases/helpers\"\n\t_ \"example.com/cases/used\"\n)\n\nfunc main() {}\n",
				"helpers/helpers.go":     "package helpers\n",
				"used/used.go":           "package used\n",
				"framework/framework.go": "package framework\n",
				"e2e/e2e_test.go":        "package e2e\n\nimport _ \"example.com/cases/framework\"\n",
			} {
				write(t, filepath.Join(dir, filepath.FromSlash(name)), []byte(text))
			}
			pkg := filepath.Base(filepath.Dir(test.file))
			if pkg == "cmd" || pkg == "tool" {
				pkg = "main"
			}
			write(t, filepath.Join(dir, filepath.FromSlash(test.file)), []byte(strings.Replace(broken, "PKG", pkg, 1)))
			p, err := loadCases(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := loadable(p); (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), filepath.FromSlash(test.file)+":3:9: undefined: missing") {
				t.Errorf("got %v, want an error: %t", err, test.refused)
			}
		})
	}
}

// TestTagsWithWhichAProjectDoesNotCompileAreLeft has three tags, two of which lead to what does not compile.
func TestTagsWithWhichAProjectDoesNotCompileAreLeft(t *testing.T) {
	dir := newModule(t, peerStub)
	write(t, filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"))
	write(t, filepath.Join(dir, "good.go"), []byte("//go:build good\n\npackage main\n\nvar good = 1\n"))
	write(t, filepath.Join(dir, "bad_test.go"), []byte("//go:build bad\n\npackage main\n\nvar _ = missing\n"))
	// A tag of which one file makes another package of its folder, which the program imports.
	write(t, filepath.Join(dir, "other", "other.go"), []byte("package other\n"))
	write(t, filepath.Join(dir, "other", "generate.go"), []byte("//go:build !windows && generate\n\npackage main\n\nfunc main() {}\n"))
	write(t, filepath.Join(dir, "import.go"), []byte("package main\n\nimport _ \"example.com/cases/other\"\n"))
	write(t, filepath.Join(dir, "generate.go"), []byte("//go:build generate\n\npackage main\n"))
	p, err := loadCases(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.tags) != 1 || p.tags[0] != "good" || len(p.problems()) != 0 {
		t.Errorf("tags %q, problems %v", p.tags, p.problems())
	}
}
