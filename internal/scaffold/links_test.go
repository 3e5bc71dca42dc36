package scaffold_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	// linkedPackages and linkedBytes describe the manager of a new project on Linux with amd64: the number of linked
	// packages (go list -deps), and the size of the stripped program. A change of more than two percent must be intended:
	// raise or lower the values here.
	linkedPackages = 369
	linkedBytes    = 15_175_842
)

// TestOperatorsLinkLittle builds the golden project and compares what its manager links with the limits.
func TestOperatorsLinkLittle(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Logf("the limits are those of linux/amd64")
		return
	}
	story := stories()[0]
	p := newProject(t)
	p.initialize(t, story.init)
	for _, opts := range story.create {
		p.create(t, opts)
	}
	env := append(cacheEnv(), "CGO_ENABLED=0")
	packages := strings.Count(goCommand(t, p.dir, env, "list", "-deps", "./cmd"), "\n")
	program := filepath.Join(t.TempDir(), "manager")
	goCommand(t, p.dir, env, "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd")
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d packages, %d bytes", packages, info.Size())
	for what, pair := range map[string][2]int{
		"packages": {packages, linkedPackages}, "bytes": {int(info.Size()), linkedBytes},
	} {
		if got, want := pair[0], pair[1]; got*100 > want*102 || got*100 < want*98 {
			t.Errorf("the manager links %d %s, not %d within 2 %%", got, what, want)
		}
	}
}
