package postprocess

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/postprocess.md")

// part is a manifest in the format of controller-gen.
const part = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.23.0
  name: parts.example.com
spec:
  group: example.com
  names:
    kind: Part
    listKind: PartList
    plural: parts
    singular: part
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: Part is one.
        properties:
          metadata:
            type: object
          spec:
            properties:
              items:
                items:
                  properties:
                    name:
                      description: Name is <a> or </a> other.
                      type: string
                    value:
                      type: string
                  required:
                  - name
                  - value
                  type: object
                type: array
                x-kubernetes-list-map-keys:
                - name
                x-kubernetes-list-type: map
              limits:
                additionalProperties:
                  type: string
                type: object
              size:
                enum:
                - 1
                type: integer
            required:
            - items
            - size
            type: object
        type: object
    served: true
    storage: true
`

const role = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager
rules:
- apiGroups:
  - a
  resources:
  - b
  verbs:
  - get
- apiGroups:
  - c
  resources:
  - d
  verbs:
  - get
`

// input returns both manifests.
func input() Input {
	return Input{
		Files: []artifact.File{
			{Path: "config/crd/example.com_parts.yaml", Content: []byte(part), Generator: "crd"},
			{Path: "config/rbac/role.yaml", Content: []byte(role), Generator: "rbac"},
			{Path: "api/zz_generated.deepcopy.go", Content: []byte("package api\n"), Generator: "object"},
		},
		Ran:  []string{"object", "crd", "rbac"},
		Read: func(string) ([]byte, error) { return nil, os.ErrNotExist },
	}
}

// applied returns the output file with a name.
func applied(t *testing.T, declaration, name string) string {
	t.Helper()
	d, err := Parse("f", []byte(declaration))
	if err != nil {
		t.Fatal(err)
	}
	files, err := d.Apply(input())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == name {
			return string(f.Content)
		}
	}
	return ""
}

// TestOperations checks the removed and added lines of each operation.
func TestOperations(t *testing.T) {
	crd, rbac := "config/crd/example.com_parts.yaml", "config/rbac/role.yaml"
	tests := []struct{ operation, patch, file, want string }{
		{"delete", `{kinds: Part, at: "spec.items[]", delete: required}`, crd, "- required: - - name - - value"},
		{"set", `{kinds: Part, at: "spec.items[].name", set: {maxLength: 3}}`, crd, "+ maxLength: 3"},
		{"append", `{kinds: Part, at: spec.size, append: {enum: [2, 3], description: Size.}}`, crd,
			"+ description: Size. + - 2 + - 3"},
		{"replace", `{kinds: Part, at: "spec.limits{}", replace: {type: integer, description: It is.}}`, crd,
			"- type: string + description: It is. + type: integer"},
		{"fields", `{kinds: Part, at: metadata, fields: {name: {type: string, pattern: ^a$}}}`, crd,
			"+ properties: + name: + pattern: ^a$ + type: string"},
		{"remove", `{kinds: Part, at: spec.size, remove: true}`, crd, "- size: - enum: - - 1 - type: integer - - size"},
		{"partial", `{kinds: Part, at: spec, partial: true}`, crd, "- - value - required: - - items - - size"},
		{"cutText", `{kinds: Part, at: "**", cutText: {from: <a>, to: </a>}}`, crd,
			"- description: Name is <a> or </a> other. + description: Name is other."},
		{"annotations", `{kinds: Part, annotations: {controller-gen.kubebuilder.io/version: null, b: 1}}`, crd,
			"- controller-gen.kubebuilder.io/version: v0.23.0 + b: \"1\""},
		{"labels", `{kinds: ClusterRole, labels: {a: b}}`, rbac, "+ labels: + a: b"},
		{"name", `{kinds: ClusterRole, name: other}`, rbac, "- name: manager + name: other"},
		{"merge", `{kinds: Part, merge: {spec: {scope: Cluster, names: {singular: null, shortNames: [p]}}}}`, crd,
			"- singular: part - scope: Namespaced + shortNames: + - p + scope: Cluster"},
		{"emptyVersion", `{kinds: Part, emptyVersion: {name: v0}}`, crd,
			"+ - name: v0 + schema: + openAPIV3Schema: + type: object + served: false + storage: false"},
		{"dropRules", `{kinds: ClusterRole, dropRules: a}`, rbac, "- - a - resources: - - b - verbs: - - get - - apiGroups:"},
		{"keepRules", `{kinds: ClusterRole, keepRules: a}`, rbac, "- - apiGroups: - - c - resources: - - d - verbs: - - get"},
		{"lists", `{kinds: ClusterRole, lists: indented, keepRules: a}`, rbac,
			"+ - apiGroups: + - a + resources: + - b + verbs: + - get"},
		{"maxBytes", `{kinds: Part, maxBytes: 100000}`, crd, ""},
	}
	tried := map[string]bool{}
	for _, test := range tests {
		tried[test.operation] = true
		before, after := part, applied(t, "patches: ["+test.patch+"]", test.file)
		if test.file == rbac {
			before = role
		}
		if test.operation == "lists" {
			before = "" // every line differs
			_, after, _ = strings.Cut(after, "rules:\n")
		}
		if diff := cmp.Diff(test.want, changedLines(before, after)); diff != "" {
			t.Errorf("%s: %s", test.patch, diff)
		}
	}
	for _, name := range operationNames() {
		if !tried[name] {
			t.Errorf("nothing tries %s", name)
		}
	}
}

