package migrate

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
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
	if proj := p.project(fstest.MapFS{}, project.Build{}, nil); !proj.Namespaced || !proj.MultiGroup {
		t.Errorf("the project is %+v", proj)
	}
}

// TestGroupsAreThoseOfTheCode: a PROJECT whose groups are not those that the types are of is corrected.
func TestGroupsAreThoseOfTheCode(t *testing.T) {
	const kinds = "\n\ntype Queue struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n}\n"
	fsys := fstest.MapFS{
		"go.mod":               {Data: []byte("module example.com/o\n")},
		"api/v1/queue.go":      {Data: []byte("// +groupName=rabbit.io\npackage v1" + kinds)},
		"api/v2/queue.go":      {Data: []byte("package v2\n\nvar GroupVersion = schema.GroupVersion{Group: \"mq.rabbit.io\", Version: \"v2\"}" + kinds)},
		"api/v3/queue.go":      {Data: []byte("// +groupName=queues.other.org\npackage v3" + kinds)},
		"api/v4/other_kind.go": {Data: []byte("// +groupName=nobody.io\npackage v4\n")},
		"PROJECT": {Data: []byte(`version: "3"
domain: rabbit.io
resources:
- {group: rabbit.io, domain: rabbit.io, version: v1, kind: Queue, path: example.com/o/api/v1}
- {group: mq, domain: rabbit.io, version: v2, kind: Queue, path: example.com/o/api/v2}
- {group: queues, domain: rabbit.io, version: v3, kind: Queue, path: example.com/o/api/v3}
- {group: mq, domain: rabbit.io, version: v4, kind: Queue, path: example.com/o/api/v4}
`)},
	}
	p, err := readPeer(fsys)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := kindsIn(fsys, p.Repo)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.project(fsys, project.Build{}, declared).Resources {
		got = append(got, r.Group+"|"+r.Domain+"|"+r.Version)
	}
	if want := []string{"|rabbit.io|v1", "mq|rabbit.io|v2", "queues|other.org|v3", "mq|rabbit.io|v4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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
