package compat_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/testing/module"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// ordinary are field types for which controller-gen generates apply configurations, and odd are other types.
var (
	ordinary = []string{
		"string", "int", "int32", "int64", "bool", "uint8", "byte", "[]byte", "float64", "metav1.Time", "metav1.Duration",
		"*metav1.LabelSelector",
		"metav1.Condition", "metav1.OwnerReference", "intstr.IntOrString", "runtime.RawExtension", "resource.Quantity",
		"corev1.LocalObjectReference", "corev1.ResourceList",
		"common.Name", "common.Names", "common.By", "common.Struct", "Local", "LocalName", "LocalBy", "*Local", "types.UID",
		"Locals",
	}
	odd = []string{
		"any", "error", "complex128", "chan int", "func()", "metav1.ObjectMeta", "json.RawMessage", "common.Alias",
		"common.Box[string]", "common.Box[common.Struct]",
		"time.Duration", "unsafe.Pointer", "[3]string", "int8", "rune", "Itself", "[]*string", "*[]string", "*[]*Local",
		"*map[string]Local", "*[]map[string]string",
	}
)

// randomFieldType returns a valid field type.
func randomFieldType(r *rand.Rand, named []string, depth int) string {
	if depth == 0 {
		return named[r.IntN(len(named))]
	}
	inner := randomFieldType(r, named, depth-1)
	// controller-gen's code for lists and maps of pointers, and for pointers to them, does not compile.
	value := strings.TrimPrefix(inner, "*")
	switch r.IntN(7) {
	case 0:
		return "[]" + value
	case 1:
		return "map[string]" + value
	case 2:
		if !strings.ContainsAny(inner, "[]") && !strings.Contains(inner, "Names") && !strings.Contains(inner, "By") &&
			!strings.Contains(inner, "List") && inner != "Locals" {
			return "*" + value
		}
	}
	return inner
}

// oddFieldType returns a field type that may be unsupported.
func oddFieldType(r *rand.Rand, depth int) string {
	inner := randomFieldType(r, slices.Concat(ordinary, odd), depth)
	switch r.IntN(9) {
	case 0:
		return "map[common.Name]" + inner
	case 1:
		return "map[LocalName]" + inner
	case 2:
		return "[3]" + inner
	case 3:
		return "struct{ In " + inner + " `json:\"in\"` }"
	case 4:
		return "**" + inner
	}
	return inner
}

// randomModule creates a module for packages with random fields, and a package for them to refer to.
func randomModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	oracle.Module(t, dir, "example.com/random")
	oracle.Write(t, dir, "common/common.go", `package common

type (
	Name   string
	Names  []Name
	By     map[Name]Struct
	Alias  = Struct
	Struct struct {
		Inner  `+"`json:\",inline\"`"+`
		A Name `+"`json:\"a\"`"+`
		B []Name `+"`json:\"b,omitempty\"`"+`
		C map[string]Name `+"`json:\"c,omitempty\"`"+`
	}
	Inner struct {
		Wait *Name `+"`json:\"wait,omitempty\"`"+`
	}
	Box[T any] struct {
		Value T `+"`json:\"value\"`"+`
	}
)
`)
	return dir
}

// writeRandomPackage writes a package whose kind has fields of random types, and returns its directory.
func writeRandomPackage(t *testing.T, dir string, i int, r *rand.Rand, inlined bool,
	fieldType func(r *rand.Rand) string) string {
	t.Helper()
	imports := map[string]string{
		"metav1.": "k8s.io/apimachinery/pkg/apis/meta/v1", "intstr.": "k8s.io/apimachinery/pkg/util/intstr",
		"runtime.": "k8s.io/apimachinery/pkg/runtime",
		"json.":    "encoding/json", "resource.": "k8s.io/apimachinery/pkg/api/resource", "corev1.": "k8s.io/api/core/v1",
		"common.": "example.com/random/common",
		"time.":   "time", "types.": "k8s.io/apimachinery/pkg/types", "unsafe.": "unsafe",
		"schema.": "k8s.io/apimachinery/pkg/runtime/schema",
	}
	fields := func(name string) string {
		text := ""
		if inlined && r.IntN(3) == 0 {
			text += "\tcommon.Struct `json:\",inline\"`\n"
		}
		for n := range 1 + r.IntN(4) {
			of := fieldType(r)
			// controller-gen does not terminate if a type contains itself.
			if name == "L" && strings.Contains(of, "Local") {
				of = "string"
			}
			text += fmt.Sprintf("\t// %s%d is one.\n\t%s%d %s `json:\"%s%d,omitempty\"`\n", name, n, name, n, of,
				strings.ToLower(name), n)
		}
		return text
	}
	body := "type Thing struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta " +
		"`json:\"metadata,omitempty\"`\n\tSpec ThingSpec `json:\"spec\"`\n}\n\n" +
		"var SchemeGroupVersion = schema.GroupVersion{Group: \"random.example.com\", Version: \"v1\"}\n\n" +
		"type Local struct {\n\tA LocalName `json:\"a\"`\n" + fields("L") + "}\n\ntype LocalName string\n\ntype LocalBy " +
		"map[LocalName]Local\n\ntype Locals []Local\n\n" +
		"type Itself struct {\n\tMore []Itself `json:\"more\"`\n}\n\ntype ThingSpec struct {\n" + fields("F") + "}\n"
	text := "// +kubebuilder:ac:generate=true\n// +kubebuilder:object:generate=true\n// " +
		"+groupName=random.example.com\npackage v1\n\n"
	for _, prefix := range slices.Sorted(maps.Keys(imports)) {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(prefix)).MatchString(body) {
			text += fmt.Sprintf("import %s %q\n", strings.TrimSuffix(prefix, "."), imports[prefix])
		}
	}
	name := fmt.Sprintf("r%d/v1", i)
	oracle.Write(t, dir, name+"/types.go", text+"\n// +kubebuilder:object:root=true\n\n// Thing is applied.\n"+body)
	return name
}

