package generate_test

import (
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

var genericSeeds = flag.Int("generic-seeds", 12, "how many random API groups with generic types to compare with plain ones")

// TestGenericTypesAreThoseWrittenOut makes API groups with generic types, and the same groups with a type in the place of
// each instantiation. CRDs of both are the same, and those of controller-gen for the second. Deep copies of the first share
// nothing with the original.
func TestGenericTypesAreThoseWrittenOut(t *testing.T) {
	oracle.Binary(t)
	const module = "example.com/random"
	for first := *firstSeed; first < *firstSeed+*genericSeeds; first += batch {
		last := min(first+batch, *firstSeed+*genericSeeds) - 1
		t.Run(fmt.Sprintf("seeds %d to %d", first, last), func(t *testing.T) {
			generic, plain := filepath.Join(t.TempDir(), "generic"), filepath.Join(t.TempDir(), "plain")
			oracle.Module(t, generic, module)
			oracle.Module(t, plain, module)
			types := 0
			for seed := first; seed <= last; seed++ {
				of, written, n := randomapi.NewGeneric(uint64(seed), module, fmt.Sprintf("g%d", seed))
				types += n
				for name, source := range of {
					oracle.Write(t, generic, name, source)
				}
				for name, source := range written {
					oracle.Write(t, plain, name, source)
				}
			}
			compareGeneric(t, generic, plain)
			checkCopies(t, generic, module)
			t.Logf("%d types", types)
		})
	}
}

func compareGeneric(t *testing.T, generic, plain string) {
	args := []string{"object", "crd", "paths=./...", "output:crd:dir=crds"}
	want := peerOutput(t, plain, args)
	runCommand(t, plain, args)
	if diff := cmp.Diff(want, outputOf(t, plain, want)); diff != "" {
		t.Errorf("output for plain types differs (-controller-gen +kctrl):\n%s", diff)
	}
	runCommand(t, generic, args)
	notCRDs := func(name, _ string) bool { return !strings.HasPrefix(name, "crds/") }
	maps.DeleteFunc(want, notCRDs)
	got := oracle.Files(t, generic)
	maps.DeleteFunc(got, notCRDs)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s differs (-plain +generic):\n%s", name, diff)
		}
	}
	if len(want) != len(got) || len(want) == 0 {
		t.Errorf("%d CRDs of generic types, %d of plain ones", len(got), len(want))
	}
}

// runCommand runs kctrl in dir.
func runCommand(t *testing.T, dir string, args []string) {
	t.Helper()
	command, err := compat.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir})
	if err != nil {
		t.Fatalf("kctrl: %v", err)
	}
	if err := result.Write(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// outputOf returns those of the files in dir that are expected.
func outputOf(t *testing.T, dir string, expected map[string]string) map[string]string {
	t.Helper()
	found := oracle.Files(t, dir)
	maps.DeleteFunc(found, func(name, _ string) bool { _, ok := expected[name]; return !ok })
	return found
}

// checkCopies compiles the packages in dir with their deep copies, and copies a full object of every kind.
func checkCopies(t *testing.T, dir, module string) {
	var imports, kinds strings.Builder
	declaration := regexp.MustCompile(`(?m)^func \(in \*(\w+)\) DeepCopyObject\(`)
	for name, source := range oracle.Files(t, dir) {
		if folder, ok := strings.CutSuffix(name, "/zz_generated.deepcopy.go"); ok {
			alias := strings.ReplaceAll(folder, "/", "_")
			found := declaration.FindAllStringSubmatch(source, -1)
			if len(found) == 0 {
				alias = "_"
			}
			fmt.Fprintf(&imports, "import %s %q\n", alias, module+"/"+folder)
			for _, m := range found {
				fmt.Fprintf(&kinds, "check(&%s.%s{})\n", alias, m[1])
			}
		}
	}
	template, err := os.ReadFile(filepath.Join("testdata", "copies.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := format.Source([]byte(strings.NewReplacer("// IMPORTS", imports.String(), "// KINDS", kinds.String()).Replace(string(template))))
	if err != nil {
		t.Fatal(err)
	}
	oracle.Write(t, dir, "check/main.go", string(code))
	command := exec.CommandContext(t.Context(), "go", "run", "./check")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("deep copies: %v\n%s", err, out)
	}
}
