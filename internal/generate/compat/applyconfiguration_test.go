package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// applied returns an API package with apply configurations, and with client-gen tags above its kind.
func applied(t *testing.T, tags, more string) string {
	t.Helper()
	dir := t.TempDir()
	oracle.Module(t, dir, "example.com/applied")
	oracle.Write(t, dir, "api/v1/types.go", `// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=applied.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var SchemeGroupVersion = schema.GroupVersion{Group: "applied.example.com", Version: "v1"}

`+tags+`
// +kubebuilder:object:root=true

// Thing is applied.
type Thing struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata,omitempty\"`"+`
	Spec   ThingSpec   `+"`json:\"spec\"`"+`
	Status *ThingStatus `+"`json:\"status,omitempty\"`"+`
}

type ThingStatus struct {
	Ready bool `+"`json:\"ready\"`"+`
}

`+more)
	return dir
}

const plainSpec = "type ThingSpec struct {\n\tName string `json:\"name\"`\n}\n"

func TestClientTagsMeanWhatTheyMeanToControllerGen(t *testing.T) {
	const scale = "k8s.io/api/autoscaling/v1.Scale"
	more := plainSpec
	for i, tags := range [][]string{
		{""},
		{":nonNamespaced", ":noStatus"},
		{":noVerbs", ":method=Create,verb=create,result=Thing"},
		{":skipVerbs=apply,applyStatus"},
		{":onlyVerbs=get,apply"},
		{
			":method=GetScale,verb=get,subresource=scale,result=" + scale,
			":method=UpdateScale,verb=update,subresource=scale,input=" + scale + ",result=" + scale,
			":method=ApplyScale,verb=apply,subresource=scale,input=" + scale + ",result=" + scale,
			":method=GetState,verb=get,subresource=status,result=Thing",
		},
		{":readonly", ":method=Evict,verb=create, subresource=eviction ,input=k8s.io/api/policy/v1.Eviction"},
	} {
		lines := "// +genclient\n// +genclient" + strings.Join(tags, "\n// +genclient") + "\n"
		more += fmt.Sprintf("\n%stype Thing%d struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta "+
			"`json:\"metadata,omitempty\"`\n"+
			"\tSpec ThingSpec `json:\"spec\"`\n\tStatus ThingStatus `json:\"status\"`\n}\n", lines, i)
	}
	theirs, ours := applied(t, "// +kubebuilder:resource", more), applied(t, "// +kubebuilder:resource", more)
	args := strings.Fields("applyconfiguration paths=./api/v1")
	_, theirErr := runPeer(t, theirs, args)
	if _, err := run(t, ours, args, compat.Options{}); err != nil || theirErr != nil {
		t.Fatalf("controller-gen: %v; kctrl: %v", theirErr, err)
	}
	if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
		t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
	}
}

