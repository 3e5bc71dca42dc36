package plan

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// tree returns the contents and modes below a root by path.
func tree(t *testing.T, fsys afero.Fs) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := afero.Walk(fsys, ".", func(path string, info fs.FileInfo, err error) error {
		if err != nil || path == "." {
			return err
		}
		path = filepath.ToSlash(path)
		if !info.Mode().IsRegular() {
			found[path] = info.Mode().String()
			return nil
		}
		content, err := afero.ReadFile(fsys, path)
		found[path] = fmt.Sprintf("%v %q", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fileSystems runs a test on an empty file system in memory and on a real directory.
func fileSystems(t *testing.T, test func(t *testing.T, newFs func() afero.Fs)) {
	t.Run("memory", func(t *testing.T) {
		test(t, func() afero.Fs { return afero.NewMemMapFs() })
	})
	t.Run("disk", func(t *testing.T) {
		test(t, func() afero.Fs {
			root, err := transaction.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { root.Close() })
			return root
		})
	})
}

// write writes files into fsys: content by path, "" for an empty directory.
func write(t *testing.T, fsys afero.Fs, files map[string]string) {
	t.Helper()
	for path, content := range files {
		if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := afero.WriteFile(fsys, path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func leftovers(files map[string]string) []string {
	var found []string
	for path := range files {
		if strings.Contains(path, ".kctrl-") {
			found = append(found, path)
		}
	}
	return found
}
