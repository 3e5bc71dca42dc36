// Package module creates Go modules for tests.
package module

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

// Write writes the files of an archive to a new directory and returns the directory. It adds a go.mod if the archive
// has none.
func Write(t testing.TB, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range append([]txtar.File{{Name: "go.mod", Data: []byte("module example.com/project\n")}},
		archive.Files...) {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Offline returns the environment variable that keeps the go command from using the network. Before that, it downloads
// all modules of this repository that the go command may need, including those for vendoring and tidying.
func Offline(t testing.TB) string {
	t.Helper()
	if out, err := download(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	return "GOPROXY=off"
}

var download = sync.OnceValues(func() ([]byte, error) {
	out, err := exec.Command("go", "env", "GOMOD").CombinedOutput()
	if err != nil {
		return out, err
	}
	tidy := exec.Command("go", "mod", "tidy", "-diff")
	tidy.Dir = filepath.Dir(strings.TrimSpace(string(out)))
	return tidy.CombinedOutput()
})
