package load

import (
	"errors"
	"testing"
)

// TestListErrorSaysWhatIsMissing parses errors of the loader for which the go command printed nothing.
func TestListErrorSaysWhatIsMissing(t *testing.T) {
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

func TestHintsFitWhatTheGoCommandSays(t *testing.T) {
	for text, want := range map[string]string{
		"cannot find module providing package example.com/a: import lookup disabled by -mod=vendor": "run go mod vendor",
		"go: -mod may only be set to readonly or vendor when in workspace mode":                     "",
		`invalid value "x" for flag -mod: -mod=x not supported`:                                     "correct -mod in GOFLAGS",
	} {
		if got := listHint(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
