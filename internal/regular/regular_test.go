//go:build unix

package regular_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/regular"
)

func TestPipesDoNotBlock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "go.mod")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := regular.ReadFile(name)
	if e, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, regular.ErrNotRegular) || e.Path != name {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := regular.ReadFile(os.DevNull); !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("a device: %v", err)
	}
}

func TestFilesAreReadWhole(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 511, 512, 513, 100_000} {
		name, want := filepath.Join(dir, "file"), bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := regular.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
	}
	if _, err := regular.ReadFile(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := regular.ReadFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	// Files of /proc report no size.
	if got, err := regular.ReadFile("/proc/self/status"); err == nil && len(got) == 0 {
		t.Error("nothing is read where the size is not known")
	}
}
