package vet_test

import (
	"path/filepath"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/vet"
)

// TestExamplesHaveNoFindings checks that no rule has a finding in the examples.
func TestExamplesHaveNoFindings(t *testing.T) {
	for _, name := range []string{"examples", "examples/cronjob"} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			result, err := vet.Run(t.Context(), vet.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range result.Problems {
				t.Error(problem)
			}
			for _, f := range result.Findings {
				t.Error(f)
			}
		})
	}
}
