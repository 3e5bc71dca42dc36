package migrate

import (
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// TestScopeAndLayoutArePeers: what kubebuilder was told of the whole project, kctrl knows too.
func TestScopeAndLayoutArePeers(t *testing.T) {
	p, err := readPeer(fstest.MapFS{
		"go.mod":  {Data: []byte("module example.com/o\n")},
		"PROJECT": {Data: []byte("version: \"3\"\nnamespaced: true\nmultigroup: true\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if proj := p.project(fstest.MapFS{}, scaffold.Build{}); !proj.Namespaced || !proj.MultiGroup {
		t.Errorf("the project is %+v", proj)
	}
}

func TestMainMovesOnlyWhereNoOtherPackageIs(t *testing.T) {
	for _, tc := range []struct{ name, beside, want string }{
		{name: "alone", want: oldMainFile},
		{name: "commands", beside: "cmd/root.go"},
		{name: "a program below", beside: "cmd/tool/main.go", want: oldMainFile},
		{name: "another file", beside: "version.go"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{
				"go.mod":    {Data: []byte("module example.com/o\n\nrequire sigs.k8s.io/controller-runtime v0.24.1\n")},
				"PROJECT":   {Data: []byte("version: \"3\"\n")},
				oldMainFile: {Data: []byte("package main\n")},
			}
			if tc.beside != "" {
				fsys[tc.beside] = &fstest.MapFile{Data: []byte("package cmd\n")}
			}
			p, err := readPeer(fsys)
			if err != nil {
				t.Fatal(err)
			}
			if p.mainFile != tc.want {
				t.Errorf("the main file is %q, want %q", p.mainFile, tc.want)
			}
		})
	}
}
