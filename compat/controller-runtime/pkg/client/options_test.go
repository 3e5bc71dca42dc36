package client

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
)

// TestOptionsCanBeCompared checks that go-cmp can compare options as with controller-runtime v0.24, which has no logger
// in them, and that a logger can be set as with v0.25.
func TestOptionsCanBeCompared(t *testing.T) {
	if diff := cmp.Diff(Options{FieldOwner: "a"}, Options{FieldOwner: "a"}); diff != "" {
		t.Error(diff)
	}
	var wrote string
	options := Options{Log: funcr.New(func(_, text string) { wrote = text }, funcr.Options{})}
	options.Log.Info("sent")
	if !strings.Contains(wrote, "sent") {
		t.Errorf("the logger wrote %q", wrote)
	}
}
