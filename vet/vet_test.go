package vet

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

// TestRulesFindSeededFaults runs each rule on the package of its examples, which have good and bad code, and compares
// the corrections with the golden files.
func TestRulesFindSeededFaults(t *testing.T) {
	byName := map[string]*Rule{}
	var packages []string
	for _, rule := range Rules {
		byName[rule.Name] = rule
		packages = append(packages, rule.Name)
	}
	// One analyzer for all rules loads the packages once.
	all := &analysis.Analyzer{
		Name:     "all",
		Doc:      "run the rule with the name of the package",
		Requires: []*analysis.Analyzer{code.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			rule := byName[pass.Pkg.Path()]
			_, err := rule.analyzer().Run(pass)
			return nil, err
		},
	}
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), all, packages...)
}

// TestIgnoreCommentsNeedAReasonAndAnEffect checks the comments that disable rules.
func TestIgnoreCommentsNeedAReasonAndAnEffect(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzers[len(Analyzers)-1], "ignorecomment")
}
