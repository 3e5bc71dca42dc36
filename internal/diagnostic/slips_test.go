package diagnostic_test

import (
	"testing"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func TestSlips(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"lenght", "length", 1}, {"requiered", "required", 1}, {"abc", "axc", 1}, {"kitten", "sitting", 3}}
	for _, test := range tests {
		if got := diagnostic.Slips(test.a, test.b); got != test.want {
			t.Errorf("diagnostic.Slips(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