// buildAll compiles all packages of a module.
func buildAll(t *testing.T, dir string) {
	t.Helper()
	if out, err := goCommand(t, dir, "build", "-mod=mod", "-gcflags=-e", "./..."); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// goCommand returns the output of the go command in dir. It uses the same flags as all other builds.
func goCommand(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir, command.Env = dir, append(os.Environ(), module.Offline(t))
	out, err := command.CombinedOutput()
	return string(out), err
}

// fixedSeeds is the number of seeds with recordings of controller-gen. For other seeds, controller-gen must run.
const fixedSeeds = 1

// TestRandomApplyConfigurationsAreThoseOfControllerGen compares the apply configurations of random packages byte for
// byte, and compiles them.
func TestRandomApplyConfigurationsAreThoseOfControllerGen(t *testing.T) {
	const packages = 4
	seeds.Each(t, fixedSeeds, func(t *testing.T, seed uint64) {
		dir := randomModule(t)
		for i := range packages {
			r := rand.New(rand.NewPCG((seed-1)*packages+uint64(i), 5))
			writeRandomPackage(t, dir, i, r, false, func(r *rand.Rand) string { return randomFieldType(r, ordinary, r.IntN(4)) })
		}
		theirs := filepath.Join(t.TempDir(), "theirs")
		if err := os.CopyFS(theirs, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		const line = "object applyconfiguration paths=./..."
		store := incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
		result, _ := results(t, dir, line, store)
		if err := result.Write(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(result.Files(), ranPlain(t, line, dir).Files()); diff != "" {
			t.Errorf("another run differs (-first +again):\n%s", diff)
		}
		if seed <= fixedSeeds || oracle.Runs() {
			compareRandom(t, theirs, dir, oracle.Command{Dir: theirs, Args: strings.Fields(line), Fresh: seed > fixedSeeds})
		}
		buildAll(t, dir)
	})
}

func compareRandom(t *testing.T, theirs, ours string, c oracle.Command) {
	t.Helper()
	if _, err := peerResult(t, c); err != nil {
		t.Fatalf("controller-gen: %v", err)
	}
	want, got := oracle.Files(t, theirs), oracle.Files(t, ours)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		// If another package has no deep copies, the deep copies of controller-gen do not compile.
		if diff := cmp.Diff(want[name], got[name]); diff != "" && !strings.HasSuffix(name, "/zz_generated.deepcopy.go") {
			source := filepath.ToSlash(filepath.Join(strings.SplitN(name, "/", 2)[0], "v1/types.go"))
			t.Errorf("%s (-controller-gen +kctrl):\n%s\n%s", name, diff, got[source])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, controller-gen writes %d", len(got), len(want))
	}
}

// TestApplyConfigurationsCompileOrFailWithAPosition generates code for fields of any type, inlined or not. The code
// must compile, or the error must have a position.
func TestApplyConfigurationsCompileOrFailWithAPosition(t *testing.T) {
	const packages = 6
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		dir, made := randomModule(t), 0
		for i := range packages {
			r := rand.New(rand.NewPCG((seed-1)*packages+uint64(i), 3))
			name := writeRandomPackage(t, dir, i, r, true, func(r *rand.Rand) string { return oddFieldType(r, r.IntN(3)) })
			_, err := run(t, dir, []string{"object", "applyconfiguration", "paths=./" + name}, compat.Options{})
			if err == nil {
				made++
			}
			for _, single := range diagnostic.All(err) {
				if d, ok := errors.AsType[*diagnostic.Error](single); !ok || d.Pos.Line == 0 ||
					!strings.HasPrefix(d.Pos.Filename, name) {
					t.Errorf("%s: %v has no position there\n%s", name, single, oracle.Files(t, filepath.Join(dir, name))["types.go"])
				}
			}
		}
		if made == 0 && seed == 1 {
			t.Error("no package has apply configurations")
		}
		buildAll(t, dir)
	})
}
