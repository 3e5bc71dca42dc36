package scaffold_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/modfile"
)

// TestPublishedModule installs kctrl from a module proxy, like users, and creates a project with it. The project
// requires the published runtime, and builds without a network.
func TestPublishedModule(t *testing.T) {
	source := moduleTree(t)
	version := contentVersion(source)
	cache := moduleCache(t)
	t.Cleanup(func() { forgetVersion(t, cache, version) })
	env := proxyEnv(newModuleProxy(t, source, version), cache)

	bin := t.TempDir()
	goCommand(t, bin, append(env, "GOBIN="+bin), "install", runtimeModule+"/cmd/kctrl@"+version)
	proj := &testProject{dir: t.TempDir()}
	for _, line := range []string{
		"init --domain example.com --repo example.com/guestbook",
		"create api --group webapp --version v1 --kind Guestbook",
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kctrl"), strings.Fields(line)...)
		cmd.Dir = proj.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kctrl %s: %v\n%s", line, err, out)
		}
		if _, err := os.Stat(filepath.Join(proj.dir, "third_party")); err == nil {
			t.Error("the runtime is bundled, though this kctrl is published")
		}
		goCommand(t, proj.dir, env, "build", "./...")
		goCommand(t, proj.dir, env, "vet", "./...")
		goCommand(t, proj.dir, env, "mod", "tidy", "-diff")
	}
	if mod := string(readFile(t, proj.dir, "go.mod")); !strings.Contains(mod, runtimeModule+" "+version+"\n") {
		t.Errorf("go.mod does not require %s:\n%s", version, mod)
	}
}

// TestModuleCanBeInstalled checks that go.mod has neither replacements nor exclusions, which go install rejects.
func TestModuleCanBeInstalled(t *testing.T) {
	mod, err := modfile.Parse("go.mod", sourceFile(t, "go.mod"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace)+len(mod.Exclude) > 0 {
		t.Errorf("go.mod has %d replacements and %d exclusions", len(mod.Replace), len(mod.Exclude))
	}
}

// moduleTree returns the files of a release of this module, without files only for developers. It includes the tests of
// the runtime, because go mod tidy reads the tests of imported packages.
func moduleTree(t *testing.T) fstest.MapFS {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	tree := fstest.MapFS{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (skipDir(name) || isModule(root, name)):
			return fs.SkipDir
		case entry.IsDir(), strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "runtime/"),
			path.Dir(name) == "." && !inRoot(name):
			return nil
		}
		content, err := fs.ReadFile(root, name)
		tree[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// published are the top directories of the module that the program and the runtime import or embed.
var published = []string{"cmd", "internal", "runtime", "testserver", "vet", "compat"}

// isModule reports whether a directory contains another module, which the archive of this one omits.
func isModule(root fs.FS, name string) bool {
	_, err := fs.Stat(root, path.Join(name, "go.mod"))
	return err == nil
}

func skipDir(name string) bool {
	first, _, nested := strings.Cut(name, "/")
	return path.Base(name) == "testdata" || !nested && !slices.Contains(published, first)
}

func inRoot(name string) bool {
	return path.Ext(name) == ".go" || slices.Contains([]string{"go.mod", "go.sum", "LICENSE"}, name)
}

// contentVersion returns a version that is unique to the content, so that the module cache never returns another one.
func contentVersion(tree fstest.MapFS) string {
	sum := sha256.New()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(tree[name].Data))
		}
		return err
	})
	if err != nil {
		panic(err) // a MapFS has no errors
	}
	return fmt.Sprintf("v0.0.0-test.x%x", sum.Sum(nil)[:8])
}

// forgetVersion removes a version from the module cache. Only this test uses the version.
func forgetVersion(t *testing.T, cache, version string) {
	t.Helper()
	extracted := filepath.Join(cache, filepath.FromSlash(runtimeModule)+"@"+version)
	downloaded, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(runtimeModule), "@v",
		version+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(downloaded, extracted) {
		if err := os.RemoveAll(name); err != nil {
			t.Error(err)
		}
	}
}
