package generate_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// unusual are declarations for which controller-gen fails, or writes deep copies that do not compile. Each declares a
// type Spec.
var unusual = map[string]string{
	"pointers": "type Spec struct {\n\tTimes []*metav1.Time\n\tQuantities []*resource.Quantity\n\tDeep " +
		"map[string][]*metav1.Time\n}\n",
	"converted": "type Spec other.Hidden\n\n// Late is not the same time.\ntype Late metav1.Time\n",
	"anonymous": "type Spec struct {\n\tOne struct{ Names []string }\n\tMany []struct{ Name *string }\n\tNamed " +
		"map[string]struct{ Names []string }\n" +
		"\tTemplate struct{ metav1.ObjectMeta }\n}\n",
	"unexported": "type Spec struct {\n\tOne hidden\n\tMany []hidden\n\tNamed map[string]hidden\n\tPointer " +
		"*hidden\n\tBy map[string]*hidden\n}\n\n" +
		"type hidden struct{ Names []string }\n",
	"excluded": "type Spec struct {\n\tOne Left\n\tMany []*Left\n}\n\n// +kubebuilder:object:generate=false\ntype Left " +
		"struct{ Names map[string][]string }\n",
	"unmarked": "type Spec struct {\n\tOne other.Plain\n\tMany []other.Plain\n\tNamed " +
		"map[string]other.Plain\n\tPointer *other.Plain\n}\n",
	"mentioned": "type Spec struct {\n\tOne told.Plain\n\tMany []told.Plain\n\tPointer *told.Plain\n\tOther " +
		"told.Other\n}\n",
	"arrays": "type Spec struct {\n\tFlat [3]string\n\tDeep [2]*string\n\tOf [][2][]string\n\tBy " +
		"map[[2]string][2][]string\n}\n\ntype Pair [2]*string\n",
	"recursive": "type Spec struct {\n\tOne other.Plain\n\tTree Tree\n\tBy map[string]Forest\n\tHidden " +
		"*hidden\n}\n\ntype Tree map[string]Tree\n\n" +
		"type Forest []map[string]Forest\n\ntype hidden struct {\n\tNext *hidden\n\tAll []hidden\n\tmore bush\n}\n\ntype " +
		"bush map[string]bush\n",
	"times": "type Spec struct {\n\tAt time.Time\n\tPointer *time.Time\n\tMany []time.Time\n\tNamed " +
		"map[string]time.Time\n}\n",
	"declared": "type Spec struct{ Names []string }\n\ntype Getter interface{ Get() string }\n\ntype Get func() string\n",
	"blank":    "type Spec struct {\n\t_ struct{}\n\tNames []string\n}\n",
	"aliases": "type Spec struct {\n\tNamed map[string]Name\n\tBy map[Name]bool\n\tAt Moment\n\tMany " +
		"[]Moment\n}\n\ntype Name = string\n\ntype Moment = *metav1.Time\n",
	"byhand": "type Spec struct {\n\tOne other.Value\n\tMany []other.Value\n\tPointer *other.Into\n\tNamed " +
		"map[string]other.Into\n\tBy map[string]*other.Into\n}\n",
	"objects": "type Spec struct {\n\tOne runtime.Object\n\tMany []runtime.Object\n\tNamed map[string]runtime.Object\n}\n",
}

// other is a package without generated deep copies, and with some handwritten ones.
const other = `package other

type Hidden struct{ names []string }

func (in *Hidden) DeepCopyInto(out *Hidden) { out.names = append([]string(nil), in.names...) }

type Plain struct {
	Names []string
	More  map[string]*Plain
}

type Value struct{ Names []string }

func (in Value) DeepCopy() Value { return Value{append([]string(nil), in.Names...)} }

type Into struct{ Names []string }

func (in *Into) DeepCopyInto(out *Into) { out.Names = append([]string(nil), in.Names...) }
`

// mentioned is a package without deep copies, whose comments only mention the markers for them.
const mentioned = `// Package told would have deep copies with +kubebuilder:object:generate=true, or with +k8s:deepcopy-gen=package.
package told

// Plain has no deep copies: they would need a line that begins with +kubebuilder:object:generate=true.
type Plain struct{ Names []string }

// Other is not one of those with +kubebuilder:object:root=true.
type Other struct{ Names []string }
`

// unusualModule creates a module with the packages of unusual, each with a kind Thing.
func unusualModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	oracle.Module(t, dir, "example.com/unusual")
	oracle.Write(t, dir, "other/other.go", other)
	oracle.Write(t, dir, "told/told.go", mentioned)
	for name, declarations := range unusual {
		imports := `import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"` + "\n"
		for _, imported := range []struct{ use, path string }{
			{"resource.", "k8s.io/apimachinery/pkg/api/resource"},
			{"other.", "example.com/unusual/other"},
			{"told.", "example.com/unusual/told"},
			{"time.T", "time"},
			{"runtime.", "k8s.io/apimachinery/pkg/runtime"},
			{"sets.", "k8s.io/apimachinery/pkg/util/sets"},
		} {
			if strings.Contains(declarations, imported.use) {
				imports += "import \"" + imported.path + "\"\n"
			}
		}
		oracle.Write(t, dir, name+"/types.go", "// +kubebuilder:object:generate=true\npackage "+name+"\n\n"+imports+
			"\n// +kubebuilder:object:root=true\ntype Thing struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n\tSpec Spec\n}\n\n"+declarations)
	}
	return dir
}

