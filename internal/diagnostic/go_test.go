package diagnostic

import "testing"

func TestHintsFitErrorsOfTheGoCommand(t *testing.T) {
	for text, want := range map[string]string{
		"cannot find module providing package example.com/a: import lookup disabled by -mod=vendor": "run go mod vendor",

		"go: -mod may only be set to readonly or vendor when in workspace mode": "",

		`invalid value "x" for flag -mod: -mod=x not supported`: "correct -mod in GOFLAGS",
	} {
		if got := GoHint(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
