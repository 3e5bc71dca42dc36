package scaffold_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScaffoldedTestsPass runs the tests of a new project, which start a real API server.
func TestScaffoldedTestsPass(t *testing.T) {
	p := newGuestbook(t)
	shelf := guestbook
	shelf.Kind, shelf.Namespaced = "Shelf", false
	p.createAPI(t, shelf)
	out := goCommand(t, p.dir, append(cacheEnv(), "KCTRL="+kctrlCommand(t)), "test", "./...")
	t.Log(out)
}

// kctrlCommand returns the kctrl that make test built, or builds one.
func kctrlCommand(t *testing.T) string {
	t.Helper()
	if command := os.Getenv("KCTRL"); command != "" {
		return command
	}
	command := filepath.Join(t.TempDir(), "kctrl")
	goCommand(t, filepath.Join("..", ".."), cacheEnv(), "build", "-o", command, "./cmd/kctrl")
	return command
}
