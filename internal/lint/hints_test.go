package lint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// advice is a mistake, the hint for it, and the result of following the hint.
type advice struct {
	name string
	code string
	wrong
	// lenient selects the findings of kctrl gen.
	lenient bool
	hint    string
	// fixed has the source for each way to follow the hint. Empty means that the test can follow the hint by itself.
	fixed []wrong
	// means contains the generated output of each fixed source: the schema of spec.field as JSON, or a part of the
	// manifests. The last element applies to all further sources.
	means []string
}

// wrong is a package with a kind Thing, whose spec has type Spec.
type wrong struct {
	above string // markers above the package clause
	kind  string // markers of the kind
	body  string // the declaration of Spec, and other declarations
}

// field returns a package whose spec has one field with markers.
func field(goType string, markers ...string) wrong {
	comment := ""
	for _, marker := range markers {
		comment += "\t// " + marker + "\n"
	}
	return wrong{body: "type Spec struct {\n" + comment + "\tField " + goType + " `json:\"field\"`\n}\n"}
}

// with adds declarations.
func (w wrong) with(declarations string) wrong {
	w.body += "\n" + declarations + "\n"
	return w
}

// kind returns a package whose kind has a marker.
func kind(marker string) wrong {
	w := field("string")
	w.kind = "// " + marker + "\n"
	return w
}

// above returns a package with a marker above its package clause.
func above(markers ...string) wrong {
	w := field("string")
	for _, marker := range markers {
		w.above += "// " + marker + "\n"
	}
	return w
}

func (w wrong) source(group string) string {
	return "// +groupName=" + group + ".example.com\n" + w.above + "package v1\n\n" +
		"import metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n\n" + w.kind +
		"type Thing struct {\n\tmetav1.TypeMeta   `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\n" +
		"\tSpec Spec `json:\"spec,omitempty\"`\n}\n\n" + w.body
}

const (
	webhook = "+kubebuilder:webhook:mutating=false,failurePolicy=fail,groups=a,resources=b,verbs=create,versions=v1,name=a.b.c,sideEffects=None,admissionReviewVersions=v1,path="
	text    = `{"type":"string"}`
	items   = "type Item struct {\n\tName string `json:\"name\"`\n\tPort int `json:\"port\"`\n}"
	byName  = `{"items":{"properties":{"name":{"type":"string"},"port":{"type":"integer"}},"required":["name","port"],"type":"object"},"type":"array","x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map"}`
	atomic  = `{"items":{"properties":{"name":{"type":"string"},"port":{"type":"integer"}},"required":["name","port"],"type":"object"},"type":"array","x-kubernetes-list-type":"atomic"}`
)

