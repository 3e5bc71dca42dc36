package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/testing/module"
)

// goEnvironment lets the go command of a test use this machine's caches, but not the network.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOROOT"}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	// With -trimpath, compiled packages do not depend on the directory.
	env := []string{module.Offline(t), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOTOOLCHAIN=local"}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}

// useOwnCache gives kctrl in this process an empty cache. The go command keeps its cache, which by default is below the
// same directory.
func useOwnCache(t *testing.T) {
	t.Helper()
	for _, setting := range goEnvironment(t) {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}
