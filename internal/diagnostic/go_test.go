package diagnostic

import (
	"errors"
	"go/token"
	"testing"
)

func TestHintsFitErrorsOfTheGoCommand(t *testing.T) {
	for text, want := range map[string]string{
		"cannot find module providing package example.com/a: import lookup disabled by -mod=vendor": "run go mod vendor",

		"go: -mod may only be set to readonly or vendor when in workspace mode": "",

		`invalid value "x" for flag -mod: -mod=x not supported`: "correct -mod in GOFLAGS",
	} {
		if got := GoHint(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestGoListHasTheFirstProblem reads errors of packages.Load.
func TestGoListHasTheFirstProblem(t *testing.T) {
	for output, want := range map[string]string{
		"err: exit status 1: stderr: go: module ../lib listed in go.work file requires go >= 1.26, but go.work lists go " +
			"1.25; to update it:\n\tgo work use\ngo: module . listed in go.work file requires go >= 1.26": "go list: module " +
			"../lib listed in go.work file requires go >= 1.26, but go.work lists go 1.25\nrun go work use to raise the " +
			"version, or set GOWORK=off",
		"err: exit status 1: stderr: go: ../go.work requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)": "go list: " +
			"../go.work requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\ninstall that version of Go, or lower " +
			"the version in go.work",
		"err: exit status 1: stderr: go: inconsistent vendoring in /p:\n\ta@v1: is explicitly required in go.mod, but " +
			"not marked as explicit in vendor/modules.txt": "go list: a@v1: is explicitly required in go.mod, but not marked " +
			"as explicit in vendor/modules.txt\nrun go mod vendor",
		"err: exit status 2: stderr: ": "go list: err: exit status 2\nrun go build ./... and repair what it reports",
	} {
		if e := GoList(errors.New(output)); e.Message+"\n"+e.Hint != want {
			t.Errorf("%s: got %s\n%s, want %s", output, e.Message, e.Hint, want)
		}
	}
}

func TestParsePosition(t *testing.T) {
	tests := map[string]token.Position{
		"/a/b.go:3:4":     {Filename: "/a/b.go", Line: 3, Column: 4},
		"/a/b.go:3":       {Filename: "/a/b.go", Line: 3},
		"/a/b.go":         {Filename: "/a/b.go"},
		"-":               {},
		"":                {},
		"example.com/a:-": {},
	}
	for text, want := range tests {
		if got := ParsePosition(text); got != want {
			t.Errorf("ParsePosition(%q) = %v, want %v", text, got, want)
		}
	}
}