func TestUnknownClientTagsArePassedOver(t *testing.T) {
	args := strings.Fields("applyconfiguration paths=./api/v1")
	plain := applied(t, "// +genclient", plainSpec)
	if _, err := run(t, plain, args, compat.Options{}); err != nil {
		t.Fatal(err)
	}
	want := oracle.Files(t, filepath.Join(plain, "api/v1/applyconfiguration"))
	for _, tags := range []string{"// +genclient=true", "// +genclient\n// +genclient:noSuchTag"} {
		dir := applied(t, tags, plainSpec)
		if _, err := runPeer(t, dir, args); err == nil {
			t.Errorf("%s: controller-gen succeeds", tags)
		}
		if _, err := run(t, dir, args, compat.Options{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, oracle.Files(t, filepath.Join(dir, "api/v1/applyconfiguration"))); diff != "" {
			t.Errorf("%s: files differ (-plain +tagged):\n%s", tags, diff)
		}
	}
}

func TestApplyConfigurationsOfGenericTypesCompile(t *testing.T) {
	const more = `type ThingSpec struct {
	Base[Port] ` + "`json:\",inline\"`" + `
	One  Box[string]         ` + "`json:\"one\"`" + `
	Many []Box[*Port]        ` + "`json:\"many\"`" + `
	Named map[string]Box[[]Port] ` + "`json:\"named,omitempty\"`" + `
	Deep *Box[Box[int32]]    ` + "`json:\"deep,omitempty\"`" + `
	List List[Port] ` + "`json:\"list,omitempty\"`" + `
}

type Port struct {
	Number int32 ` + "`json:\"number\"`" + `
}

// Base is embedded.
type Base[T any] struct {
	Default T ` + "`json:\"default\"`" + `
}

// Box holds one value.
type Box[T any] struct {
	// Value is it.
	Value T ` + "`json:\"value\"`" + `
	Others []T ` + "`json:\"others,omitempty\"`" + `
}

type List[T any] []T
`
	const folder = "api/v1/applyconfiguration"
	dir := applied(t, "// +kubebuilder:resource", more)
	args := strings.Fields("object applyconfiguration paths=./api/v1")
	if _, err := peerResult(t, oracle.Command{Dir: dir, Args: args, Varies: true}); err == nil {
		t.Error("controller-gen succeeds")
	}
	if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, args, compat.Options{}); err != nil {
		t.Fatal(err)
	}
	oracle.Write(t, dir, folder+"/check/main.go", `// Command check builds an apply configuration.
package main

import (
	"encoding/json"
	"os"

	_ "example.com/applied/api/v1/applyconfiguration"
	v1 "example.com/applied/api/v1/applyconfiguration/api/v1"
	"example.com/applied/api/v1/applyconfiguration/internal"
)

func main() {
	if !internal.Parser().Type("com.example.applied.api.v1.Thing").IsValid() {
		panic("no schema")
	}
	spec := v1.ThingSpec().WithDefault(v1.Port().WithNumber(1)).WithOne(v1.BoxOfString().WithValue("a")).
		WithDeep(v1.BoxOfBoxOfInt32().WithValue(v1.BoxOfInt32().WithOthers(2, 3)))
	if err := json.NewEncoder(os.Stdout).Encode(v1.Thing("t", "n").WithSpec(spec).Spec); err != nil {
		panic(err)
	}
}
`)
	out, err := goCommand(t, dir, "run", "-mod=mod", "./"+folder+"/check")
	want := `{"default":{"number":1},"one":{"value":"a"},"deep":{"value":{"others":[2,3]}}}` + "\n"
	if diff := cmp.Diff(want, out); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestInstantiationsHaveNamesOfTheirOwn(t *testing.T) {
	const box = "type Box[T any] struct {\n\tValue T `json:\"value\"`\n}\n"
	args := strings.Fields("applyconfiguration paths=./api/v1")
	generate := func(packages ...string) (string, error) {
		fields := "\tOwn Box[string] `json:\"own\"`\n"
		var imports strings.Builder
		for i, path := range packages {
			fmt.Fprintf(&imports, "import p%d \"example.com/applied/%s\"\n", i, path)
			fields += fmt.Sprintf("\tF%[1]d p%[1]d.Box[string] `json:\"f%[1]d\"`\n", i)
		}
		dir := applied(t, "// +kubebuilder:resource", box)
		oracle.Write(t, dir, "api/v1/spec.go", "package v1\n\n"+imports.String()+"\ntype ThingSpec struct {\n"+fields+"}\n")
		for _, path := range packages {
			oracle.Write(t, dir, path+"/box.go", "package "+filepath.Base(path)+"\n\n"+box)
		}
		_, err := run(t, dir, args, compat.Options{})
		return oracle.Files(t, dir)["api/v1/applyconfiguration/api/v1/thingspec.go"], err
	}
	code, err := generate("first", "second")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" *BoxOfStringApplyConfiguration", " *FirstBoxOfStringApplyConfiguration",
		" *SecondBoxOfStringApplyConfiguration"} {
		if !strings.Contains(code, want) {
			t.Errorf("no%s in\n%s", want, code)
		}
	}
	code, err = generate("first/v2", "second/v2")
	if want := "example.com/applied/first/v2.Box[string] and example.com/applied/second/v2.Box[string] would have the " +
		"same name in apply configurations: V2BoxOfString"; code != "" || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\n%s", err, code)
	}
}

