// Package git runs the git command.
package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Output runs git in a directory and returns its output. If git fails, the error is a *diagnostic.Error with the first
// line that git wrote to standard error, or the cause of ctx if ctx ends.
func Output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return nil, &diagnostic.Error{Message: "git is not installed, and this directory is in a git repository",
			Hint: "install git, and add it to PATH", Cause: err}
	}
	reason, _, _ := strings.Cut(strings.TrimSpace(complaints.String()), "\n")
	if reason == "" {
		reason = err.Error()
	}
	return nil, &diagnostic.Error{Message: "git " + args[0] + ": " + reason,
		Hint: "git status shows the whole message; repair this, then run the command again", Cause: err}
}

// Holds reports whether a directory is in a git repository, even if git cannot read the repository.
func Holds(dir string) bool {
	if os.Getenv("GIT_DIR") != "" {
		return true
	}
	dir, err := filepath.Abs(dir)
	for err == nil {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return false
}
