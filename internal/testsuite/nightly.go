package main

import "strings"

// test is a test that only make test-all runs.
type test struct {
	pkg     string // directory of the package
	pattern string // as go test -skip takes it
	reason  string // why make test does without it
	guard   string // the test that guards the same promise in make test
}

// nightly lists the tests that only make test-all runs.
var nightly = []test{}

// onRealServer lists the tests that make test runs on the real API server, because it behaves differently there. All
// other tests run in memory; make test-all runs all of them on both.
var onRealServer = []real{}

// expensive lists the tests that may use more than limit CPU seconds in make test.
var expensive = []struct{ pkg, test, reason string }{}

// skipped returns the -skip pattern of a package in make test.
func skipped(pkg string) string {
	var patterns []string
	for _, t := range nightly {
		if t.pkg == pkg {
			patterns = append(patterns, t.pattern)
		}
	}
	return strings.Join(patterns, "|")
}

// chosen returns the -run pattern of a package in a step.
func chosen(st step, pkg string) string {
	var patterns []string
	for _, p := range st.patterns {
		if p.pkg == pkg {
			patterns = append(patterns, p.run)
		}
	}
	return strings.Join(patterns, "|")
}
