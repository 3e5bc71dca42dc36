package gomod_test

import (
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
)

func TestUsesOlderKubernetes(t *testing.T) {
	parse := func(requirements string) *modfile.File {
		file, err := modfile.Parse("go.mod", []byte("module x\n\nrequire (\n"+requirements+")\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	newest := parse("k8s.io/apimachinery v0.37.2\nk8s.io/client-go v0.37.2\nk8s.io/klog/v2 v2.140.0\n" +
		"k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2\n")
	for _, test := range []struct {
		requirements string
		older        bool
	}{
		{"k8s.io/apimachinery v0.37.2\n", false},
		{"k8s.io/apimachinery v0.37.0\n", false},
		{"k8s.io/apimachinery v0.36.4 // pinned\n", true},
		{"k8s.io/apimachinery v0.35.0\nk8s.io/klog/v2 v2.130.1\n", true},
		{"k8s.io/apimachinery v0.36.0-rc.1\n", true},
		{"k8s.io/apimachinery v0.37.2\nk8s.io/client-go v0.36.0\n", true},
		{"k8s.io/apimachinery v0.34.9\n", false},
		{"k8s.io/apimachinery v0.36.0\nk8s.io/client-go v0.34.0\n", false},
		{"k8s.io/apimachinery v0.38.0\nk8s.io/utils v0.0.0-20240102154912-e7106e64919e\n", false},
		{"", false},
	} {
		if got := gomod.UsesOlderKubernetes(parse(test.requirements), newest); got != test.older {
			t.Errorf("%q: got %v", test.requirements, got)
		}
	}
}