// changedLines returns the removed and added lines, without indents.
func changedLines(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			out, i = append(out, "- "+strings.TrimSpace(a[i])), i+1
		default:
			out, j = append(out, "+ "+strings.TrimSpace(b[j])), j+1
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.Join(out, " "), "-  "), " ")
}

func TestNothingDeclaredChangesNothing(t *testing.T) {
	for _, declaration := range []string{"", "# nothing\n", "patches: []\n",
		"patches: [{kinds: Part, set: {type: object}}]\n"} {
		if got := applied(t, declaration, "config/crd/example.com_parts.yaml"); got != part {
			t.Errorf("%q: %s", declaration, cmp.Diff(part, got))
		}
		if got := applied(t, declaration, "config/rbac/role.yaml"); got != role {
			t.Errorf("%q: %s", declaration, cmp.Diff(role, got))
		}
	}
}

func TestNewKeysComeLastIfAsked(t *testing.T) {
	got := applied(t, "newKeys: last\npatches: [{kinds: Part, at: spec.size, set: {minimum: 1, maximum: 5}}]",
		"config/crd/example.com_parts.yaml")
	if want := "                type: integer\n                minimum: 1\n                maximum: 5\n"; !strings.Contains(got, want) {
		t.Error(got)
	}
}

// TestPaths checks the targets of paths.
func TestPaths(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(`{properties: {a: {items: {properties: {b: {additionalProperties: {properties: {c: {}, "d.e": {}}}}}}}, "[]": {}, c: {}}}`), &root); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"": "1", "a": "1", "a[].b{}.c": "1", `a[].b{}."d.e"`: "1", "**.c": "2", "**": "9", "*": "3", "a.**": "6",
		"a.**.c": "1", `"[]"`: "1",
		"**.**": "9", "**.*": "6", "a[].*": "1", "[]": "0", "a.b": "0", "a{}": "0", "a[]b": "error", "a.": "error",
		".a": "error", "a..b": "error", "a[": "error", "a]": "error", `a"`: "error", `"a`: "error", `"a"b`: "error",
	} {
		got := "error"
		if p, err := parsePath(text); err == nil {
			got = fmt.Sprint(len(p.match(root.Content[0])))
			if p.String() != text {
				t.Errorf("%q is written %q", text, p)
			}
		}
		if got != want {
			t.Errorf("%q leads to %s places, want %s", text, got, want)
		}
	}
}

// TestManyStepsOfAnyDepthAreLinear checks that the cost is not exponential: otherwise the test would not terminate.
func TestManyStepsOfAnyDepthAreLinear(t *testing.T) {
	schema := &yaml.Node{Kind: yaml.MappingNode}
	for range 200 {
		fields := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "a"}, schema}}
		schema = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "properties"},
			fields}}
	}
	p, err := parsePath(strings.TrimSuffix(strings.Repeat("**.a.", 60), "."))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.match(schema)); n != 141 {
		t.Errorf("%d places", n)
	}
}

