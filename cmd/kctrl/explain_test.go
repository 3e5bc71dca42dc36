package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/markers.md and the expected output in testdata/script")

// TestMarkersReference compares docs/markers.md with the output of kctrl explain. With -update it writes the file.
func TestMarkersReference(t *testing.T) {
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"explain", "--all", "--format", "markdown"},
		newStreams(strings.NewReader(""), &out, &errs))
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	name := filepath.Join("..", "..", "docs", "markers.md")
	if *update {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("docs/markers.md is out of date; run go test ./cmd/kctrl -run TestMarkersReference -update (-file "+
			"+printed):\n%s", diff)
	}
}