// allAdvice has a row for each hint of lint.
var allAdvice = []advice{
	// Unknown markers.
	{
		name: "slip", code: lint.CodeUnknown, wrong: field("string", "+kubebuilder:validation:MinLenght=1"),
		hint: "write // +kubebuilder:validation:MinLength=1", means: []string{`{"minLength":1,"type":"string"}`},
	},
	{
		name: "colon-false", code: lint.CodeUnknown, wrong: field("[]string", "+kubebuilder:validation:UniqueItems:false"),
		hint:  "write // +kubebuilder:validation:UniqueItems=false",
		means: []string{`{"items":{"type":"string"},"type":"array"}`},
	},
	{
		name: "colon-true", code: lint.CodeUnknown, wrong: field("[]string", "+kubebuilder:validation:UniqueItems:true"),
		hint:  "write // +listType=set",
		means: []string{`{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"set"}`},
	},
	{
		name: "nullable", code: lint.CodeUnknown, wrong: field("string", "+kubebuilder:validation:nullable"),
		hint: "write // +nullable", means: []string{`{"nullable":true,"type":"string"}`},
	},
	{
		name: "subresource", code: lint.CodeUnknown, wrong: kind("+kubebuilder:subresource:images"),
		hint: "the subresources are +kubebuilder:subresource:status and " +
			"+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector",
		fixed: []wrong{kind("+kubebuilder:subresource:status"),
			kind("+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector")},
		means: []string{"subresources:\n      status: {}\n", "specReplicasPath: .spec.replicas"},
	},
	{
		name: "singular", code: lint.CodeUnknown, wrong: kind("+kubebuilder:singular=foo"),
		hint: "write // +kubebuilder:resource:singular=foo", means: []string{"singular: foo"},
	},
	{
		name: "scope", code: lint.CodeUnknown, wrong: kind("+kubebuilder:resorce:scope=Cluster"),
		hint: "write // +kubebuilder:resource:scope=Cluster", means: []string{"scope: Cluster"},
	},
	{
		name: "slip-and-value", code: lint.CodeUnknown, wrong: field("string", "+kubebuilder:validation:MinLenght=x"),
		hint: "for example +kubebuilder:validation:MinLength=1", means: []string{`{"minLength":1,"type":"string"}`},
	},
	{
		name: "nothing-near", code: lint.CodeUnknown, wrong: field("string", "+kubebuilder:validation:Axxyz=5"),
		hint: "remove it, or allow it with --allow-unknown +kubebuilder:validation:Axxyz", means: []string{text},
	},
	{
		name: "slip-in-rights", code: lint.CodeUnknown, wrong: above("+kubebuilder:rbca:groups=rights,resources=b,verbs=get",
			""),
		hint:  "write // +kubebuilder:rbac:groups=rights,resources=b,verbs=get",
		means: []string{"- rights\n  resources:\n  - b\n  verbs:\n  - get\n"},
	},

	// Arguments.
	{
		name: "missing", code: lint.CodeArgument, wrong: kind("+kubebuilder:printcolumn:name=Age"),
		hint:  "for example +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp",
		means: []string{"- jsonPath: .metadata.creationTimestamp\n      name: Age\n      type: date\n"},
	},
	{
		name: "argument-slip", code: lint.CodeArgument, wrong: kind(
			"+kubebuilder:printcolumn:name=Field,typ=string,JSONPath=.spec.field"),
		hint: "write type=", means: []string{"- jsonPath: .spec.field\n      name: Field\n      type: string\n"},
	},
	{
		name: "argument-unknown", code: lint.CodeArgument, wrong: kind("+kubebuilder:resource:scope=Cluster,color=red"),
		hint: "the arguments are categories, path, scope, shortName, singular",
		fixed: []wrong{kind("+kubebuilder:resource:scope=Cluster,categories=red"),
			kind("+kubebuilder:resource:scope=Cluster,shortName=red")},
		means: []string{"categories:\n    - red\n", "shortNames:\n    - red\n"},
	},
	{
		name: "no-number", code: lint.CodeArgument, wrong: field("string", "+kubebuilder:validation:MinLength=one"),
		hint: "for example +kubebuilder:validation:MinLength=1", means: []string{`{"minLength":1,"type":"string"}`},
	},
	{
		name: "value-of-a-flag", code: lint.CodeArgument, wrong: field("string", "+optional=true"),
		hint: "for example +optional", means: []string{text},
	},
	{
		name: "no-value", code: lint.CodeArgument, wrong: field("string", "+kubebuilder:validation:Pattern"),
		hint:  "for example +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`",
		means: []string{`{"pattern":"^[a-z]([-a-z0-9]*[a-z0-9])?$","type":"string"}`},
	},

	// Bounds.
	{
		name: "bounds", code: lint.CodeContradiction, wrong: field("int", "+kubebuilder:validation:Minimum=5",
			"+kubebuilder:validation:Maximum=1"),
		hint: "change one of them",
		fixed: []wrong{field("int", "+kubebuilder:validation:Minimum=5", "+kubebuilder:validation:Maximum=5"),
			field("int", "+kubebuilder:validation:Minimum=1", "+kubebuilder:validation:Maximum=1")},
		means: []string{`{"maximum":5,"minimum":5,"type":"integer"}`, `{"maximum":1,"minimum":1,"type":"integer"}`},
	},
	{
		name: "bound-of-the-type", code: lint.CodeContradiction,
		wrong: field("Small", "+kubebuilder:validation:Minimum=5").with(
			"// +kubebuilder:validation:Maximum=1\ntype Small int"),
		hint: "+kubebuilder:validation:Maximum is at the type, bound-of-the-type/v1/types.go:18",
		fixed: []wrong{field("Small", "+kubebuilder:validation:Minimum=1").with("// " +
			"+kubebuilder:validation:Maximum=1\ntype Small int")},
		means: []string{`{"maximum":1,"minimum":1,"type":"integer"}`},
	},

	// Markers and names that contradict each other.
	{
		name: "presence", code: lint.CodeContradiction, wrong: field("string", "+optional", "+required"),
		hint: "remove one of them", fixed: []wrong{field("string", "+optional"), field("string", "+required")},
		means: []string{text},
	},
	{
		name: "repeated", code: lint.CodeContradiction, wrong: field("string", "+kubebuilder:default=a",
			"+kubebuilder:default=b"),
		hint: "remove one; the other is on line 14", fixed: []wrong{field("string", "+kubebuilder:default=a"),
			field("string", "+kubebuilder:default=b")},
		means: []string{`{"default":"a","type":"string"}`, `{"default":"b","type":"string"}`},
	},
	{
		name: "json-names", code: lint.CodeFieldName, wrong: wrong{body: "type Spec struct {\n\tField string " +
			"`json:\"field\"`\n\tOther int `json:\"field\"`\n}\n"},
		hint: "give one of them another name", fixed: []wrong{{body: "type Spec struct {\n\tField string " +
			"`json:\"field\"`\n\tOther int `json:\"other\"`\n}\n"}}, means: []string{text},
	},

	// Defaults.
	{
		name: "default-integer", code: lint.CodeDefault, wrong: field("int", `+kubebuilder:default="5"`),
		hint: "write 5", means: []string{`{"default":5,"type":"integer"}`},
	},
	{
		name: "default-string", code: lint.CodeDefault, wrong: field("string", `+kubebuilder:default=5`),
		hint: `write "5"`, means: []string{`{"default":"5","type":"string"}`},
	},
	{
		name: "default-fraction", code: lint.CodeDefault, wrong: field("string", `+kubebuilder:default=1.50`),
		hint: `write "1.50"`, means: []string{`{"default":"1.50","type":"string"}`},
	},
	{
		name: "default-boolean", code: lint.CodeDefault, wrong: field("bool", `+kubebuilder:default="True"`),
		hint: "write true", means: []string{`{"default":true,"type":"boolean"}`},
	},
	{
		name: "default-empty-list", code: lint.CodeDefault, wrong: field("[]string", `+kubebuilder:default:=[]`),
		hint: "write {}", means: []string{`{"default":[],"items":{"type":"string"},"type":"array"}`},
	},
	{
		name: "default-list", code: lint.CodeDefault, wrong: field("[]string", `+kubebuilder:default=a`),
		hint: `write {"a"}`, means: []string{`{"default":["a"],"items":{"type":"string"},"type":"array"}`},
	},
	{
		name: "default-list-in-json", code: lint.CodeDefault, wrong: field("[]string", `+default="a"`),
		hint: `write ["a"]`, means: []string{`{"default":["a"],"items":{"type":"string"},"type":"array"}`},
	},
	{
		name: "default-empty-list-in-json", code: lint.CodeDefault, wrong: field("[]string", `+default="[]"`),
		hint: `write []`, means: []string{`{"default":[],"items":{"type":"string"},"type":"array"}`},
	},
	{
		name: "default-integer-in-json", code: lint.CodeDefault, wrong: field("int", `+default="5"`),
		hint: `write 5`, means: []string{`{"default":5,"type":"integer"}`},
	},
	// No hint if the API server would reject every spelling of the value.
	{name: "default-fraction-of-an-integer", code: lint.CodeDefault, wrong: field("int", `+kubebuilder:default="1.5"`)},
	{name: "default-octal", code: lint.CodeDefault, wrong: field("int", `+kubebuilder:default="007"`)},
	{name: "default-text-among-integers", code: lint.CodeDefault, wrong: field("[]int", `+kubebuilder:default=a`)},
	{name: "default-above-the-maximum", code: lint.CodeDefault, wrong: field("int", "+kubebuilder:validation:Maximum=3",
		`+kubebuilder:default="5"`)},
	{
		name: "default-refused", code: lint.CodeDefault, wrong: field("string", "+kubebuilder:validation:Enum=a;b",
			"+kubebuilder:default=c"),
		hint: "change one of them",
		fixed: []wrong{field("string", "+kubebuilder:validation:Enum=a;b", "+kubebuilder:default=a"),
			field("string", "+kubebuilder:validation:Enum=a;b;c", "+kubebuilder:default=c")},
		means: []string{`{"default":"a","enum":["a","b"],"type":"string"}`,
			`{"default":"c","enum":["a","b","c"],"type":"string"}`},
	},
	{
		name: "default-refused-by-the-type", code: lint.CodeDefault,
		wrong: field("Small", "+kubebuilder:default=5").with("// +kubebuilder:validation:Maximum=1\ntype Small int"),
		hint:  "the marker is at the type, default-refused-by-the-type/v1/types.go:18",
		fixed: []wrong{field("Small", "+kubebuilder:default=1").with("// +kubebuilder:validation:Maximum=1\ntype Small int")},
		means: []string{`{"default":1,"maximum":1,"type":"integer"}`},
	},

	// Enums.
	{
		name: "enum-twice", code: lint.CodeEnum, wrong: field("string", "+kubebuilder:validation:Enum=a;b;a"),
		hint: "remove one of them", fixed: []wrong{field("string", "+kubebuilder:validation:Enum=a;b")},
		means: []string{`{"enum":["a","b"],"type":"string"}`},
	},
	{
		name: "enum-of-strings", code: lint.CodeEnum, wrong: field("string", `+kubebuilder:validation:Enum=1.0;b`),
		hint: `write "1.0"`, means: []string{`{"enum":["1.0","b"],"type":"string"}`},
	},
	{
		name: "enum-of-integers", code: lint.CodeEnum, wrong: field("int", `+kubebuilder:validation:Enum="1";2`),
		hint: "write 1", means: []string{`{"enum":[1,2],"type":"integer"}`},
	},
	{
		name: "enum-of-booleans", code: lint.CodeEnum, wrong: field("bool", `+kubebuilder:validation:Enum="true"`),
		hint: "write true", means: []string{`{"enum":[true],"type":"boolean"}`},
	},
	{
		name: "enum-of-a-list", code: lint.CodeEnum, wrong: field("[]string", `+kubebuilder:validation:Enum=a;b`),
		hint:  "write +kubebuilder:validation:items:Enum=a;b",
		means: []string{`{"items":{"enum":["a","b"],"type":"string"},"type":"array"}`},
	},

	{name: "enum-fraction-of-integers", code: lint.CodeEnum, wrong: field("int", `+kubebuilder:validation:Enum="1.5";2`)},

	// Lists.
	{
		name: "key-slip", code: lint.CodeListMapKey, wrong: field("[]Item", "+listType=map", "+listMapKey=nam").with(items),
		hint: "write // +listMapKey=name", means: []string{byName},
	},
	{
		name: "key-unknown", code: lint.CodeListMapKey, wrong: field("[]Item", "+listType=map",
			"+listMapKey=other").with(items),
		hint: "the fields are name, port", fixed: []wrong{field("[]Item", "+listType=map", "+listMapKey=name").with(items)},
		means: []string{byName},
	},
	{
		name: "key-of-nothing", code: lint.CodeListMapKey,
		wrong: field("[]Item", "+listType=map", "+listMapKey=name").with("type Item struct{}"),
		hint:  "Item has no fields", fixed: []wrong{field("[]Item", "+listType=map", "+listMapKey=name").with(items)},
		means: []string{byName},
	},
	{
		name: "key-without-type", code: lint.CodeContradiction, wrong: field("[]Item", "+listMapKey=name").with(items),
		hint: "add // +listType=map", means: []string{byName},
	},
	{
		name: "type-without-key", code: lint.CodeContradiction, wrong: field("[]Item", "+listType=map").with(items),
		hint: "add // +listMapKey=<field>", fixed: []wrong{field("[]Item", "+listType=map", "+listMapKey=name").with(items)},
		means: []string{byName},
	},
	{
		name: "key-of-another-type", code: lint.CodeContradiction, wrong: field("[]Item", "+listType=atomic",
			"+listMapKey=name").with(items),
		hint: "write +listType=map, or remove the key", means: []string{byName, atomic},
	},

	// Paths.
	{
		name: "path-empty", code: lint.CodePath, wrong: kind(`+kubebuilder:printcolumn:name=A,type=string,JSONPath=""`),
		hint: "write a path such as .status.phase", fixed: []wrong{kind(
			"+kubebuilder:printcolumn:name=A,type=string,JSONPath=.status.phase")}, means: []string{"jsonPath: .status.phase\n"},
	},
	{
		name: "path-in-braces", code: lint.CodePath,
		wrong: kind("+kubebuilder:printcolumn:name=A,type=string,JSONPath=`{.spec.field}`"),
		hint:  "write .spec.field", means: []string{"jsonPath: .spec.field\n"},
	},
	{
		name: "path-in-braces-without-dot", code: lint.CodePath,
		wrong: kind("+kubebuilder:printcolumn:name=A,type=string,JSONPath=`{spec.field}`"),
		hint:  "write .spec.field", means: []string{"jsonPath: .spec.field\n"},
	},
	{
		name: "path-of-the-root-in-braces", code: lint.CodePath,
		wrong: kind("+kubebuilder:printcolumn:name=A,type=string,JSONPath=`{$.spec.field}`"),
		hint:  "write .spec.field", means: []string{"jsonPath: .spec.field\n"},
	},
	{
		name: "path-without-dot", code: lint.CodePath, wrong: kind(
			"+kubebuilder:printcolumn:name=A,type=string,JSONPath=spec.field"),
		hint: "write .spec.field", means: []string{"jsonPath: .spec.field\n"},
	},
	{
		name: "path-of-the-root", code: lint.CodePath, wrong: kind("+kubebuilder:selectablefield:JSONPath=$.spec.field"),
		hint: "write .spec.field", means: []string{"selectableFields:\n    - jsonPath: .spec.field\n"},
	},
	{
		name: "path-broken", code: lint.CodePath,
		wrong: kind("+kubebuilder:printcolumn:name=A,type=string,JSONPath=`.spec[`"),
		hint:  "write a path such as .status.phase", fixed: []wrong{kind(
			"+kubebuilder:printcolumn:name=A,type=string,JSONPath=.status.phase")}, means: []string{"jsonPath: .status.phase\n"},
	},
	{
		name: "path-in-braces-broken", code: lint.CodePath,
		wrong: kind("+kubebuilder:printcolumn:name=A,type=string,JSONPath=`{}`"),
		hint:  "write a path such as .status.phase", fixed: []wrong{kind(
			"+kubebuilder:printcolumn:name=A,type=string,JSONPath=.status.phase")}, means: []string{"jsonPath: .status.phase\n"},
	},
	{
		name: "path-that-wants-quotes", code: lint.CodePath,
		wrong: kind("+kubebuilder:printcolumn:name=A,type=string,JSONPath=`{.spec.conditions[?(@.type==\"Ready\")].status}`"),
		hint:  "write `.spec.conditions[?(@.type==\"Ready\")].status`",
		means: []string{"jsonPath: .spec.conditions[?(@.type==\"Ready\")].status\n"},
	},

	// Places.
	{
		name: "far-away", code: lint.CodeIgnored, wrong: wrong{body: "type Spec struct {\n\t// " +
			"+kubebuilder:validation:MinLength=1\n\n\t// More of it.\n\n\t// Field is one.\n\tField string `json:\"field\"`\n}\n"},
		hint:  "move it into the comment right above field Field",
		fixed: []wrong{field("string", "+kubebuilder:validation:MinLength=1", "Field is one.")},
		means: []string{`{"description":"Field is one.","minLength":1,"type":"string"}`},
	},
	{
		name: "line-end", code: lint.CodeIgnored, wrong: wrong{body: "type Spec struct {\n\tField string `json:\"field\"` " +
			"// +kubebuilder:validation:MinLength=1\n}\n"},
		hint:  "write it on its own line above the field",
		fixed: []wrong{field("string", "+kubebuilder:validation:MinLength=1")},
		means: []string{`{"minLength":1,"type":"string"}`},
	},
	{
		name: "function", code: lint.CodeIgnored, wrong: field("string").with("// " +
			"+kubebuilder:validation:MinLength=1\nfunc f(Spec) {}"),
		hint:  "move it above the type or above a field",
		fixed: []wrong{field("string", "+kubebuilder:validation:MinLength=1").with("func f(Spec) {}")},
		means: []string{`{"minLength":1,"type":"string"}`},
	},
	{
		name: "block", code: lint.CodeIgnored, wrong: wrong{kind: "/*\n+kubebuilder:resource:scope=Cluster\n*/\n",
			body: field("string").body},
		hint: "write // +kubebuilder:resource:scope=Cluster", fixed: []wrong{kind("+kubebuilder:resource:scope=Cluster")},
		means: []string{"scope: Cluster"},
	},
	{
		name: "field-for-a-type", code: lint.CodeMisplaced,
		wrong: wrong{body: "type Spec struct {\n\t// +k8s:enum\n\tField Word `json:\"field\"`\n}\n\ntype Word " +
			"string\n\nconst A Word = \"a\"\n"},
		hint: "move it above a type, such as Spec", fixed: []wrong{field("Word").with("// " +
			"+kubebuilder:validation:Enum=a\ntype Word string\n\nconst A Word = \"a\"")},
		means: []string{`{"enum":["a"],"type":"string"}`},
	},
	{
		name: "type-for-a-field", code: lint.CodeMisplaced, wrong: field("Word").with("// +nullable\ntype Word string"),
		hint: "move it above a field", fixed: []wrong{field("Word", "+nullable").with("type Word string")},
		means: []string{`{"nullable":true,"type":"string"}`},
	},
	{
		name: "field-for-a-package", code: lint.CodeMisplaced, wrong: field("string", "+versionName=v2"),
		hint: "move it above the package clause", fixed: []wrong{above("+versionName=v2")}, means: []string{"name: v2"},
	},
	{
		name: "alone", code: lint.CodeMisplaced, wrong: field("Word").with("// +kubebuilder:validation:MinLength=1\n\n// " +
			"More of it.\n\n// Word is one.\ntype Word string"),
		hint:  "move it into the comment right above type Word",
		fixed: []wrong{field("Word").with("// Word is one.\n// +kubebuilder:validation:MinLength=1\ntype Word string")},
		means: []string{`{"description":"Word is one.","minLength":1,"type":"string"}`},
	},
	{
		name: "alone-at-the-end", code: lint.CodeMisplaced,
		wrong: field("string").with("// +kubebuilder:validation:MinLength=1\n\nfunc f(Spec) {}"),
		hint:  "move it into the comment right above the type",
		fixed: []wrong{field("Word").with("// +kubebuilder:validation:MinLength=1\ntype Word string")},
		means: []string{`{"minLength":1,"type":"string"}`},
	},
	{
		name: "alone-for-a-field", code: lint.CodeMisplaced,
		wrong: field("string").with("// +kubebuilder:default=a\n\nfunc f(Spec) {}"),
		hint:  "move it into the comment right above the field", fixed: []wrong{field("string", "+kubebuilder:default=a")},
		means: []string{`{"default":"a","type":"string"}`},
	},
	{
		name: "webhook-of-a-type", code: lint.CodeIgnored, lenient: true, wrong: kind(webhook + "/of-a-type"),
		hint: "put a blank line after the comment with the marker", fixed: []wrong{kind(webhook + "/of-a-type\n")},
		means: []string{"path: /of-a-type\n"},
	},
	{
		name: "webhook-of-a-field", code: lint.CodeIgnored, lenient: true, wrong: field("string", webhook+"/of-a-field"),
		hint: "move it above the package clause", fixed: []wrong{above(webhook + "/of-a-field")},
		means: []string{"path: /of-a-field\n"},
	},
	{
		name: "right-in-a-function", code: lint.CodeIgnored, lenient: true,
		wrong: field("string").with("func f(Spec) {\n\t// +kubebuilder:rbac:groups=body,resources=b,verbs=get\n}"),
		hint:  "move it out of the function", fixed: []wrong{field("string").with("// " +
			"+kubebuilder:rbac:groups=body,resources=b,verbs=get\n\nfunc f(Spec) {}")}, means: []string{"- body\n"},
	},
	{
		name: "right-of-a-function", code: lint.CodeIgnored, lenient: true,
		wrong: field("string").with("// +kubebuilder:rbac:groups=comment,resources=b,verbs=get\nfunc f(Spec) {}"),
		hint:  "put a blank line after the comment with the marker",
		fixed: []wrong{field("string").with("// +kubebuilder:rbac:groups=comment,resources=b,verbs=get\n\nfunc f(Spec) {}")},
		means: []string{"- comment\n"},
	},

	// Rights.
	{
		name: "verb", code: lint.CodeValue, wrong: above("+kubebuilder:rbac:groups=verb,resources=b,verbs=lsit;get", ""),
		hint:  "write list, or allow it with --allow-unknown kubebuilder:rbac",
		means: []string{"- verb\n  resources:\n  - b\n  verbs:\n  - get\n  - list\n"},
	},
	{
		name: "right-to-nothing", code: lint.CodeContradiction, wrong: above("+kubebuilder:rbac:verbs=get", ""),
		hint: "add groups= and resources=, or urls=",
		fixed: []wrong{above("+kubebuilder:rbac:groups=nothing,resources=b,verbs=get", ""),
			above("+kubebuilder:rbac:urls=/nothing,verbs=get", "")},
		means: []string{"- nothing\n", "- /nothing\n"},
	},
	{
		name: "right-to-both", code: lint.CodeContradiction,
		wrong: above("+kubebuilder:rbac:groups=both,resources=b,urls=/both,verbs=get", ""),
		hint:  "write two markers", fixed: []wrong{above("+kubebuilder:rbac:groups=both,resources=b,verbs=get",
			"+kubebuilder:rbac:urls=/both,verbs=get", "")}, means: []string{"- both\n"},
	},
	{
		name: "url-in-a-namespace", code: lint.CodeContradiction,
		wrong: above("+kubebuilder:rbac:urls=/in-namespace,verbs=get,namespace=a", ""),
		hint:  "remove namespace=", fixed: []wrong{above("+kubebuilder:rbac:urls=/in-namespace,verbs=get", "")},
		means: []string{"- /in-namespace\n"},
	},
	{
		name: "right-without-group", code: lint.CodeContradiction,
		wrong: above("+kubebuilder:rbac:resources=groupless,verbs=get", ""),
		hint:  "name the group of the resources; pods and other core resources have groups=\"\"",
		fixed: []wrong{above(`+kubebuilder:rbac:groups="",resources=groupless,verbs=get`, "")},
		means: []string{"- \"\"\n  resources:\n  - groupless\n"},
	},

	// Markers of webhooks and RBAC rules.
	{
		name: "webhook-verb", code: lint.CodeValue, wrong: above(strings.Replace(webhook, "verbs=create", "verbs=creat", 1) +
			"/webhook-verb"),
		hint: "write create", means: []string{"path: /webhook-verb\n"},
	},
	{
		name: "webhook-verbs", code: lint.CodeValue, wrong: above(strings.Replace(webhook, "verbs=create", "verbs=*;create",
			1) + "/webhook-verbs"),
		hint: "remove the other verbs", fixed: []wrong{above(strings.Replace(webhook, "verbs=create", "verbs=*", 1) +
			"/webhook-verbs")}, means: []string{"path: /webhook-verbs\n"},
	},
	{
		name: "webhook-name", code: lint.CodeValue, wrong: above(strings.Replace(webhook, "name=a.b.c", "name=short", 1) +
			"/webhook-name"),
		hint: "write vshort.example.com", means: []string{"name: vshort.example.com\n"},
	},
	{
		name: "webhook-path", code: lint.CodeValue, wrong: above(webhook + "webhook-path"),
		hint: "write /webhook-path", means: []string{"path: /webhook-path\n"},
	},
	{
		name: "webhook-review", code: lint.CodeValue, wrong: above(strings.Replace(webhook, "ReviewVersions=v1",
			"ReviewVersions=v9", 1) + "/webhook-review"),
		hint: "write v1", means: []string{"path: /webhook-review\n"},
	},
	{
		name: "webhook-url", code: lint.CodeValue, wrong: above(strings.Replace(webhook, "path=", "url=`http://webhook-url`",
			1)),
		hint: "write https://webhook-url", fixed: []wrong{above(strings.Replace(webhook, "path=", "url=`https://webhook-url`",
			1))}, means: []string{"url: https://webhook-url\n"},
	},
	{
		name: "webhook-version", code: lint.CodeValue, wrong: above(strings.NewReplacer("groups=a",
			"groups=webhook-version.example.com", "resources=b", "resources=things", "versions=v1,",
			"versions=v9,").Replace(webhook) + "/webhook-version"),
		hint: "write v1", means: []string{"path: /webhook-version\n"},
	},
	{
		name: "webhook-sort", code: lint.CodeContradiction, wrong: above(webhook + "/mutate-sort"),
		hint: "write /validate-sort", means: []string{"path: /validate-sort\n"},
	},
	{
		name: "group-with-version", code: lint.CodeValue,
		wrong: above("+kubebuilder:rbac:groups=apps/v1,resources=with,verbs=get", ""),
		hint:  "write apps", means: []string{"- apps\n  resources:\n  - with\n"},
	},
	{
		name: "resource-in-the-singular", code: lint.CodeValue,
		wrong: above("+kubebuilder:rbac:groups=batch,resources=CronJob,verbs=get", ""),
		hint:  "write cronjobs", means: []string{"- batch\n  resources:\n  - cronjobs\n"},
	},
	{
		name: "url-without-slash", code: lint.CodeValue, wrong: above("+kubebuilder:rbac:urls=healthy,verbs=get", ""),
		hint: "write /healthy", means: []string{"- /healthy\n"},
	},
	{
		name: "two-scopes", code: lint.CodeContradiction,
		wrong: kind("+kubebuilder:resource:scope=Cluster\n// +kubebuilder:resource:shortName=th"),
		hint:  "write both as one marker", fixed: []wrong{kind("+kubebuilder:resource:scope=Cluster,shortName=th")},
		means: []string{"scope: Cluster"},
	},

	// Values.
	{
		name: "unique", code: lint.CodeValue, wrong: field("[]string", "+kubebuilder:validation:UniqueItems=true"),
		hint:  "write +listType=set",
		means: []string{`{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"set"}`},
	},
	{
		name: "unique-objects", code: lint.CodeValue, wrong: field("[]Item",
			"+kubebuilder:validation:UniqueItems=true").with(items),
		hint:  "remove it",
		means: []string{`{"items":{"properties":{"name":{"type":"string"},"port":{"type":"integer"}},"required":["name","port"],"type":"object"},"type":"array"}`},
	},
	{
		name: "choice", code: lint.CodeValue, wrong: kind("+kubebuilder:resource:scope=cluster"),
		hint: "write Cluster", means: []string{"scope: Cluster"},
	},
	{
		name: "pattern", code: lint.CodeValue, wrong: field("string", "+kubebuilder:validation:Pattern=`a(?=b)`"),
		hint:  "patterns have the syntax of Go's package regexp",
		fixed: []wrong{field("string", "+kubebuilder:validation:Pattern=`ab`")},
		means: []string{`{"pattern":"ab","type":"string"}`},
	},
	{
		name: "items-of-no-list", code: lint.CodeMisplaced,
		wrong: field("string", "+kubebuilder:validation:items:MaxLength=3"),
		hint:  "write +kubebuilder:validation:MaxLength", means: []string{`{"maxLength":3,"type":"string"}`},
	},
	{
		name: "length-of-an-integer", code: lint.CodeMisplaced, wrong: field("int", "+kubebuilder:validation:MaxLength=3"),
		hint: "write +kubebuilder:validation:Maximum", means: []string{`{"maximum":3,"type":"integer"}`},
	},
	{
		name: "maximum-of-a-string", code: lint.CodeMisplaced, wrong: field("string", "+kubebuilder:validation:Maximum=3"),
		hint: "write +kubebuilder:validation:MaxLength", means: []string{`{"maxLength":3,"type":"string"}`},
	},
	{
		name: "fraction-of-a-string", code: lint.CodeMisplaced, wrong: field("string", "+kubebuilder:validation:Maximum=1.5"),
		hint: "remove it, or move it to where a number is", means: []string{text},
	},
	{
		name: "less-than-no-string", code: lint.CodeMisplaced, wrong: field("string", "+kubebuilder:validation:Minimum=-1"),
		hint: "remove it, or move it to where a number is", means: []string{text},
	},
	{
		name: "length-of-a-list", code: lint.CodeMisplaced, wrong: field("[]string", "+kubebuilder:validation:MaxLength=3"),
		hint: "write +kubebuilder:validation:MaxItems, or +kubebuilder:validation:items:MaxLength for each item",
		means: []string{`{"items":{"type":"string"},"maxItems":3,"type":"array"}`,
			`{"items":{"maxLength":3,"type":"string"},"type":"array"}`},
	},
	{
		name: "pattern-of-a-list", code: lint.CodeMisplaced, wrong: field("[]string", "+kubebuilder:validation:Pattern=a"),
		hint:  "write +kubebuilder:validation:items:Pattern",
		means: []string{`{"items":{"pattern":"a","type":"string"},"type":"array"}`},
	},
	{
		name: "list-of-a-string", code: lint.CodeMisplaced, wrong: field("string", "+listType=set"),
		hint: "remove it, or move it to where a list is", means: []string{text},
	},
}

