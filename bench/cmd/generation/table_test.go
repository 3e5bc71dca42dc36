package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

func TestTablesHaveRatiosOfMedians(t *testing.T) {
	usage := func(seconds, mebi int) corpus.Usage {
		return corpus.Usage{Wall: time.Duration(seconds) * time.Second, CPU: 2 * time.Duration(seconds) * time.Second,
			RSS: int64(mebi) << 20}
	}
	var r results
	r.add(everything, "a", []corpus.Usage{usage(9, 1), usage(2, 100), usage(4, 50)}, []corpus.Usage{usage(1, 5)})
	r.add(everything, "b", []corpus.Usage{usage(6, 10)}, []corpus.Usage{usage(3, 10)})
	r.add(everything, "10 kinds", []corpus.Usage{usage(1, 1)}, []corpus.Usage{usage(1, 1)})
	r.add(everything, "1000 kinds", []corpus.Usage{usage(200, 1)}, []corpus.Usage{usage(50, 1)})
	var out strings.Builder
	r.print(&out, 1000)
	for _, row := range []string{
		"| a | 4.000 | 8.000 | 50 | 1.000 | 2.000 | 5 | 0.250 | 0.250 | 0.100 |",
		"| " + everything + " | 10.000 | 20.000 | 50 | 4.000 | 8.000 | 10 | 0.400 | 0.400 | 0.200 |",
		"| kctrl, wall | 100.00 | 50.00 | 0.50 |",
	} {
		if !strings.Contains(out.String(), row+"\n") {
			t.Errorf("no row %s in:\n%s", row, out.String())
		}
	}
}

func TestFieldIsAddedToTheNamedType(t *testing.T) {
	source := "package v1\n\ntype Other struct {\n}\n\ntype Spec struct {\n\tA int\n}\n"
	got, err := withField(source, "Spec", 3)
	want := strings.Replace(source, "\tA int", "\t// edited3 was added.\n\t// +optional\n\tEdited3 []string "+
		"`json:\"edited3,omitempty\"`\n\tA int", 1)
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := withField(source, "Status", 1); err == nil {
		t.Error("a missing type was edited")
	}
}

func TestGeneratedProjectHasAllKinds(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	if err := writeKinds(dir, 23); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "api", "v1", "types*.go"))
	if err != nil || len(names) != 3 {
		t.Fatalf("%v, %v", names, err)
	}
	kinds := 0
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kinds += strings.Count(string(source), "+kubebuilder:subresource:status")
	}
	if kinds != 23 {
		t.Errorf("%d kinds, want 23", kinds)
	}
}
