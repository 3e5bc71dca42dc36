package apitest

import (
	"flag"
	"fmt"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

var update = flag.Bool("update", false, "remove differences that are gone from testdata/differences.txt")

const differences = "testdata/differences.txt"

// load returns the types of the module's importable packages, as the module at dir resolves them.
func load(t *testing.T, dir string) map[string]*types.Package {
	t.Helper()
	config := &packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}
	loaded, err := packages.Load(config, module, module+"/pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*types.Package{}
	for _, p := range loaded {
		for _, err := range p.Errors {
			t.Errorf("%s: %v", p.PkgPath, err)
		}
		if !strings.Contains(p.PkgPath, "/internal") && !strings.Contains(p.PkgPath, "/testdata") {
			all[p.PkgPath] = p.Types
		}
	}
	return all
}

// TestAPIMatchesOriginal fails for an unlisted difference, and for a listed one that no longer exists.
func TestAPIMatchesOriginal(t *testing.T) {
	found := compare(load(t, "."), load(t, ".."))
	data, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			listed = append(listed, line)
		}
	}
	counts := map[string]int{}
	for _, change := range found {
		name, _, _ := strings.Cut(change, ": ")
		counts[name]++
		if !slices.Contains(listed, change) {
			t.Errorf("not listed: %s", change)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%3d differences in %s", counts[name], name)
	}
	t.Logf("%3d differences", len(found))
	gone := slices.DeleteFunc(slices.Clone(listed), func(line string) bool { return slices.Contains(found, line) })
	if len(gone) == 0 {
		return
	}
	if !*update {
		t.Errorf("these differences are gone; run go test . -update:\n%s", strings.Join(gone, "\n"))
		return
	}
	kept := strings.Join(slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool {
		return slices.Contains(gone, strings.TrimSpace(line))
	}), "\n")
	if err := os.WriteFile(differences, []byte(kept), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("removed %d lines from %s\n", len(gone), differences)
}