// variant is a source with a hint followed.
type variant struct {
	advice
	group        string
	source       string
	allowUnknown string
	means        string
}

// TestHintsLeadSomewhere follows every hint and applies every fix. The result is accepted and has the intended output.
func TestHintsLeadSomewhere(t *testing.T) {
	wrongs := map[string]string{}
	for _, a := range allAdvice {
		if wrongs[a.name] != "" {
			t.Fatalf("%s stands twice", a.name)
		}
		wrongs[a.name] = a.source(a.name)
	}
	dir := writeGroups(t, wrongs)
	strict, lenient := findingsByGroup(t, dir, lint.Config{}), findingsByGroup(t, dir, lint.Config{Lenient: true})
	var variants []variant
	for _, a := range allAdvice {
		found := strict[a.name]
		if a.lenient {
			found = lenient[a.name]
		}
		if len(found) == 0 {
			t.Errorf("%s: nothing is found wrong", a.name)
			continue
		}
		if found[0].Hint != a.hint || found[0].Code != a.code {
			t.Errorf("%s: %v [%s]\ngot hint:  %s\nwant hint: %s", a.name, found[0].Error, found[0].Code, found[0].Hint, a.hint)
			continue
		}
		if a.hint == "" {
			continue
		}
		variants = append(variants, follow(t, a, wrongs[a.name], found[0])...)
	}
	sources := map[string]string{}
	for _, v := range variants {
		sources[v.group] = v.source
	}
	dir = writeGroups(t, sources)
	// Pass only accepted sources to the generators: one mistake would stop all of them.
	strict, lenient = findingsByGroup(t, dir, lint.Config{}), findingsByGroup(t, dir, lint.Config{Lenient: true})
	for _, v := range variants {
		found := strict[v.group]
		if v.lenient {
			found = append(found, lenient[v.group]...)
		}
		if v.allowUnknown != "" {
			found = findingsByGroup(t, dir, lint.Config{AllowUnknown: []string{v.allowUnknown}})[v.group]
		}
		for _, f := range found {
			t.Errorf("%s: the hint %q leads to\n%s\n%v", v.name, v.hint, v.source, f.Error)
		}
		if len(found) > 0 || v.allowUnknown != "" {
			if err := os.RemoveAll(filepath.Join(dir, v.group)); err != nil {
				t.Fatal(err)
			}
		}
	}
	manifests := generated(t, dir)
	for _, v := range variants {
		if v.allowUnknown == "" && len(strict[v.group]) == 0 {
			v.compare(t, manifests)
		}
	}
}

