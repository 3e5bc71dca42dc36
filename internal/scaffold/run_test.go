package scaffold_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// TestScaffoldedTestsPass creates the golden projects, builds and vets them, and runs their tests on both kinds of API
// servers.
func TestScaffoldedTestsPass(t *testing.T) {
	for _, story := range stories() {
		t.Run(story.golden, func(t *testing.T) {
			p := newProject(t)
			p.initialize(t, story.init)
			for _, opts := range story.create {
				p.create(t, opts)
			}
			p.build(t)
			t.Run("in memory", func(t *testing.T) { p.test(t, "./...") })
			t.Run("real server", func(t *testing.T) {
				goCommand(t, p.dir, realServerEnv(t), "test", "-vet=off", "./...")
			})
		})
	}
}

// test runs the tests of packages of the project on in-memory API servers, without vet, which [testProject.build] runs.
func (p *testProject) test(t *testing.T, packages ...string) {
	t.Helper()
	goCommand(t, p.dir, inMemoryEnv(t), append([]string{"test", "-vet=off"}, packages...)...)
}

// inMemoryEnv returns the environment of a go command that runs tests of a project. Tests that start a real API server
// by default start an in-memory one instead, in a separate process.
func inMemoryEnv(t *testing.T) []string {
	t.Helper()
	return append(cacheEnv(), "KCTRL="+kctrlCommand(t), testenv.ServerVariable+"=in-memory",
		testenv.KubernetesVariable+"=")
}

// realServerEnv returns the environment of a go command that runs all tests of a project on a real API server.
func realServerEnv(t *testing.T) []string {
	t.Helper()
	return append(cacheEnv(), "KCTRL="+kctrlCommand(t), testenv.ServerVariable+"=real")
}

// kctrlCommand returns the kctrl that make test has built, or builds one.
func kctrlCommand(t *testing.T) string {
	t.Helper()
	if command := os.Getenv("KCTRL"); command != "" {
		return command
	}
	command := filepath.Join(t.TempDir(), "kctrl")
	goCommand(t, filepath.Join("..", ".."), cacheEnv(), "build", "-o", command, "./cmd/kctrl")
	return command
}
