package scaffold_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedFiles are the packages outside of runtime/ that the tests of the runtime import.
var sharedFiles = []string{"internal/testing/seeds/seeds.go", "internal/testing/listwatch/listwatch.go"}

// newModuleProxy writes a directory that serves as a module proxy and publishes source, the tree of the kctrl module,
// there under a version. It returns the proxy's URL.
func newModuleProxy(t *testing.T, source fs.FS, version string) string {
	t.Helper()
	dir := t.TempDir()
	versions := filepath.Join(dir, filepath.FromSlash(runtimeModule), "@v")
	info := fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version)
	writeFile(t, filepath.Join(versions, "list"), []byte(version+"\n"))
	writeFile(t, filepath.Join(versions, version+".info"), []byte(info))
	goMod, err := fs.ReadFile(source, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(versions, version+".mod"), goMod)
	writeModuleZip(t, filepath.Join(versions, version+".zip"), source, version)
	return "file://" + filepath.ToSlash(dir)
}

// proxyEnv returns the environment of a go command with the proxy and a module cache.
func proxyEnv(proxy, cache string) []string {
	return []string{
		"GOPROXY=" + proxy, "GOMODCACHE=" + cache, "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOWORK=off",
	}
}

func writeModuleZip(t *testing.T, path string, source fs.FS, version string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	add := func(name string, content []byte) error {
		w, err := archive.Create(runtimeModule + "@" + version + "/" + name)
		if err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	}
	for _, name := range sharedFiles {
		if _, err := fs.Stat(source, name); err == nil {
			continue // included in the tree of the module
		}
		if err := add(name, readFile(t, "../..", name)); err != nil {
			t.Fatal(err)
		}
	}
	err = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return add(name, content)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}

func moduleCache(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(goCommand(t, ".", nil, "env", "GOMODCACHE"))
}

// shadowModuleCache returns a module cache with symbolic links to the real one, except that the kctrl module has its
// own directories. Packages built from it are not found in the build cache.
func shadowModuleCache(t *testing.T) string {
	t.Helper()
	real, shadow := moduleCache(t), t.TempDir()
	owner := filepath.FromSlash("github.com/kctrl-dev")
	own := []string{owner, filepath.Join("cache", "download", owner)}
	for _, folder := range own {
		if err := os.MkdirAll(filepath.Join(shadow, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range own {
		for dir := filepath.Dir(folder); ; dir = filepath.Dir(dir) {
			linkEntries(t, filepath.Join(real, dir), filepath.Join(shadow, dir))
			if dir == "." {
				break
			}
		}
	}
	return shadow
}

// linkEntries links to all entries of from that to lacks.
func linkEntries(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		target := filepath.Join(to, entry.Name())
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join(from, entry.Name()), target); err != nil {
			t.Fatal(err)
		}
	}
}
