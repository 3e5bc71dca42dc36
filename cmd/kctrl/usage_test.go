package main

import "testing"

func TestNearestIsOneSlipAway(t *testing.T) {
	names := []string{"api", "gen", "generate", "kind", "manifests", "status", "version"}
	for word, want := range map[string]string{
		"pai": "api", "knid": "kind", "versoin": "version", "manifest": "manifests", "Status": "status", "generaet": "generate",
		"run": "", "plural": "", "": "", "x": "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