// follow returns the sources for each way to follow a hint.
func follow(t *testing.T, a advice, source string, f lint.Finding) []variant {
	t.Helper()
	var sources []variant
	for i, fixed := range a.fixed {
		group := fmt.Sprintf("%s-%d", a.name, i)
		sources = append(sources, variant{group: group, source: fixed.source(group)})
	}
	if len(a.fixed) == 0 {
		for i, part := range strings.Split(a.hint, ", or ") {
			group := fmt.Sprintf("%s-%d", a.name, i)
			v := variant{group: group}
			if name, ok := strings.CutPrefix(part, "allow it with --allow-unknown "); ok {
				v.source, v.allowUnknown = source, name
			} else if strings.HasPrefix(part, "move it to where ") {
				continue
			} else {
				v.source = edited(t, source, strings.TrimPrefix(part, "write "), f)
			}
			if f.Fix != nil && i == 0 {
				if fixed := source[:f.Fix.Offset] + f.Fix.Text + source[f.Fix.Offset+f.Fix.Length:]; fixed != v.source {
					t.Errorf("%s: the fix is not what the hint says:\n%s", a.name, cmp.Diff(v.source, fixed))
				}
			}
			v.source = strings.Replace(v.source, "+groupName="+a.name+".example.com", "+groupName="+group+".example.com", 1)
			sources = append(sources, v)
		}
	}
	for i := range sources {
		sources[i].advice, sources[i].means = a, a.means[min(i, len(a.means)-1)]
	}
	return sources
}

