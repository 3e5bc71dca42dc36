package fields_test

import (
	"errors"
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/fields"
)

func parse(t *testing.T, spec ...string) *fields.Model {
	t.Helper()
	m, err := fields.Parse(fields.Request{Kind: "Guestbook", Namespaced: true, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFieldsInGo shows the Go code for each flag.
func TestFieldsInGo(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		spec  string
		types string
	}{
		"a required number": {[]string{"size:int32,min=1"},
			"// size is the size.\n// +required\n// +kubebuilder:validation:Minimum=1\nSize int32 `json:\"size\"`\n", ""},
		"zero is no value of it": {[]string{"size:int32,min=1,default=3"},
			"// size is the size.\n// +optional\n// +kubebuilder:validation:Minimum=1\n// +default=3\nSize int32 " +
				"`json:\"size,omitempty\"`\n", ""},
		"zero is a value of it": {[]string{"size:int32,default=3"},
			"// size is the size.\n// +optional\n// +default=3\nSize *int32 `json:\"size,omitempty\"`\n", ""},
		"a flag that may be left out": {[]string{"paused:bool,optional"},
			"// paused is the paused.\n// +optional\nPaused *bool `json:\"paused,omitempty\"`\n", ""},
		"capitals of Go": {[]string{`podIp:string,format=ipv4,doc="podIp is where it is."`},
			"// podIp is where it is.\n// +required\n// +kubebuilder:validation:Format=ipv4\nPodIP string `json:\"podIp\"`\n",
			""},
		"an enum": {[]string{"mode:string,enum=Fast|Very Safe"},
			"// mode is Fast or Very Safe.\n// +required\nMode GuestbookMode `json:\"mode\"`\n",
			"// GuestbookMode is mode of a Guestbook.\n// +kubebuilder:validation:Enum=Fast;\"Very Safe\"\ntype GuestbookMode " +
				"string\n\n// The values of GuestbookMode.\nconst (\n\tGuestbookModeFast GuestbookMode = " +
				"\"Fast\"\n\tGuestbookModeVerySafe GuestbookMode = \"Very Safe\"\n)\n"},
		"constraints of items": {[]string{"tags:[]string,maxItems=5,unique,maxLength=3"},
			"// tags are the tags.\n// +required\n// +listType=set\n// +kubebuilder:validation:MaxItems=5\n// " +
				"+kubebuilder:validation:items:MaxLength=3\nTags []string `json:\"tags\"`\n", ""},
		"a rule with commas and quotes": {[]string{`size:int32,rule="self in [1, 2] || 'a,b' == \"c\"",message="one, or two"`}, "// size is the size.\n// +required\n// +kubebuilder:validation:XValidation:rule=\"self in [1, 2] || 'a,b' == \\\"c\\\"\",message=\"one, or two\"\nSize int32 `json:\"size\"`\n", ""},
		"defaults of an object nobody spoke of": {[]string{"template.size:int32,default=1"},
			"// template is the template.\n// +optional\n// +default={}\nTemplate GuestbookTemplate " +
				"`json:\"template,omitzero\"`\n", "// GuestbookTemplate is template of a Guestbook.\ntype GuestbookTemplate " +
				"struct {\n\t// size is the size.\n\t// +optional\n\t// +default=1\n\tSize *int32 `json:\"size,omitempty\"`\n}\n"},
		"a reference": {[]string{"configRef:ref=ConfigMap,optional"},
			"// configRef names a ConfigMap.\n// +optional\nConfigRef *GuestbookConfigMapReference " +
				"`json:\"configRef,omitempty\"`\n", "// GuestbookConfigMapReference names a ConfigMap in the namespace of the " +
				"Guestbook.\ntype GuestbookConfigMapReference struct {\n\t// name of the ConfigMap.\n\t// +required\n\t// " +
				"+kubebuilder:validation:MinLength=1\n\t// +kubebuilder:validation:MaxLength=253\n\tName string " +
				"`json:\"name\"`\n}\n"},
		"a list with a key, in whatever order": {[]string{"ports[].port:int32,min=1", "ports:[]object,key=port,minItems=1"},
			"// ports are the ports.\n// +required\n// +listType=map\n// +listMapKey=port\n// " +
				"+kubebuilder:validation:MinItems=1\nPorts []GuestbookPorts `json:\"ports,omitempty\"`\n",
			"// GuestbookPorts is one of ports of a Guestbook.\ntype GuestbookPorts struct {\n\t// port is the port.\n\t// " +
				"+required\n\t// +kubebuilder:validation:Minimum=1\n\tPort int32 `json:\"port\"`\n}\n"},
		"a list of conditions": {[]string{"checks:[]condition"},
			"// checks are the checks.\n// +required\n// +listType=map\n// +listMapKey=type\nChecks []metav1.Condition " +
				"`json:\"checks\"`\n", ""},
		"patterns keep their backslashes": {[]string{`id:string,pattern="^\d{2,4}$"`},
			"// id is the id.\n// +required\n// +kubebuilder:validation:Pattern=`^\\d{2,4}$`\nID string `json:\"id\"`\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			golang := parse(t, test.flags...).Golang()
			spec := ""
			for line := range strings.Lines(golang.Spec) {
				spec += strings.TrimPrefix(line, "\t")
			}
			if spec != test.spec {
				t.Errorf("the fields are\n%s\nwant\n%s", spec, test.spec)
			}
			if golang.Types != test.types {
				t.Errorf("the types are\n%s\nwant\n%s", golang.Types, test.types)
			}
			if _, err := format.Source([]byte("package p\ntype s struct {\n" + golang.Spec + "}\n" + golang.Types)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMistakesInFields expects one line per mistake that quotes the invalid part, and a hint.
func TestMistakesInFields(t *testing.T) {
	for _, test := range []struct{ flag, part, message, hint string }{
		{"size", `"size"`, "the type is missing", "write --field size:string"},
		{"size:", `"size:"`, "the type is missing", "write --field size:string"},
		{":int32", "", "the name is missing", "write --field size:int32"},
		{"size:int33", `at "int33"`, "unknown type", "did you mean int32?"},
		{"size:integer", `at "integer"`, "unknown type", "did you mean int32?"},
		{"size:float64", `at "float64"`, "unknown type",
			"floating-point numbers differ between languages: use quantity, or int64 of a smaller unit"},
		{"my_size:int32", `at "my_size"`, "invalid field name", "did you mean mySize?"},
		{"Size:int32", `at "Size"`, "invalid field name", "did you mean size?"},
		{"size:int32,mni=1", `at "mni=1"`, "unknown constraint", "did you mean min?"},
		{"size:int32,min=x", `at "min=x"`, "not a whole number", "write min=1"},
		{"size:int32,min", `at "min"`, "a value is required", "write min=1"},
		{"size:int32,optional=yes", `at "optional=yes"`, "a value is not allowed", "write optional, or omit it"},
		{"size:int32,min=1,min=2", `at "min=2"`, "duplicate constraint", "remove one of them"},
		{"size:int32,,min=1", `at ","`, "empty constraint", "put one comma between two constraints, and none at the end"},
		{"size:int32,min=5,max=3", "", "min=5 is more than max=3", "no value satisfies both: change one of them"},
		{"size:int32,min=5,default=3", `at "default=3"`, "3 is less than min=5", "write default=5"},
		{"size:int32,default=x", `at "default=x"`, `"x" is not a whole number`, "write default=1"},
		{"size:int32,required,optional", `at "optional"`, "a field cannot be required and optional", "remove one of them"},
		{"size:int32,required,default=1", `at "required"`, "a field with a default is optional", "remove required"},
		{"size:int32,minLength=1", `at "minLength=1"`, "a int32 has no minLength", "did you mean min?"},
		{"name:string,max=3", `at "max=3"`, "a string has no max", "did you mean maxLength?"},
		{"name:string,pattern=[a", `at "[a"`, "a quote or bracket is not closed", ""},
		{"name:string,pattern='[a'", `at "pattern='[a'"`, "not a regular expression: missing closing ]: `[a`", ""},
		{"name:string,format=url", `at "format=url"`, "API servers do not check this format", "did you mean uri?"},
		{"mode:string,enum=A||B", `at "enum=A||B"`, "empty value between two |", "write enum=Fast|Safe"},
		{"mode:string,enum=A|A", `at "enum=A|A"`, `"A" is repeated`, "remove one of them"},
		{"mode:string,enum=A|B,default=C", `at "default=C"`, `"C" is not in the enum`, "write default=A"},
		{`size:int32,rule="self > 0`, "", "a quote or bracket is not closed", ""},
		{"size:int32,message=no", `at "message=no"`, "a message must follow a rule", ""},
		{"tags:[][]string", `at "[][]string"`, "flags cannot declare a list or map of lists or maps",
			"use []object, with the list as a field"},
		{"labels:map[int32]string", `at "map[int32]string"`, "the keys of a map must be strings", "write map[string]string"},
		{"ready:condition", `at "condition"`, "conditions must be a list", "write ready:[]condition"},
		{"template:object", `at "object"`, "an object requires fields", "add --field template.name:string"},
		{"ports:[]object,key=name", `at "[]object"`, "an object requires fields", "add --field ports[].name:string"},
		{"ref:ref=configmap", `at "ref=configmap"`, "a reference requires a kind",
			"write ref=ConfigMap, or ref=ConfigMap/key for a key in it"},
		{"tags:[]string,minItems=3,unique,enum=A|B", "", "no valid value was found",
			"add one for the sample and the tests: example=VALUE"},
		{"when:duration,default=soon", `at "default=soon"`, `"soon" is not a time such as 90s or 5m`, "write default=90s"},
		{"size:int32,doc=+optional", `at "doc=+optional"`, "text that starts with + is a marker in Go",
			"start it with a word"},
	} {
		_, err := fields.Parse(fields.Request{Kind: "Guestbook", Namespaced: true, Spec: []string{test.flag}})
		all := diagnostic.All(err)
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || len(all) != 1 || !errors.Is(err, diagnostic.ErrUsage) {
			t.Errorf("%s: got %v, want one usage error", test.flag, err)
			continue
		}
		if !strings.HasPrefix(e.Message, "--field "+diagnostic.Quote(test.flag)) || !strings.Contains(e.Message, test.part) ||
			!strings.HasSuffix(e.Message, ": "+test.message) {
			t.Errorf("%s: got %q, want the flag, %q and %q", test.flag, e.Message, test.part, test.message)
		}
		if e.Hint == "" || test.hint != "" && e.Hint != test.hint {
			t.Errorf("%s: got the hint %q, want %q", test.flag, e.Hint, test.hint)
		}
	}
}

// TestMistakesBetweenFields checks combinations of flags, each of which is valid alone.
func TestMistakesBetweenFields(t *testing.T) {
	for message, r := range map[string]fields.Request{
		`at "deepCopy": every object in Go has a method DeepCopy`:         {Spec: []string{"deepCopy:string"}},
		`at "deepCopyInto": every object in Go has a method DeepCopyInto`: {Spec: []string{"a.deepCopyInto:[]string"}},
		`at "size": duplicate of the field size`:                          {Spec: []string{"size:int32", "size:string"}},
		`at "podIP": duplicate of the field podIp`: {Spec: []string{"podIp:string",
			"podIP:string"}},
		`at "size": size is a int32, which has no fields`: {Spec: []string{"size:int32",
			"size.max:int32"}},
		`at "ports": ports is a list`: {Spec: []string{"ports[].name:string",
			"ports.size:int32"}},
		`at "key=nmae": the items have no field "nmae"`: {Spec: []string{"ports:[]object,key=nmae",
			"ports[].name:string"}},
		`at "conditions": every status has conditions`:    {Status: []string{"conditions:[]condition"}},
		`at "required": a new object has an empty status`: {Status: []string{"size:int32,required"}},
		`at ".spec.sise": unknown field "sise"`: {Spec: []string{"size:int32"},
			Columns: []string{"Size:integer:.spec.sise"}},
		`at "integer": .spec.name is not of type integer`: {Spec: []string{"name:string"},
			Columns: []string{"Name:integer:.spec.name"}},
		`at "int": unknown type of a column`: {Spec: []string{"size:int32"},
			Columns: []string{"Size:int:.spec.size"}},
		`a column requires a name, a type and a path`: {Spec: []string{"size:int32"},
			Columns: []string{"Size"}},
		`at ".status.replicas": unknown field "replicas"`: {Spec: []string{"replicas:int32"},
			Scale: ".spec.replicas,.status.replicas"},
		`at ".spec.name": not of type integer`: {Spec: []string{"name:string"},
			Status: []string{"replicas:int32"}, Scale: ".spec.name,.status.replicas"},
		`at ".spec.replicas": not of type integer`: {Spec: []string{"replicas:string"},
			Scale: "default"},
		`the paths of the replicas in spec and status are required`:           {Scale: ".spec.replicas"},
		`"size:int32": objects of the previous version do not have the field`: {Spec: []string{"size:int32"}, Further: true},
	} {
		r.Kind, r.Namespaced = "Guestbook", true
		_, err := fields.Parse(r)
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !strings.HasSuffix(e.Message, message) || e.Hint == "" {
			t.Errorf("%+v: got %v, want it to end in %q, and a hint", r, err, message)
		}
	}
}

// TestColumnsAndScale checks columns and a scale whose paths exist.
func TestColumnsAndScale(t *testing.T) {
	m, err := fields.Parse(fields.Request{
		Kind: "Guestbook", Spec: []string{"pods[].name:string", "labels:map[string]string,optional", "when:time"},
		Scale: "default",
		Columns: []string{
			"Ready:string:.status.conditions[?(@.type=='Ready')].status", "First:string:.spec.pods[0].name",
			"App:string:.spec.labels.app,wide",
			"When:date:.spec.when", "Born:date:.metadata.creationTimestamp", "Replicas:integer:.spec.replicas",
			"Has:integer:.status.replicas",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Scale().Marker(),
		"+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := m.Columns()[2].Marker(),
		`+kubebuilder:printcolumn:name="App",type="string",JSONPath=".spec.labels.app",priority=1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTypesTakeNoNameTwice checks that a type has neither the name of another field's type nor a name of the package.
func TestTypesTakeNoNameTwice(t *testing.T) {
	m, err := fields.Parse(fields.Request{
		Kind: "Guestbook", Spec: []string{"spec.a:string", "list.a:string", "mode:string,enum=A", "modeField:string,enum=B"},
		Taken: func(name string) bool { return name == "GuestbookMode" },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GuestbookSpecField", "GuestbookListField", "GuestbookModeField",
		"GuestbookModeFieldField"} {
		if !strings.Contains(m.Golang().Types, "type "+name+" ") {
			t.Errorf("there is no type %s:\n%s", name, m.Golang().Types)
		}
	}
}

// FuzzParse requires that every flag is either rejected in one line or becomes valid Go.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"size:int32,min=1,default=3", "a.b[].c:string,pattern=^a{1,3}$", "m:map[string]quantity",
		"r:ref=Secret/key", `x:string,rule="self == 'a,b'",message='no'`, "a:[]object,key=b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := fields.Parse(fields.Request{Kind: "Guestbook", Spec: []string{text}})
		if err != nil {
			for _, e := range diagnostic.All(err) {
				if d, ok := errors.AsType[*diagnostic.Error](e); !ok || d.Hint == "" || strings.ContainsAny(d.Message, "\n\r") {
					t.Errorf("%q: %v", text, e)
				}
			}
			return
		}
		golang := m.Golang()
		if _, err := format.Source([]byte("package p\ntype s struct {\n" + golang.Spec + "}\n" + golang.Types)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := m.Sample(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// TestSampleNamesAreTexts checks field names such as on, y and null, which YAML 1.1, as used by kubectl, does not parse
// as strings.
func TestSampleNamesAreTexts(t *testing.T) {
	m, err := fields.Parse(fields.Request{Kind: "Guestbook", Spec: []string{"on:bool", "o.y:string", "x[].n:int32",
		"null:int32", "e1:int32"}})
	if err != nil {
		t.Fatal(err)
	}
	sample, err := m.Sample()
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := sigsyaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"on": true, "o": map[string]any{"y": "y"}, "x": []any{map[string]any{"n": 1.0}}, "null": 1.0,
		"e1": 1.0}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("%s (-want +got)\n%s", text, diff)
	}
}