func TestDeepCopiesOfUnusualTypesCompile(t *testing.T) {
	theirs := unusualModule(t)
	broken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(unusual)) {
		broken[name] = oracle.Run(t, oracle.Command{Dir: theirs, Args: []string{"object", "paths=./" + name}}).Failed
	}
	build := exec.CommandContext(t.Context(), "go", "build", "./...")
	build.Dir = theirs
	printed, _ := build.CombinedOutput()
	for name := range unusual {
		if !broken[name] && !strings.Contains(string(printed), name+"/zz_generated.deepcopy.go:") {
			t.Errorf("controller-gen copies the types of package %s", name)
		}
	}

	ours := unusualModule(t)
	runCommand(t, ours, []string{"object", "paths=./..."})
	checkCopies(t, ours, "example.com/unusual")
}

func TestKindsWithDeepCopiesByHandAreObjects(t *testing.T) {
	const method = "func (in *Thing) DeepCopyObject() runtime.Object {"
	source := kind + "type ThingSpec struct{}\n\nfunc (in *Thing) DeepCopy() *Thing { out := *in; return &out }\n"
	theirs, _, failed := runTheirs(t, source, "object")
	if failed || strings.Contains(theirs["out/zz_generated.deepcopy.go"], method) {
		t.Errorf("controller-gen makes it an object:\n%s", theirs["out/zz_generated.deepcopy.go"])
	}
	ours, err := runOurs(t, source, "object")
	if err != nil || !strings.Contains(ours["out/zz_generated.deepcopy.go"], method) {
		t.Errorf("kctrl: %v\n%s", err, ours["out/zz_generated.deepcopy.go"])
	}
	again, err := runOurs(t, source+"\n"+strings.ReplaceAll(method, "runtime.Object {",
		"interface{ DeepCopy() *Thing } { return in.DeepCopy() }\n"), "object")
	if err != nil || strings.Contains(again["out/zz_generated.deepcopy.go"], "DeepCopyObject") {
		t.Errorf("the method is written twice: %v\n%s", err, again["out/zz_generated.deepcopy.go"])
	}
}

func TestUncopyableTypesAreErrors(t *testing.T) {
	for field, want := range map[string]string{
		"F func()": "api/v1/types.go:5:2: cannot generate a deep copy of func(): it has nothing that could be " +
			"copied",
		"F chan int": "api/v1/types.go:5:2: cannot generate a deep copy of chan int: it has nothing that could be " +
			"copied",
		"F any":     "api/v1/types.go:5:2: cannot generate a deep copy of any: it may hold anything",
		"F []error": "api/v1/types.go:5:2: cannot generate a deep copy of error: ",
		"F map[*string]bool": "api/v1/types.go:5:2: cannot generate a deep copy of *string: the key of a map may not " +
			"refer to anything",
		"F [2]map[*int]bool": "api/v1/types.go:5:2: cannot generate a deep copy of *int: the key of a map may not refer " +
			"to anything",
		"F Getter": "api/v1/types.go:5:2: cannot generate a deep copy of Getter: an interface is copied with " +
			"its method DeepCopyGetter() Getter, which it does not have",
		"F map[string]Getter": "api/v1/types.go:5:2: cannot generate a deep copy of Getter: ",
	} {
		source := "// +kubebuilder:object:generate=true\npackage v1\n\ntype Spec struct {\n\t" + field +
			"\n}\n\ntype Getter interface{ Get() string }\n"
		written, err := runOurs(t, source, "object")
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(written) > 0 {
			t.Errorf("%s: %v, written: %v", field, err, written)
		}
	}
}

// TestGeneratedFilesOfOtherPackagesHaveDeepCopies checks types that have the methods although no marker requests them.
func TestGeneratedFilesOfOtherPackagesHaveDeepCopies(t *testing.T) {
	const line = "object paths=./api"
	module := func() string {
		dir := t.TempDir()
		oracle.Module(t, dir, "example.com/elsewhere")
		oracle.Write(t, dir, "api/types.go", "// +kubebuilder:object:generate=true\npackage api\n\nimport "+
			"\"example.com/elsewhere/pool\"\n\n"+
			"type Spec struct {\n\tOne pool.Spec\n\tMany []pool.Spec\n\tPointer *pool.Spec\n\tBy map[string]pool.Spec\n}\n")
		oracle.Write(t, dir, "pool/types.go", "package pool\n\n// +kubebuilder:object:root=true\ntype Kind struct{ Spec "+
			"Spec }\n\ntype Spec struct{ Names []string }\n")
		oracle.Write(t, dir, "pool/zz_copies.go", "//go:build !ignore_autogenerated\n\npackage pool\n\n"+
			"func (in *Spec) DeepCopyInto(out *Spec) { out.Names = append([]string(nil), in.Names...) }\n\n"+
			"func (in *Spec) DeepCopy() *Spec {\n\tout := new(Spec)\n\tin.DeepCopyInto(out)\n\treturn out\n}\n")
		return dir
	}
	theirs, ours := module(), module()
	peerOutput(t, oracle.Command{Dir: theirs, Args: strings.Fields(line)})
	runCommand(t, ours, strings.Fields(line))
	if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
		t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
	}
}
