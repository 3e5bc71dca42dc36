package migrate

import (
	"testing"
	"testing/fstest"
)

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
