package kctrl_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl"
)

// TestControllerRuntimeIsEmbedded compares the embedded archive with compat/controller-runtime. With -update it writes
// the archive, uncompressed, so that git stores only changes.
func TestControllerRuntimeIsEmbedded(t *testing.T) {
	const dir, file = "compat/controller-runtime", "compat/controller-runtime.zip"
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		module := name == "go.mod" || name == "go.sum"
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "apitest" || entry.Name() == "testdata"):
			return fs.SkipDir
		case !module && path.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path.Join(dir, name))
		if err != nil {
			return err
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, archive.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if committed, err := os.ReadFile(file); err != nil || !bytes.Equal(committed, archive.Bytes()) {
		t.Errorf("%s differs from %s, %v: run go test . -run TestControllerRuntimeIsEmbedded -update", file, dir, err)
	}
	if source, err := kctrl.ControllerRuntime(); err != nil {
		t.Error(err)
	} else if _, err := fs.Stat(source, "pkg/client/client.go"); err != nil {
		t.Error(err)
	}
}
