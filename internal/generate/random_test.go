package generate_test

import (
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
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
	"github.com/kctrl-dev/kctrl/internal/testing/randomapi"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

const (
	randomModule = "example.com/random"
	// fixedSeeds and fixedGenericSeeds are the numbers of seeds with recordings of controller-gen. For other seeds,
	// controller-gen must run.
	fixedSeeds, fixedGenericSeeds = 4, 2
	// number of API groups of a seed; they are in one module, so that their imports are loaded once
	groups, genericGroups = 15, 6
)

// everyGroup are the arguments that generate deep copies and CRDs of all API groups of a module.
var everyGroup = []string{"object", "crd", "paths=./...", "output:crd:dir=crds"}

// TestRandomTypesAreThoseOfControllerGen generates random API groups, and compares deep copies and CRDs byte for byte.
// The deep copies compile and share no memory with the original.
func TestRandomTypesAreThoseOfControllerGen(t *testing.T) {
	seeds.Each(t, fixedSeeds, func(t *testing.T, seed uint64) {
		dir, types := filepath.Join(t.TempDir(), "random"), 0
		oracle.Module(t, dir, randomModule)
		for i := range uint64(groups) {
			number := (seed-1)*groups + i + 1
			sources, n := randomapi.New(number, randomModule, fmt.Sprintf("g%d", number))
			writeAll(t, dir, sources)
			types += n
		}
		t.Logf("%d types", types)
		got := outputBelow(t, dir, compat.Options{})
		if seed <= fixedSeeds || oracle.Runs() {
			compareFiles(t, peerOutput(t, oracle.Command{Dir: dir, Args: everyGroup, Fresh: seed > fixedSeeds}), got)
		}
		writeAll(t, dir, got)
		if seed > fixedSeeds {
			compareRuns(t, dir, got)
		}
		checkCopies(t, dir, randomModule)
	})
}

// compareRuns generates again while the output exists, with an empty cache and with a filled one.
func compareRuns(t *testing.T, dir string, first map[string]string) {
	t.Helper()
	store := incremental.Store{Dir: t.TempDir()}
	for _, run := range []string{"a run that fills a cache", "a run from a cache"} {
		if diff := cmp.Diff(first, outputBelow(t, dir, compat.Options{Cache: store})); diff != "" {
			t.Errorf("%s writes something else (-first +again):\n%s", run, diff)
		}
	}
}

// outputBelow returns the files that kctrl would write in dir.
func outputBelow(t *testing.T, dir string, o compat.Options) map[string]string {
	t.Helper()
	command, err := compat.Parse(everyGroup)
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	result, err := command.Run(t.Context(), o)
	if err != nil {
		t.Fatalf("kctrl: %v", err)
	}
	files := map[string]string{}
	for _, f := range result.Files() {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.ToSlash(rel)] = string(f.Content)
	}
	return files
}

func compareFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s differs (-controller-gen +kctrl):\n%s", name, diff)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("only kctrl writes %s", name)
		}
	}
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		oracle.Write(t, dir, name, content)
	}
}

// TestGenericTypesAreThoseWrittenOut generates API groups with generic types, and the same groups with a plain type in
// place of each instantiation. Both must have the CRDs that controller-gen generates for the plain types. Deep copies
// of the generic types must share no memory with the original.
func TestGenericTypesAreThoseWrittenOut(t *testing.T) {
	seeds.Each(t, fixedGenericSeeds, func(t *testing.T, seed uint64) {
		generic, plain := filepath.Join(t.TempDir(), "generic"), filepath.Join(t.TempDir(), "plain")
		oracle.Module(t, generic, randomModule)
		oracle.Module(t, plain, randomModule)
		types := 0
		for i := range uint64(genericGroups) {
			number := (seed-1)*genericGroups + i + 1
			of, written, n := randomapi.NewGeneric(number, randomModule, fmt.Sprintf("g%d", number))
			writeAll(t, generic, of)
			writeAll(t, plain, written)
			types += n
		}
		t.Logf("%d types", types)
		got, want := outputBelow(t, generic, compat.Options{}), outputBelow(t, plain, compat.Options{})
		if seed <= fixedGenericSeeds || oracle.Runs() {
			compareFiles(t, peerOutput(t, oracle.Command{Dir: plain, Args: everyGroup, Fresh: seed > fixedGenericSeeds}), want)
		}
		writeAll(t, generic, got)
		notCRDs := func(name, _ string) bool { return !strings.HasPrefix(name, "crds/") }
		maps.DeleteFunc(want, notCRDs)
		maps.DeleteFunc(got, notCRDs)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%d CRDs; they differ (-plain +generic):\n%s", len(want), diff)
		}
		checkCopies(t, generic, randomModule)
	})
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
	code, err := format.Source([]byte(strings.NewReplacer("// IMPORTS", imports.String(), "// KINDS",
		kinds.String()).Replace(string(template))))
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

// TestArgumentsKeepAliasesOfAliases checks a chain of aliases as a type argument. A field has the description of the
// alias to which the first alias refers.
func TestArgumentsKeepAliasesOfAliases(t *testing.T) {
	const header = "// +groupName=example.com\npackage v1\n\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n" +
		"// +kubebuilder:object:root=true\ntype Thing struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta " +
		"`json:\"metadata,omitempty\"`\n"
	const aliases = "type First = Second\n\n// Second is described.\ntype Second = "
	generic, plain := filepath.Join(t.TempDir(), "generic"), filepath.Join(t.TempDir(), "plain")
	oracle.Module(t, generic, randomModule)
	oracle.Module(t, plain, randomModule)
	oracle.Write(t, generic, "v1/types.go", header+"\tA List[First] `json:\"a\"`\n}\n\n// List is a list.\ntype List[T "+
		"any] struct {\n"+
		"\tB []T `json:\"b\"`\n}\n\n// Box is a box.\ntype Box[T any] struct {\n\tC T `json:\"c\"`\n}\n\n"+aliases+
		"Box[string]\n")
	oracle.Write(t, plain, "v1/types.go", header+"\tA List `json:\"a\"`\n}\n\n// List is a list.\ntype List struct {\n"+
		"\tB []First `json:\"b\"`\n}\n\n// Box is a box.\ntype Box struct {\n\tC string `json:\"c\"`\n}\n\n"+aliases+"Box\n")
	want, got := outputBelow(t, plain, compat.Options{}), outputBelow(t, generic, compat.Options{})
	const crd = "crds/example.com_things.yaml"
	if diff := cmp.Diff(want[crd], got[crd]); diff != "" || !strings.Contains(want[crd], "Second is described.") {
		t.Errorf("the CRDs differ (-plain +generic):\n%s\n%s", diff, want[crd])
	}
}
