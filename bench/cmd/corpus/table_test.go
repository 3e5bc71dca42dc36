package main

import (
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

func TestTableCountsByGenerator(t *testing.T) {
	crd, other := "---\nkind: CustomResourceDefinition\nx: 1\n", "---\nkind: CustomResourceDefinition\nx: 2\n"
	role := "---\napiVersion: v1\nkind: ClusterRole\n"
	var got table
	got.count("p", "a.yaml", crd)
	got.count("p", "b.yaml", crd)
	got.count("p", "role.yaml", role)
	got.add("p", "a.yaml", &crd, &crd)
	got.add("p", "b.yaml", &crd, &other)
	got.add("p", "b.yaml", &crd, &other)
	got.add("p", "role.yaml", &role, nil)
	got.add("p", "zz_generated.deepcopy.go", nil, &role)
	got.exit("p", []string{"crd", "paths=./..."}, nil, &corpus.Failed{Tool: "kctrl", Code: 1, Stderr: "no\nway\n"})
	var out strings.Builder
	got.print(&out)
	want := `| project | generator | files | bytes | compared | identical |
|---|---|---:|---:|---:|---:|
| p | crd | 2 | 80 | 3 | 1 |
| p | rbac | 1 | 37 | 1 | 0 |
| p | object | 0 | 0 | 1 | 0 |
| all |  | 3 | 117 | 5 | 1 |

- p: b.yaml: line 3: controller-gen has "x: 1", kctrl has "x: 2"
- p: role.yaml: written by controller-gen only
- p: zz_generated.deepcopy.go: written by kctrl only
- p: crd paths=./...: only kctrl fails: kctrl: exit code 1: no
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	if got.same() {
		t.Error("a table with differences counts as identical")
	}
}

func TestEmptyTableIsNotTheSame(t *testing.T) {
	if new(table).same() {
		t.Error("an empty table counts as identical")
	}
}
