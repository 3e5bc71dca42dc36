package resolve_test

import (
	"testing"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

func TestPatternsMatchAsThoseOfTheGoCommand(t *testing.T) {
	for _, test := range []struct {
		pattern string
		matches []string
		not     []string
	}{
		{"a.b/c", []string{"a.b/c"}, []string{"a.b/c/d", "a.b"}},
		{"a.b/...", []string{"a.b", "a.b/c", "a.b/c/d"}, []string{"a.bc", "a", "a.b/vendor/c", "a.b/x/vendor/c",
			"a.b/\x00/c"}},
		{"a.b...", []string{"a.b", "a.bc", "a.b/c", "a.b/vendor"}, []string{"a.b/vendor/c", "x/a.b"}},
		{"a.b/.../v1", []string{"a.b/c/v1", "a.b/c/d/v1"}, []string{"a.b/v1", "a.b/c/v1alpha1", "a.b/vendor/v1"}},
		{"a.b/.../v1...", []string{"a.b/c/v1", "a.b/c/v1alpha1", "a.b/c/v1/d"}, []string{"a.b/v1", "a.b/c/vendor/v1"}},
		{"a.b/vendor/...", []string{"a.b/vendor", "a.b/vendor/c", "a.b/vendor/c/d"}, []string{"a.b", "a.b/vendor/c/vendor/d",
			"a.b/vendored"}},
		{"vendor/...", []string{"vendor", "vendor/c"}, []string{"vendored"}},
		{"a.b/vendor/c/...", []string{"a.b/vendor/c", "a.b/vendor/c/d"}, []string{"a.b/c"}},
		{"a+b/(c/...", []string{"a+b/(c", "a+b/(c/d"}, []string{"aab/(c"}},
		{"...", []string{"a", "a/b"}, []string{"vendor/a"}},
	} {
		p := resolve.NewPattern(test.pattern)
		for _, name := range test.matches {
			if !p.Matches(name) {
				t.Errorf("%s does not match %s", test.pattern, name)
			}
		}
		for _, name := range test.not {
			if p.Matches(name) {
				t.Errorf("%s matches %s", test.pattern, name)
			}
		}
	}
}
