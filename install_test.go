package kctrl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	modules "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// installed is the version of kctrl that the tests below publish to their own module proxy.
var installed = modules.Version{Path: "github.com/kctrl-dev/kctrl", Version: "v0.0.1"}

// publish writes the module to a directory that serves as a module proxy, and returns the proxy's URL.
func publish(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "github.com", "kctrl-dev", "kctrl", "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list": installed.Version + "\n", installed.Version + ".mod": string(mod),
		installed.Version + ".info": `{"Version":"` + installed.Version + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(dir, installed.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, installed, "."); err != nil {
		t.Fatalf("the module cannot be published: %v", err)
	}
	return "file://" + strings.TrimSuffix(filepath.ToSlash(dir), "/github.com/kctrl-dev/kctrl/@v")
}

// TestModuleHasNoReplaceLines guards `go install ...@version`, which rejects a module with replace or exclude lines.
func TestModuleHasNoReplaceLines(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Replace)+len(file.Exclude) > 0 {
		t.Errorf("go.mod has %d replace and %d exclude lines; go install of a version refuses them", len(file.Replace),
			len(file.Exclude))
	}
}

// TestGoInstall installs the command from a module proxy in the file system, as users do from a public one.
func TestGoInstall(t *testing.T) {
	cache := strings.TrimSpace(goCommand(t, "env", "GOMODCACHE"))
	bin := t.TempDir()
	cmd := exec.Command("go", "install", "-modcacherw", installed.Path+"/cmd/kctrl@"+installed.Version)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(),
		"GOBIN="+bin, "GOMODCACHE="+t.TempDir(), "GOFLAGS=-trimpath -modcacherw", "CGO_ENABLED=0", "GOWORK=off",
		"GOPROXY="+publish(t)+",file://"+filepath.ToSlash(cache)+"/cache/download", "GONOSUMDB=*",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	out, err := exec.Command(filepath.Join(bin, "kctrl"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "kctrl "+installed.Version+" ") {
		t.Errorf("kctrl version prints %q (%v), want version %s", out, err, installed.Version)
	}
	// The installed command contains the runtime, which would not be part of the module if it had its own go.mod.
	project := t.TempDir()
	init := exec.Command(filepath.Join(bin, "kctrl"), "init", "--runtime", "bundled", "--domain", "example.com", "--repo",
		"example.com/installed")
	init.Dir = project
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("kctrl init: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(project, "third_party/kctrl/runtime/manager")); err != nil {
		t.Error(err)
	}
}
