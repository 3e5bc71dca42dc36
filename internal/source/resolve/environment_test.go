package resolve_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

func TestImmutableIsWhatNeverChanges(t *testing.T) {
	environment, err := resolve.NewEnvironment(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		filepath.Join(environment.ModuleCache, "k8s.io", "api@v1.0.0", "x.go"): true,
		filepath.Join(environment.Root, "src", "fmt", "print.go"):              true,
		environment.ModuleCache + "x":                                          false,
		filepath.Join(t.TempDir(), "x.go"):                                     false,
	} {
		if got := environment.Immutable(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSettingsOfTheGoCommandCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("# Mine.\nGOOS=plan9\nGOARCH=386\nGOFLAGS=-modcacherw\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", file)
	t.Setenv("GOOS", "")
	t.Setenv("GOARCH", "amd64")
	t.Setenv("GOFLAGS", "-mod=readonly")
	environment, err := resolve.NewEnvironment(t.Context(), t.TempDir())
	if err != nil || environment.OS != "plan9" || environment.Arch != "amd64" {
		t.Errorf("%s/%s, %v", environment.OS, environment.Arch, err)
	}
	t.Setenv("GOFLAGS", "")
	environment, err = resolve.NewEnvironment(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if environment.Immutable(filepath.Join(environment.ModuleCache, "k8s.io", "api@v1.0.0", "x.go")) {
		t.Error("-modcacherw in the settings does not count")
	}
}
