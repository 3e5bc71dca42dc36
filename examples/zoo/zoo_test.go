package main

import (
	"slices"
	"testing"
)

// The simulator finds the bugs of these operators, and passes their twins. The command simulates all operators.
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

// Each operator has a name, a class and a sample of its own.
func TestOperatorsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range zoo {
		if s.name == "" || s.class == "" || s.setup == nil || len(s.samples) == 0 || names[s.name] {
			t.Errorf("%q is incomplete or there twice", s.name)
		}
		names[s.name] = true
	}
	if len(zoo) < 24 {
		t.Errorf("%d operators, want 24", len(zoo))
	}
}
