package diagnostic_test

import (
	"testing"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func TestSlips(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"lenght", "length", 1}, {"requiered", "required", 1}, {"abc", "axc", 1},
		{"kitten", "sitting", 3}}
	for _, test := range tests {
		if got := diagnostic.Slips(test.a, test.b); got != test.want {
			t.Errorf("diagnostic.Slips(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestNearIsFewSlipsAway(t *testing.T) {
	names := []string{"api", "gen", "generate", "kind", "manifests", "status", "version"}
	for word, want := range map[string]string{
		"pai": "api", "knid": "kind", "versoin": "version", "manifest": "manifests", "Status": "status",
		"generaet": "generate",
		"run":      "", "plural": "", "": "", "x": "",
	} {
		if got, ok := diagnostic.Near(word, names); ok != (want != "") || ok && got != want {
			t.Errorf("Near(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}