// edited returns a source in which one way of a hint is followed at a finding.
func edited(t *testing.T, source, hint string, f lint.Finding) string {
	t.Helper()
	lines := strings.Split(source, "\n")
	at, column := f.Pos.Line-1, f.Pos.Column-1
	begin := strings.Index(lines[at], "// +") + len("// ")
	indent := lines[at][:strings.Index(lines[at], "//")]
	hint = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(hint, " for each item"), "for example "), "// ")
	name, _, hasValue := strings.Cut(hint, "=")
	isMarker := strings.HasPrefix(hint, "+")
	_, given, _ := strings.Cut(lines[at], "=")
	switch {
	case strings.HasPrefix(hint, "add // "):
		lines = slices.Insert(lines, at, indent+strings.TrimPrefix(hint, "add "))
	case strings.HasPrefix(hint, "remove "):
		lines = slices.Delete(lines, at, at+1)
	case isMarker && hasValue && f.Code == lint.CodeContradiction:
		other := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line),
				"// "+name+"=")
		})
		lines[other] = indent + "// " + hint
	case isMarker && f.Code == lint.CodeMisplaced:
		lines[at] = lines[at][:begin] + hint + "=" + given
	case isMarker:
		lines[at] = lines[at][:begin] + hint
	case strings.HasSuffix(hint, "="):
		end := column + strings.Index(lines[at][column:], "=") + 1
		lines[at] = lines[at][:column] + hint + lines[at][end:]
	default:
		end := strings.IndexAny(lines[at][column:], ";,")
		if end < 0 || f.Code == lint.CodeDefault {
			end = len(lines[at]) - column
		}
		lines[at] = lines[at][:column] + hint + lines[at][column+end:]
	}
	return strings.Join(lines, "\n")
}