// TestPrintedObjectsAreReadTheSame prints random values in both styles and reads them back.
func TestPrintedObjectsAreReadTheSame(t *testing.T) {
	words := []string{"a", "yes", "1", "0x1", "1e3", "~", "null", "true", " b", "c: d", "- e", "# f", "line\nline\n",
		"line\n\n line", "\ttab", "ü", "'", `"`, "2001-01-01", "0o7", "", "{{ .A }}", strings.Repeat("word ", 40)}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var value func(depth int) any
		value = func(depth int) any {
			switch n := r.IntN(8); {
			case n < 2 && depth > 0:
				m := map[string]any{}
				for range r.IntN(4) {
					m[words[r.IntN(len(words))]] = value(depth - 1)
				}
				return m
			case n < 4 && depth > 0:
				var l []any
				for range r.IntN(4) {
					l = append(l, value(depth-1))
				}
				return l
			}
			return []any{words[r.IntN(len(words))], r.IntN(100), true, 1.5, nil}[min(r.IntN(8), 4)]
		}
		want := map[string]any{"kind": "Some", "value": value(4)}
		text, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var wanted any
		if err := yaml.Unmarshal(text, &wanted); err != nil {
			t.Fatal(err)
		}
		for _, lists := range []listStyle{asGenerated, compact, indented} {
			m, err := parseManifest(artifact.File{Content: text})
			if err != nil {
				t.Fatal(err)
			}
			m.documents[0].changed, m.documents[0].lists = true, lists
			printed, err := m.documents[0].print()
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := yaml.Unmarshal([]byte(printed), &got); err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("%s: %s\n%s\n%s", lists, diff, text, printed)
			}
		}
	}
}

// FuzzParse checks that Parse neither panics nor returns an error without a position.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"patches: [{kinds: Part, at: a, delete: type}]", "outputs: [{kinds: '*', dir: a}]",
		"a: &a [*a]", "a: &a\n b: *a", "- x", "patches: [[[]]]", "outputs: [1]", "patches: {}", "newKeys: []"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("f", []byte(text))
		for _, single := range diagnostic.All(err) {
			if e, ok := errors.AsType[*diagnostic.Error](single); !ok || e.Pos.Line == 0 {
				t.Errorf("no place: %v", single)
			}
		}
		if err == nil {
			_, err = d.Apply(input())
			for _, single := range diagnostic.All(err) {
				if e, ok := errors.AsType[*diagnostic.Error](single); !ok || e.Pos.Line == 0 {
					t.Errorf("no place: %v", single)
				}
			}
		}
	})
}

// TestDocumentation compares the tables of docs/postprocess.md with the declared keys.
func TestDocumentation(t *testing.T) {
	name := filepath.Join("..", "..", "..", "docs", "postprocess.md")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	d := &Declaration{}
	var rows []string
	for _, o := range operations {
		rows = append(rows, row(o.name, o.usage))
	}
	text = withTable(t, text, "## The file", documented(declarationKeys))
	text = withTable(t, text, "## A patch", documented(patchKeys))
	text = withTable(t, text, "## Operations of a patch", rows)
	text = withTable(t, text, "## An output", documented(d.outputKeys()))
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(content), text); diff != "" {
		t.Errorf("run with -update: %s", diff)
	}
}

func row(name, usage string) string { return "| `" + name + "` | " + usage + " |" }

func documented[T any](keys []key[T]) []string {
	var rows []string
	for _, k := range keys {
		rows = append(rows, row(k.name, k.usage))
	}
	return rows
}

// withTable replaces the rows of the first table below a heading.
func withTable(t *testing.T, text, heading string, rows []string) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	at := slices.Index(lines, heading)
	for at >= 0 && at < len(lines) && lines[at] != "|---|---|" {
		at++
	}
	if at < 0 || at == len(lines) {
		t.Fatalf("no table below %s", heading)
	}
	end := at + 1
	for strings.HasPrefix(lines[end], "|") {
		end++
	}
	return strings.Join(slices.Concat(lines[:at+1], rows, lines[end:]), "\n")
}
