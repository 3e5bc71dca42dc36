// Package oracle runs the real controller-gen, so that tests can compare with it.
package oracle

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// Version is the version of controller-gen. bench/go.mod requires it.
const Version = "v0.23.0"

// Binary returns the path of controller-gen. It is built once and kept in the user's cache folder.
func Binary(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(cache, "kctrl", "test")
	binary := filepath.Join(folder, "controller-gen-"+Version+"-"+runtime.Version())
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "controller-gen")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join(repository(t), "bench"), "-o", fresh,
		"sigs.k8s.io/controller-tools/cmd/controller-gen")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build controller-gen: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), fresh, "--version").Output(); err != nil || string(out) != "Version: "+Version+"\n" {
		t.Fatalf("controller-gen --version: %q, %v; want %s", out, err, Version)
	}
	content, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	staged := binary + "-" + filepath.Base(filepath.Dir(fresh))
	if err := os.WriteFile(staged, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(staged, binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// repository returns the folder of the module that is tested.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Fatal("no go.sum above the working directory")
	}
}

// Module makes dir the module with the given path, with the requirements of the module that is tested.
func Module(t testing.TB, dir, path string) {
	t.Helper()
	root := repository(t)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module "+path))
	Write(t, dir, "go.mod", string(mod))
	Write(t, dir, "go.sum", string(sum))
}

// Write writes a file, and makes its folder.
func Write(t testing.TB, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Files returns the content of all files in dir, by path.
func Files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		found[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