func writeGroups(t *testing.T, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	oracle.Module(t, dir, "example.com/project")
	for group, source := range sources {
		oracle.Write(t, dir, group+"/v1/types.go", source)
	}
	return dir
}

func findingsByGroup(t *testing.T, dir string, config lint.Config) map[string][]lint.Finding {
	t.Helper()
	program, err := load.Load(t.Context(), load.Config{Dir: dir, Lenient: config.Lenient})
	if err != nil {
		t.Fatal(err)
	}
	findings, _ := lint.Check(program, config)
	byGroup := map[string][]lint.Finding{}
	for _, f := range findings {
		group, _, _ := strings.Cut(f.Pos.Filename, "/")
		byGroup[group] = append(byGroup[group], f)
	}
	return byGroup
}

// generated returns the manifests of the packages in dir.
func generated(t *testing.T, dir string) map[string]string {
	t.Helper()
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, generate.Options{Generators: []string{generate.CRD, generate.RBAC,
		"webhook"}}); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for change := range p.Changes() {
		files[change.Path] = string(change.After)
	}
	return files
}

func (v variant) compare(t *testing.T, manifests map[string]string) {
	t.Helper()
	text := manifests["config/crd/bases/"+v.group+".example.com_things.yaml"]
	if !strings.HasPrefix(v.means, "{") {
		if !strings.Contains(text+manifests["config/rbac/role.yaml"]+manifests["config/webhook/manifests.yaml"], v.means) {
			t.Errorf("%s: the manifests do not have\n%s\nbut\n%s", v.group, v.means, text)
		}
		return
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(text), &crd); err != nil || len(crd.Spec.Versions) != 1 {
		t.Fatalf("%s: %v\n%s", v.group, err, text)
	}
	schema, err := yaml.Marshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["field"])
	if err == nil {
		schema, err = yaml.YAMLToJSON(schema) // sorted by key
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(schema) != v.means {
		t.Errorf("%s: spec.field is\n%s, want\n%s", v.group, schema, v.means)
	}
}

