package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// Each test in this file is a row of docs/controller-gen.md: a mistake in controller-gen, and kctrl's output.

// kind begins an API package with the kind Thing, whose spec each test declares.
const kind = `// +kubebuilder:object:generate=true
// +groupName=x.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
type Thing struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec ThingSpec ` + "`json:\"spec\"`" + `
}
`

const thingCRD = "out/x.example.com_things.yaml"

// thing creates a module with the package api/v1.
func thing(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	oracle.Module(t, dir, "example.com/thing")
	oracle.Write(t, dir, "api/v1/types.go", source)
	return dir
}

// runTheirs runs controller-gen. It returns the written files, the output, and whether it failed.
func runTheirs(t *testing.T, source, generator string) (written map[string]string, printed string, failed bool) {
	t.Helper()
	return ranTheirs(t, oracle.Command{Dir: thing(t, source), Args: theirArgs(generator)})
}

func theirArgs(generator string) []string {
	return []string{generator, "paths=./...", "output:dir=out"}
}

func ranTheirs(t *testing.T, c oracle.Command) (written map[string]string, printed string, failed bool) {
	t.Helper()
	result := oracle.Run(t, c)
	return result.Files, result.Stdout + result.Stderr, result.Failed
}

// runOurs runs kctrl gen with the same arguments.
func runOurs(t *testing.T, source, generator string) (written map[string]string, err error) {
	t.Helper()
	dir := thing(t, source)
	before := oracle.Files(t, dir)
	command, err := compat.Parse(theirArgs(generator))
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir})
	if err == nil {
		err = result.Write(t.Context(), "")
	}
	written = oracle.Files(t, dir)
	for name := range before {
		delete(written, name)
	}
	return written, err
}

// enumOf returns the values of the only enum in a CRD.
func enumOf(t *testing.T, crd string) string {
	t.Helper()
	_, rest, found := strings.Cut(crd, "enum:\n")
	if !found {
		t.Fatalf("no enum in:\n%s", crd)
	}
	values, _, _ := strings.Cut(rest, "type:")
	return strings.Join(strings.Fields(strings.ReplaceAll(values, "- ", "")), " ")
}

func TestEnumConstantMayRepeatTheLineAbove(t *testing.T) {
	source := kind + "type ThingSpec struct {\n\tColor Color `json:\"color\"`\n}\n\n// +k8s:enum\ntype Color string\n\n" +
		"const (\n\tRed Color = \"red\"\n\tAlsoRed\n\tBlue Color = \"blue\"\n)\n"
	if _, printed, failed := runTheirs(t, source, "crd"); !failed ||
		!strings.Contains(printed, "panic: runtime error: index out of range") {
		t.Errorf("controller-gen does not panic: %s", printed)
	}
	written, err := runOurs(t, source, "crd")
	if err != nil {
		t.Fatal(err)
	}
	if got := enumOf(t, written[thingCRD]); got != "blue red" {
		t.Errorf("got %s", got)
	}
}

func TestEnumConstantMayBeComputed(t *testing.T) {
	source := kind + "type ThingSpec struct {\n\tColor Color `json:\"color\"`\n}\n\nconst dark = \"dark-\"\n\n// " +
		"+k8s:enum\ntype Color string\n\n" +
		"const (\n\tRed     Color = \"red\"\n\tDarkRed Color = dark + \"red\"\n\tBlue          = " +
		"Color(\"blue\")\n\tDefault       = Red\n)\n"
	theirs, _, failed := runTheirs(t, source, "crd")
	if got := enumOf(t, theirs[thingCRD]); failed || got != "red" {
		t.Errorf("controller-gen has %s", got)
	}
	written, err := runOurs(t, source, "crd")
	if err != nil {
		t.Fatal(err)
	}
	if got := enumOf(t, written[thingCRD]); got != "blue dark-red red" {
		t.Errorf("got %s", got)
	}
}

func TestDeepCopiesOfGenericTypesCompile(t *testing.T) {
	source := "// +kubebuilder:object:generate=true\npackage v1\n\ntype Box[T any] struct {\n\tLabels " +
		"map[string]string\n}\n\ntype Boxes struct {\n\tAll []Box[int]\n}\n"
	theirs, _, failed := runTheirs(t, source, "object")
	if code := theirs["out/zz_generated.deepcopy.go"]; failed ||
		!strings.Contains(code, "func (in *Box) DeepCopyInto(out *Box)") {
		t.Errorf("controller-gen writes:\n%s", code)
	}
	written, err := runOurs(t, source, "object")
	if err != nil {
		t.Fatal(err)
	}
	code := written["out/zz_generated.deepcopy.go"]
	for _, want := range []string{"func (in *Box[T]) DeepCopyInto(out *Box[T]) {", "*out = make([]Box[int], len(*in))"} {
		if !strings.Contains(code, want) {
			t.Errorf("no %s in\n%s", want, code)
		}
	}
}

func TestTypesThatInstantiateThemselvesWithoutEnd(t *testing.T) {
	source := kind + "type ThingSpec struct {\n\tA A[string] `json:\"a\"`\n}\n\ntype A[T any] struct {\n\tNext *A[[]T] " +
		"`json:\"next,omitempty\"`\n}\n"
	if written, err := runOurs(t, source, "crd"); err == nil || len(written) > 0 {
		t.Errorf("got %v, written: %v", err, written)
	}
}

