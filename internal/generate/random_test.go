package generate_test

import (
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
	"github.com/kctrl-dev/kctrl/internal/testing/randomapi"
)

var (
	seeds     = flag.Int("seeds", 60, "how many random API groups to compare with controller-gen")
	firstSeed = flag.Int("first-seed", 1, "the seed of the first")
)

// batch is how many groups are generated from one module.
const batch = 60

// TestRandomTypesAreThoseOfControllerGen makes API groups from random numbers, and compares deep copies and CRDs byte for
// byte.
func TestRandomTypesAreThoseOfControllerGen(t *testing.T) {
	oracle.Binary(t)
	types := 0
	for first := *firstSeed; first < *firstSeed+*seeds; first += batch {
		last := min(first+batch, *firstSeed+*seeds) - 1
		t.Run(fmt.Sprintf("seeds %d to %d", first, last), func(t *testing.T) { types += compareRandom(t, first, last) })
	}
	t.Logf("%d types", types)
}

// compareRandom compares the groups of some seeds, and returns how many types they have.
func compareRandom(t *testing.T, first, last int) int {
	const module = "example.com/random"
	dir, types := filepath.Join(t.TempDir(), "random"), 0
	oracle.Module(t, dir, module)
	for seed := first; seed <= last; seed++ {
		sources, n := randomapi.New(uint64(seed), module, fmt.Sprintf("g%d", seed))
		types += n
		for name, source := range sources {
			oracle.Write(t, dir, name, source)
		}
	}
	args := []string{"object", "crd", "paths=./...", "output:crd:dir=crds"}
	command, err := compat.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir})
	if err != nil {
		t.Fatalf("kctrl: %v", err)
	}
	got := map[string]string{}
	for _, f := range result.Files() {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.ToSlash(rel)] = string(f.Content)
	}
	want := peerOutput(t, dir, args)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s differs (-controller-gen +kctrl):\n%s", name, diff)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("only kctrl writes %s", name)
	}
	checkCopies(t, dir, module)
	return types
}

// peerOutput runs controller-gen in dir, and returns what it writes.
func peerOutput(t *testing.T, dir string, args []string) map[string]string {
	t.Helper()
	before := oracle.Files(t, dir)
	command := exec.CommandContext(t.Context(), oracle.Binary(t), args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	written := oracle.Files(t, dir)
	maps.DeleteFunc(written, func(name, _ string) bool { _, known := before[name]; return known })
	return written
}
