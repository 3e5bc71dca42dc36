package load

import (
	"errors"
	"testing"
)

// TestListErrorNamesTheMissingPart checks the messages for errors of the loader, including those for which the go
// command printed nothing.
func TestListErrorNamesTheMissingPart(t *testing.T) {
	for text, want := range map[string]string{
		`load packages in root "/p": err: exec: "go": executable file not found in $PATH: stderr: `: "go command not found",
		`load packages in root "/p": err: chdir /p: no such file or directory: stderr: `:            "go list: chdir /p: no such file or directory",
		`load packages in root "/p/sub": err: exit status 1: stderr: go.mod:3: unknown directive`:   "sub/go.mod:3: unknown directive",
		"err: exit status 1: stderr: go: inconsistent vendoring in /p:":                             "go list: inconsistent vendoring in /p",
	} {
		if got := ListError(t.Context(), "/p", errors.New(text)); got.Error() != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
