package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestRulesFindSeededFaults runs each rule on the package of its examples, which have good and bad code.
func TestRulesFindSeededFaults(t *testing.T) {
	for i, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), Analyzers[i], rule.Name)
		})
	}
}
