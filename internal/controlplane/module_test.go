//go:build linux || darwin

package controlplane

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func TestVersionsAreNamedAsPeopleDo(t *testing.T) {
	versions := Versions()
	if len(versions) != 4 {
		t.Errorf("Versions = %q, want the last four", versions)
	}
	newest, oldest := releases()[0], releases()[3]
	for name, want := range map[string]string{
		"": newest, versions[3]: oldest, "v" + versions[3]: oldest, oldest: oldest, oldest[1:]: oldest, newest: newest,
	} {
		if got, err := release(name); err != nil || got != want {
			t.Errorf("release(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for name, hint := range map[string]string{
		"1.2":             versions[3] + " is nearest",
		"1.99":            versions[0] + " is nearest",
		"latest":          strings.Join(versions, ", "),
		oldest + "9":      "use --kubernetes=" + versions[3] + ", which is version " + oldest[1:],
		"v" + oldest:      strings.Join(versions, ", "),
		"../" + oldest:    strings.Join(versions, ", "),
		versions[0] + ".": strings.Join(versions, ", "),
	} {
		_, err := release(name)
		if d, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(d.Hint, hint) {
			t.Errorf("release(%q) = %#v, want the hint to say %q", name, err, hint)
		}
	}
}

var pin = flag.String("pin", "", "add the modules of this `release` of Kubernetes, such as v1.38.0, in the place of "+
	"those of its minor version")

// TestModulesAreOfTheirVersion checks that the files in each directory of module list the modules, with their hashes,
// of the Kubernetes version after which the directory is named.
func TestModulesAreOfTheirVersion(t *testing.T) {
	if *pin != "" {
		pinModules(t, *pin)
		return // this test embeds the modules that it was compiled with
	}
	for _, release := range releases() {
		files, err := module(release, withControllers)
		if err != nil {
			t.Fatal(err)
		}
		mod, err := modfile.Parse("go.mod", files[0].content, nil)
		if err != nil {
			t.Fatal(err)
		}
		staging := "v0." + strings.TrimPrefix(release, "v1.")
		for _, require := range mod.Require {
			version := require.Mod.Version
			if require.Mod.Path == "k8s.io/kubernetes" && version != release {
				t.Errorf("%s has k8s.io/kubernetes %s", release, version)
			}
			for _, replace := range mod.Replace {
				if replace.Old.Path == require.Mod.Path {
					version = replace.New.Version
				}
				if replace.New.Path != replace.Old.Path || replace.New.Version != staging {
					t.Errorf("%s replaces %s by %s", release, replace.Old, replace.New)
				}
			}
			if !strings.Contains(string(files[1].content), require.Mod.Path+" "+version+"/go.mod h1:") {
				t.Errorf("%s: go.sum has no %s %s", release, require.Mod.Path, version)
			}
		}
	}
}

// pinModules writes the directory of a release: the module versions of Kubernetes itself, with their hashes. The go
// command checks the hashes with the checksum database. A release that kctrl itself imports gets kctrl's versions of
// the modules that both need.
func pinModules(t *testing.T, release string) {
	t.Helper()
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal(goCommand(t, ".", "mod", "download", "-json", "k8s.io/kubernetes@"+release),
		&downloaded); err != nil {
		t.Fatal(err)
	}
	theirs := parseModule(t, downloaded.GoMod)
	staging := "v0." + strings.TrimPrefix(release, "v1.")
	var ours strings.Builder
	fmt.Fprintf(&ours, "module kctrl.dev/controlplane\n\ngo %s\n\nrequire (\n\tk8s.io/component-base "+
		"%s\n\tk8s.io/kubernetes %s\n", theirs.Go.Version, staging, release)
	for _, require := range theirs.Require {
		if require.Mod.Path == "go.etcd.io/etcd/server/v3" {
			fmt.Fprintln(&ours, require.Mod.Path, require.Mod.Version)
		}
	}
	fmt.Fprint(&ours, ")\n\nreplace (\n")
	for _, replace := range theirs.Replace {
		fmt.Fprintf(&ours, "\t%[1]s => %[1]s %[2]s\n", replace.Old.Path, staging)
	}
	fmt.Fprint(&ours, ")\n")
	work := t.TempDir()
	main, err := moduleFiles.ReadFile("module/" + string(withControllers) + ".go.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := writeModule(work, []moduleFile{{"go.mod", []byte(ours.String())}, {"main.go", main}}); err != nil {
		t.Fatal(err)
	}
	goCommand(t, work, "mod", "tidy")
	if release == ownRelease(t) {
		file := parseModule(t, filepath.Join(work, "go.mod"))
		for _, shared := range sharedModules(t, file) {
			if err := file.AddRequire(shared.path, shared.ours); err != nil {
				t.Fatal(err)
			}
		}
		content, err := file.Format()
		if err != nil {
			t.Fatal(err)
		}
		if err := writeModule(work, []moduleFile{{"go.mod", content}}); err != nil {
			t.Fatal(err)
		}
		goCommand(t, work, "mod", "tidy")
	}
	for _, older := range releases() {
		if semver.MajorMinor(older) == semver.MajorMinor(release) {
			if err := os.RemoveAll(filepath.Join("module", older)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := filepath.Join("module", release)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(work, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".txt"), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewestModuleSharesVersionsWithOurs checks that the newest control plane and the API server in memory have the
// same versions of the modules that both need. The go command then compiles the packages of these modules only once.
func TestNewestModuleSharesVersionsWithOurs(t *testing.T) {
	newest := releases()[0]
	if own := ownRelease(t); newest != own {
		t.Fatalf("the newest control plane is %s, but go.mod has k8s.io/kubernetes %s; in this directory, run "+
			"go test -run TestModulesAreOfTheirVersion -pin %[2]s", newest, own)
	}
	file := parseModule(t, filepath.Join("module", newest, "go.mod.txt"))
	shared := sharedModules(t, file)
	if len(shared) == 0 {
		return
	}
	for _, module := range shared {
		t.Errorf("%s: go.mod has %s, the control plane %s", module.path, module.ours, module.theirs)
	}
	t.Error("if go.mod has the older version, change it; else pin " + newest + " again")
}

// sharedModule is a module that kctrl and a control plane need in different versions.
type sharedModule struct{ path, ours, theirs string }

func sharedModules(t *testing.T, controlPlane *modfile.File) (different []sharedModule) {
	t.Helper()
	theirs := map[string]string{}
	for _, require := range controlPlane.Require {
		theirs[require.Mod.Path] = require.Mod.Version
	}
	for _, replace := range controlPlane.Replace {
		theirs[replace.Old.Path] = replace.New.Version
	}
	for _, require := range parseModule(t, filepath.Join("..", "..", "go.mod")).Require {
		path, version := require.Mod.Path, require.Mod.Version
		if found := theirs[path]; found != "" && found != version {
			different = append(different, sharedModule{path, version, found})
		}
	}
	return different
}

// ownRelease returns the version of Kubernetes in kctrl's go.mod.
func ownRelease(t *testing.T) string {
	t.Helper()
	for _, require := range parseModule(t, filepath.Join("..", "..", "go.mod")).Require {
		if require.Mod.Path == "k8s.io/kubernetes" {
			return require.Mod.Version
		}
	}
	t.Fatal("go.mod does not require k8s.io/kubernetes")
	return ""
}

func parseModule(t *testing.T, path string) *modfile.File {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func goCommand(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return out
}