func TestEmbeddedStructsReferToTypesOfTheirPackage(t *testing.T) {
	const args = "applyconfiguration paths=./api/v1"
	module := func() string {
		dir := applied(t, "// +kubebuilder:resource", "")
		oracle.Write(t, dir, "api/v1/spec.go", "package v1\n\nimport \"example.com/applied/common\"\n\ntype ThingSpec "+
			"struct {\n\tcommon.Fields `json:\",inline\"`\n}\n")
		oracle.Write(t, dir, "common/common.go", "package common\n\ntype Fields struct {\n\tWait *Duration "+
			"`json:\"wait,omitempty\"`\n\tPorts []Port `json:\"ports,omitempty\"`\n}\n\n"+
			"type Duration string\n\ntype Port struct {\n\tNumber int32 `json:\"number\"`\n}\n")
		return dir
	}
	if _, err := runPeer(t, module(), strings.Fields(args)); err == nil {
		t.Error("controller-gen succeeds")
	}
	dir := module()
	if _, err := run(t, dir, strings.Fields(args), compat.Options{}); err != nil {
		t.Fatal(err)
	}
	code := oracle.Files(t, dir)["api/v1/applyconfiguration/internal/internal.go"]
	if want := "namedType: com.example.applied.common.Port\n"; !strings.Contains(code, want) {
		t.Errorf("no %sin\n%s", want, code)
	}
}

// TestBytesAreThoseOfControllerGen checks lists of uint8 and int8. controller-gen treats both as bytes, which cannot
// hold negative numbers.
func TestBytesAreThoseOfControllerGen(t *testing.T) {
	const spec = "type ThingSpec struct {\n\tOne uint8 `json:\"one\"`\n\tMany []uint8 `json:\"many\"`\n\tPointer *uint8 " +
		"`json:\"pointer\"`\n\tBy map[string]uint8 `json:\"by\"`\n\tB byte `json:\"b\"`\n"
	args := strings.Fields("applyconfiguration paths=./api/v1")
	theirs, ours := applied(t, "// +kubebuilder:resource", spec+"}\n"), applied(t, "// +kubebuilder:resource", spec+"}\n")
	if _, err := runPeer(t, theirs, args); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, ours, args, compat.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(oracle.Files(t, theirs), oracle.Files(t, ours)); diff != "" {
		t.Errorf("files differ (-controller-gen +kctrl):\n%s", diff)
	}
	const negative = "\tSigned int8 `json:\"signed\"`\n}\n"
	const file = "api/v1/applyconfiguration/api/v1/thingspec.go"
	theirs, ours = applied(t, "// +kubebuilder:resource", spec+negative),
		applied(t, "// +kubebuilder:resource", spec+negative)
	if _, err := runPeer(t, theirs, args); err != nil || !strings.Contains(oracle.Files(t, theirs)[file],
		"WithSigned(value byte)") {
		t.Errorf("controller-gen: %v", err)
	}
	if _, err := run(t, ours, args, compat.Options{}); err != nil || !strings.Contains(oracle.Files(t, ours)[file],
		"WithSigned(value int8)") {
		t.Errorf("kctrl: %v", err)
	}
}

// TestEmbeddedTypesWithoutApplyConfigurationsCompile embeds structs of other packages, whose fields are not pointers,
// and types other than structs.
func TestEmbeddedTypesWithoutApplyConfigurationsCompile(t *testing.T) {
	dir := applied(t, "// +kubebuilder:resource", "")
	oracle.Write(t, dir, "api/v1/spec.go", `package v1

import (
	"example.com/applied/common"
	corev1 "k8s.io/api/core/v1"
)

type ThingSpec struct {
	common.Fields               `+"`json:\",inline\"`"+`
	corev1.LocalObjectReference `+"`json:\"reference\"`"+`
	*common.Pointed             `+"`json:\"pointed,omitempty\"`"+`
	Phase                       `+"`json:\"phase,omitempty\"`"+`
	Names                       `+"`json:\"names,omitempty\"`"+`
	Other                       `+"`json:\"other\"`"+`
}

type Phase string

type Names []string

type Other struct {
	common.More `+"`json:\",inline\"`"+`
	Number int32 `+"`json:\"number\"`"+`
}
`)
	oracle.Write(t, dir, "common/common.go", `package common

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Fields struct {
	Inner `+"`json:\",inline\"`"+`
	Named Inner `+"`json:\"named\"`"+`
	Group Group `+"`json:\"group\"`"+`
	Name string `+"`json:\"name\"`"+`
	Wait *Group `+"`json:\"wait\"`"+`
	Bytes []byte `+"`json:\"bytes\"`"+`
	Ports []Port `+"`json:\"ports\"`"+`
	Times []*metav1.Time `+"`json:\"times\"`"+`
	By map[string]Port `+"`json:\"by\"`"+`
	Selector *metav1.LabelSelector `+"`json:\"selector\"`"+`
	Condition metav1.Condition `+"`json:\"condition\"`"+`
	Conditions []metav1.Condition `+"`json:\"conditions\"`"+`
}

type Pointed struct{ A string `+"`json:\"a\"`"+` }

type Inner struct{ Deep Group `+"`json:\"deep\"`"+`; Ports2 []Port `+"`json:\"ports2\"`"+` }

type More struct{ Most Group `+"`json:\"most\"`"+` }

type Group string

type Port struct{ Number int32 `+"`json:\"number\"`"+` }
`)
	if _, err := run(t, dir, strings.Fields("applyconfiguration object paths=./api/v1"), compat.Options{}); err != nil {
		t.Fatal(err)
	}
	buildAll(t, dir)
}

