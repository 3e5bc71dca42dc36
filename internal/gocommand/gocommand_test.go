package gocommand

import (
	"context"
	"errors"
	"testing"
)

func TestReason(t *testing.T) {
	for output, want := range map[string]string{
		"":                     "",
		"# example.com/shop\n": "",
		"go: downloading a v1\n\n# shop\na.go:1:1: no\na.go:2:1: no\n": "a.go:1:1: no",
		"go: updates needed; to update it:\n\tgo mod tidy\n":           "go: updates needed; to update it: go mod tidy",
		"an end without a remedy:\n":                                   "an end without a remedy:",
	} {
		got := ""
		if err := Reason(output); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}

func TestOutput(t *testing.T) {
	if out, err := Output(t.Context(), t.TempDir(), "env", "GOOS"); err != nil || out == "" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := Output(t.Context(), t.TempDir(), "list", "./..."); err == nil || err.Error() == "exit status 1" {
		t.Errorf("got %v, want the reason", err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Output(ctx, t.TempDir(), "env"); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}
