//go:build unix

package compat_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
)

// TestSpecialFilesAreNoOutputs checks that the command does not wait for a reader of a pipe.
func TestSpecialFilesAreNoOutputs(t *testing.T) {
	dir := project(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"rbac:roleName=m,fileName=pipe paths=./internal/... output:rbac:dir=.":    "pipe: a pipe is in the way",
		"rbac:roleName=m,fileName=null paths=./internal/... output:rbac:dir=/dev": "/dev/null: a special file is in the way",
	} {
		if _, err := run(t, dir, strings.Fields(line), compat.Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}