// embedded returns an API package whose structs embed each other and structs of another package at random, so that
// names are declared more than once at several depths. No struct embeds two types with a field of the same JSON name.
func embedded(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, seed))
	tag := func(name string) string {
		if random.IntN(3) == 0 {
			return fmt.Sprintf("`json:%q`", name+",omitempty")
		}
		return "`json:\",inline\"`"
	}
	var code strings.Builder
	for i := range 6 {
		name := fmt.Sprintf("T%d", i)
		if i == 0 {
			name = "ThingSpec"
		}
		fmt.Fprintf(&code, "type %s struct {\n\tOwn%d string `json:\"own%d\"`\n", name, i, i)
		for j := i + 1; j < 6; j++ {
			switch random.IntN(4) {
			case 0, 1:
				fmt.Fprintf(&code, "\tT%d %s\n", j, tag(fmt.Sprintf("t%d", j)))
			case 2:
				fmt.Fprintf(&code, "\tField%[1]d%[2]d *T%[2]d `json:\"field%[1]d%[2]d\"`\n", i, j)
			}
		}
		for _, foreign := range []string{"LocalObjectReference", "SecretReference", "TypedLocalObjectReference",
			"ConfigMapEnvSource"} {
			if random.IntN(3) == 0 {
				fmt.Fprintf(&code, "\tcorev1.%s %s\n", foreign, tag(strings.ToLower(foreign)))
			}
		}
		code.WriteString("}\n\n")
	}
	return "package v1\n\nimport corev1 \"k8s.io/api/core/v1\"\n\nvar _ corev1.SecretReference\n\n" + code.String()
}

// TestEmbeddedStructsWithTheSameNamesCompile generates code for random structs that embed one type in several places.
// If the code of controller-gen compiles, kctrl's code must be the same.
func TestEmbeddedStructsWithTheSameNamesCompile(t *testing.T) {
	const groups, compared = 12, 3
	types := oracle.Files(t, applied(t, "// +kubebuilder:resource", ""))["api/v1/types.go"]
	ours := t.TempDir()
	oracle.Module(t, ours, "example.com/applied")
	for seed := range uint64(groups) {
		oracle.Write(t, ours, fmt.Sprintf("g%d/v1/types.go", seed), types)
		oracle.Write(t, ours, fmt.Sprintf("g%d/v1/spec.go", seed), embedded(seed))
	}
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.CopyFS(theirs, os.DirFS(ours)); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, ours, strings.Fields("applyconfiguration object paths=./..."), compat.Options{}); err != nil {
		t.Fatal(err)
	}
	if broken := uncompiled(t, ours); len(broken) > 0 {
		t.Errorf("these files do not compile: %v", broken)
	}
	for group := range compared {
		if _, err := runPeer(t, theirs, []string{"object", "applyconfiguration",
			fmt.Sprintf("paths=./g%d/...", group)}); err != nil {
			if err := os.RemoveAll(filepath.Join(theirs, fmt.Sprintf("g%d", group), "v1", "applyconfiguration")); err != nil {
				t.Fatal(err)
			}
		}
	}
	broken, got := uncompiled(t, theirs), oracle.Files(t, ours)
	for name, want := range oracle.Files(t, theirs) {
		if !broken[name] && want != got[name] {
			t.Errorf("%s differs (-controller-gen +kctrl):\n%s", name, cmp.Diff(want, got[name]))
		}
	}
}