// verbs are the accepted beginnings of hints. TestEveryHintHasARow rejects other hints.
var verbs = regexp.MustCompile(`^(?:write|add|remove|move|change|give|name|say|put|for example|the (?:subresources|arguments|fields|marker)|patterns) `)

// TestEveryHintHasARow parses the hints in the source of the rules.
func TestEveryHintHasARow(t *testing.T) {
	codes := map[string]bool{}
	for _, a := range allAdvice {
		codes[strconv.Quote(a.code)] = true
	}
	for name, file := range ruleFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if strings.HasPrefix(n.Names[0].Name, "Code") && !codes[n.Values[0].(*ast.BasicLit).Value] {
					t.Errorf("%s: no row for %s", name, n.Names[0].Name)
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hint" {
					wantVerb(t, name, n.Value)
				}
			case *ast.BasicLit:
				if hint, err := strconv.Unquote(n.Value); err == nil && verbs.MatchString(hint) && !hasRow(hint) {
					t.Errorf("%s: no row for the hint %q", name, hint)
				}
			}
			return true
		})
	}
}

func wantVerb(t *testing.T, name string, hint ast.Expr) {
	t.Helper()
	if literal, ok := hint.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(literal.Value); err != nil || !verbs.MatchString(text) {
			t.Errorf("%s: the hint %s does not begin with what is to do", name, literal.Value)
		}
	}
}

// hasRow reports whether a row contains a hint, given its format or its first words.
func hasRow(hint string) bool {
	pattern := regexp.MustCompile(`%[sqdv]`).ReplaceAllString(regexp.QuoteMeta(hint), ".*")
	return slices.ContainsFunc(allAdvice, func(a advice) bool {
		return regexp.MustCompile("^" +
			pattern).MatchString(a.hint)
	})
}

// ruleFiles returns the source files that contain hints.
func ruleFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range append(names, "../markers/spelling.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	if len(slices.Collect(maps.Keys(files))) < 2 {
		t.Fatal("no rules")
	}
	return files
}