func TestNothingIsWrittenIfAnythingIsWrong(t *testing.T) {
	source := kind + "type ThingSpec struct {\n\tNumbers map[int]string `json:\"numbers\"`\n\tOther   string\n}\n"
	theirs, _, failed := runTheirs(t, source, "crd")
	if crd := theirs[thingCRD]; !failed || !strings.Contains(crd, "numbers: {}\n") || strings.Contains(crd, "other") {
		t.Errorf("controller-gen failed: %v, and writes:\n%s", failed, crd)
	}
	written, err := runOurs(t, source, "crd")
	if got := report(err); !strings.Contains(got, "types.go:15:") || !strings.Contains(got, "types.go:16:") ||
		len(written) > 0 {
		t.Errorf("got %q, written: %v", got, written)
	}
}

// recursive has two types that contain each other. controller-gen starts with either of them, in map order.
const recursive = kind + "type ThingSpec struct {\n\tA *A `json:\"a\"`\n\tB *B `json:\"b\"`\n}\n\n" +
	"type A struct {\n\tB *B `json:\"b,omitempty\"`\n}\n\ntype B struct {\n\tA *A `json:\"a,omitempty\"`\n}\n"

func TestRecursiveTypesAreTheSameInEveryRun(t *testing.T) {
	theirs := map[string]bool{}
	for range 3 {
		written, printed, failed := ranTheirs(t, oracle.Command{Dir: thing(t, recursive), Args: theirArgs("crd"),
			Varies: true})
		if failed || !strings.Contains(written[thingCRD], ": {}\n") {
			t.Fatalf("controller-gen: %s", printed)
		}
		theirs[written[thingCRD]] = true
	}
	t.Logf("controller-gen wrote %d different CRDs in 3 runs", len(theirs))
	first, err := runOurs(t, recursive, "crd")
	if err != nil || !strings.Contains(first[thingCRD],
		"                      a: {}\n                    type: object\n                type: object\n              b:\n") {
		t.Fatalf("%v\n%s", err, first[thingCRD])
	}
	for range 10 {
		if again, err := runOurs(t, recursive, "crd"); err != nil || !cmp.Equal(first, again) {
			t.Fatalf("another run differs: %v\n%s", err, cmp.Diff(first, again))
		}
	}
}

func TestRecursiveTypesAreRefused(t *testing.T) {
	dir := thing(t, recursive)
	p := plan.New(os.DirFS(dir))
	got := report(generate.Run(t.Context(), dir, p, nil, generate.Options{Generators: []string{generate.CRD}}))
	want := "api/v1/types.go:24:2: A is a recursive type, which a CRD cannot describe: A -> B -> A\n" +
		"hint: put +kubebuilder:validation:Schemaless and +kubebuilder:pruning:PreserveUnknownFields on the field, or end " +
		"the recursion\n"
	if diff := cmp.Diff(want, got); diff != "" || p.Len() > 0 {
		t.Errorf("errors differ (-want +got):\n%s", diff)
	}
}

func TestRecursionMayBeCutByMarkers(t *testing.T) {
	for _, marker := range []string{"// +kubebuilder:validation:Schemaless\n\t// " +
		"+kubebuilder:pruning:PreserveUnknownFields", "// +kubebuilder:pruning:PreserveUnknownFields\n\t// " +
		"+kubebuilder:validation:Type=object"} {
		source := strings.Replace(recursive, "\tA *A `json:\"a,omitempty\"`", "\t"+marker+"\n\tA *A `json:\"a,omitempty\"`",
			1)
		o := generate.Options{Generators: []string{generate.CRD}}
		setFlag(t, &o, "output-crd-dir", "out")
		got := run(t, thing(t, source), o)
		theirs, _, failed := runTheirs(t, source, "crd")
		if failed || len(got) == 0 {
			t.Fatalf("controller-gen failed: %v, kctrl writes %v", failed, got)
		}
		if strings.Contains(marker, "Schemaless") {
			if diff := cmp.Diff(theirs[thingCRD], got[filepath.ToSlash(thingCRD)]); diff != "" {
				t.Errorf("output differs (-controller-gen +kctrl):\n%s", diff)
			}
		}
	}
}

func TestErrorsInSchemasAreNoPanic(t *testing.T) {
	for name, test := range map[string]struct{ field, more, at string }{
		"field":         {field: "error", at: "types.go:15:"},
		"pointer":       {field: "*error", at: "types.go:15:"},
		"list":          {field: "[]error", at: "types.go:15:"},
		"map":           {field: "map[string]error", at: "types.go:15:"},
		"type":          {field: "E", more: "type E error\n", at: "types.go:18:8"},
		"struct":        {field: "S", more: "type S struct {\n\tIn []error `json:\"in\"`\n}\n", at: "types.go:19:7"},
		"alias":         {field: "A", more: "type A = error\n", at: "types.go:1"},
		"type argument": {field: "Box[error]", more: "type Box[T any] struct {\n\tIn T `json:\"in\"`\n}\n", at: "types.go:1"},
	} {
		t.Run(name, func(t *testing.T) {
			source := kind + "type ThingSpec struct {\n\tWrong " + test.field + " `json:\"wrong\"`\n}\n\n" + test.more
			if name == "field" {
				if _, printed, failed := runTheirs(t, source, "crd"); !failed || !strings.Contains(printed, "panic: ") {
					t.Errorf("controller-gen does not panic: %s", printed)
				}
			}
			written, err := runOurs(t, source, "crd")
			if got := report(err); !strings.Contains(got, test.at) || !strings.Contains(got, "interface") ||
				!strings.Contains(got, "hint: ") || len(written) > 0 {
				t.Errorf("got %s, written: %v", got, written)
			}
		})
	}
	source := kind + "type ThingSpec struct {\n\tHidden error `json:\"-\"`\n\tName string `json:\"name\"`\n}\n"
	if _, err := runOurs(t, source, "crd"); err != nil {
		t.Error(err)
	}
}