// uncompiled returns the files with compile errors.
func uncompiled(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out, _ := goCommand(t, dir, "build", "-mod=mod", "-gcflags=-e", "./...")
	broken := map[string]bool{}
	for _, line := range strings.Split(out, "\n") {
		if name, _, ok := strings.Cut(line, ".go:"); ok {
			broken[filepath.ToSlash(name)+".go"] = true
		}
	}
	return broken
}

// TestEmbeddedInterfacesCompile checks a kind without a schema, which may contain an interface.
func TestEmbeddedInterfacesCompile(t *testing.T) {
	const spec = "type ThingSpec struct {\n\tLocal `json:\"local\"`\n\tOther `json:\",inline\"`\n\tAny any " +
		"`json:\"any\"`\n}\n\n" +
		"type Local interface{ DeepCopyLocal() Local }\n\ntype Other interface{ DeepCopyOther() Other }\n"
	dir := applied(t, "// +genclient", spec)
	oracle.Write(t, dir, "api/v1/zz.go", "package v1\n\nimport \"k8s.io/apimachinery/pkg/runtime\"\n\nfunc (t *Thing) "+
		"DeepCopyObject() runtime.Object { return t }\n")
	if _, err := run(t, dir, strings.Fields("applyconfiguration paths=./api/v1"), compat.Options{}); err != nil {
		t.Fatal(err)
	}
	buildAll(t, dir)
	dir = applied(t, "// +kubebuilder:resource", spec)
	_, err := run(t, dir, strings.Fields("applyconfiguration paths=./api/v1"), compat.Options{})
	if got := fmt.Sprint(err); !strings.Contains(got, "api/v1/types.go:") ||
		!strings.Contains(got, "interface type is not supported") {
		t.Errorf("got %v", err)
	}
}

// TestAliasesInSchemasOfApplyConfigurations checks aliases. controller-gen's schema randomly contains the alias or the
// aliased type.
func TestAliasesInSchemasOfApplyConfigurations(t *testing.T) {
	dir := applied(t, "// +kubebuilder:resource", "")
	oracle.Write(t, dir, "api/v1/spec.go", "package v1\n\nimport \"example.com/applied/common\"\n\ntype Provider = "+
		"common.Provider\n\n"+
		"type ThingSpec struct {\n\tOne Provider `json:\"one\"`\n\tMany []Provider `json:\"many\"`\n}\n")
	oracle.Write(t, dir, "common/common.go", "package common\n\n// +kubebuilder:validation:Enum=a;b\ntype Provider "+
		"string\n")
	var first map[string]string
	for range 5 {
		if _, err := run(t, dir, strings.Fields("applyconfiguration paths=./api/v1"), compat.Options{}); err != nil {
			t.Fatal(err)
		}
		files := oracle.Files(t, filepath.Join(dir, "api/v1/applyconfiguration"))
		if first == nil {
			first = files
		}
		if diff := cmp.Diff(first, files); diff != "" {
			t.Fatalf("another run differs:\n%s", diff)
		}
	}
	if schema := first["internal/internal.go"]; strings.Count(schema, "Provider\n  scalar: string\n") != 1 {
		t.Errorf("not one schema of the type:\n%s", schema)
	}
}

// TestTypesWithoutApplyConfigurationsHaveAPosition checks types for which controller-gen panics or writes code that
// does not compile.
func TestTypesWithoutApplyConfigurationsHaveAPosition(t *testing.T) {
	for field, want := range map[string]string{"chan int": "chan int", "map[string]unsafe.Pointer": "unsafe.Pointer",
		"[3]unsafe.Pointer": "unsafe.Pointer"} {
		dir := applied(t, "// +kubebuilder:resource", "")
		oracle.Write(t, dir, "api/v1/spec.go", "package v1\n\nimport \"unsafe\"\n\nvar _ unsafe.Pointer\n\ntype ThingSpec "+
			"struct {\n\tF "+field+" `json:\"f\"`\n}\n")
		_, err := run(t, dir, strings.Fields("applyconfiguration paths=./api/v1"), compat.Options{})
		if got := fmt.Sprint(err); !strings.Contains(got, "api/v1/spec.go:8:") || !strings.Contains(got, want) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
