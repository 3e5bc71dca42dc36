package vet

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of rules in docs/vet.md")

// TestDocumentationListsTheRules compares the list of rules in docs/vet.md with Rules.
func TestDocumentationListsTheRules(t *testing.T) {
	name := filepath.Join("..", "docs", "vet.md")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- rules: go test ./vet -run TestDocumentation -update -->\n", "<!-- end of rules -->\n"
	head, rest, found := strings.Cut(string(content), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the rules", name)
	}
	want := head + begin + list() + "\n" + end + tail
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s is out of date; run go test ./vet -run TestDocumentation -update", name)
	}
}

// list returns a section for each rule.
func list() string {
	var out strings.Builder
	for _, rule := range Rules {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n", rule.Name, rule.Reason)
		fmt.Fprintf(&out, "Correction: %s.\n\n%s\n\n", rule.Hint, strings.ReplaceAll(rule.Details, ". ", ".\n"))
		fmt.Fprintf(&out, "[Examples](../vet/testdata/src/%s)\n", rule.Name)
	}
	return out.String()
}
