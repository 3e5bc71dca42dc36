package git_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/git"
)

func TestErrorsHaveTheReason(t *testing.T) {
	dir := t.TempDir()
	if _, err := git.Output(t.Context(), dir, "init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Output(t.Context(), dir, "cat-file", "blob", "nope"); err == nil ||
		!strings.HasPrefix(err.Error(), "git cat-file: fatal: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := git.Output(ctx, dir, "status"); err != stopped {
		t.Errorf("got %v", err)
	}
	t.Setenv("PATH", "")
	if _, err := git.Output(t.Context(), dir, "status"); !errors.Is(err, exec.ErrNotFound) ||
		!strings.HasPrefix(err.Error(), "git is not installed") {
		t.Errorf("got %v", err)
	}
}

func TestHoldsDoesNotNeedGit(t *testing.T) {
	t.Setenv("GIT_DIR", "")
	dir := t.TempDir()
	inside := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if git.Holds(inside) {
		t.Error("the directory is not in a repository")
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !git.Holds(inside) {
		t.Error("the directory is in a repository")
	}
}
