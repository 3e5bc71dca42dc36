package main

import (
	"slices"
	"testing"
)

// TestFindsBugsAndPassesTwins simulates a sample of the operators. The command simulates all of them.
func TestFindsBugsAndPassesTwins(t *testing.T) {
	for _, name := range []string{"early-phase", "late-finalizer", "swallowed", "user-spec"} {
		i := slices.IndexFunc(zoo, func(s specimen) bool { return s.name == name })
		if i < 0 {
			t.Fatalf("no operator %s", name)
		}
		for _, fixed := range []bool{false, true} {
			report, err := zoo[i].simulate(t, fixed)
			if err != nil {
				t.Fatal(err)
			}
			if found := len(report.Failures) > 0; found == fixed {
				t.Errorf("%s (fixed %t): %d failures", name, fixed, len(report.Failures))
			}
		}
	}
}

// TestOperatorsAreComplete checks that each operator has its own name, class and sample.
func TestOperatorsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range zoo {
		if s.name == "" || s.class == "" || s.setup == nil || len(s.samples) == 0 || names[s.name] {
			t.Errorf("%q is incomplete or a duplicate", s.name)
		}
		names[s.name] = true
	}
	if len(zoo) < 24 {
		t.Errorf("%d operators, want 24", len(zoo))
	}
}
