package diff_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// base is the CRD that the labeled changes patch.
const base = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}, status: {type: object, properties: {phase: {type: string}}}}}}
`

// labeled is a row of testdata/changes.yaml.
type labeled struct {
	Name             string
	Old, New         json.RawMessage
	OldSpec, NewSpec json.RawMessage
	OldCRD, NewCRD   json.RawMessage
	Break            []string
}

func readTable(t *testing.T) []labeled {
	t.Helper()
	text, err := os.ReadFile("testdata/changes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table []labeled
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	return table
}

// crdOf returns a CRD with the schema of spec.f, that of spec, or a patch. It is nil if a patch is missing.
func crdOf(t *testing.T, field, spec, patch json.RawMessage, patched bool) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	if patched && patch == nil {
		return nil
	}
	text, err := yaml.YAMLToJSON([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if patched {
		if text, err = jsonpatch.MergePatch(text, patch); err != nil {
			t.Fatal(err)
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	var s change.Schema
	switch {
	case spec != nil:
		err = json.Unmarshal(spec, &s)
		root.Properties["spec"] = s
	case field != nil:
		err = json.Unmarshal(field, &s)
		root.Properties["spec"] = change.Schema{Type: "object", Properties: map[string]change.Schema{"f": s}}
	}
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

func (l *labeled) sides(t *testing.T) (before, after *apiextensionsv1.CustomResourceDefinition) {
	patched := l.OldCRD != nil || l.NewCRD != nil
	before, after = crdOf(t, l.Old, l.OldSpec, l.OldCRD, patched), crdOf(t, l.New, l.NewSpec, l.NewCRD, patched)
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{before, after} {
		if crd == nil {
			continue
		}
		if refused, err := definition.Refused(crd); err != nil || len(refused) > 0 {
			t.Errorf("%s: API servers refuse the CRD: %v %v", l.Name, refused, err)
		}
	}
	return before, after
}

func sideOf(name string, crd *apiextensionsv1.CustomResourceDefinition) *input.Side {
	side := &input.Side{Name: name, CRDs: map[string]*input.CRD{}}
	if crd != nil {
		side.CRDs[crd.Name] = &input.CRD{CustomResourceDefinition: crd}
	}
	return side
}

// TestLabeledChangesAreFound compares each pair of the table: everything that breaks is reported, and nothing else. The
// witnesses are confirmed by servers that have one of the CRDs each.
func TestLabeledChangesAreFound(t *testing.T) {
	table := readTable(t)
	breaking, witnesses := 0, 0
	for _, l := range table {
		before, after := l.sides(t)
		report, err := diff.Compare(t.Context(), sideOf("old", before), sideOf("new", after), diff.Options{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range report.Findings {
			line := strings.Join([]string{f.Field, f.Change, strings.ReplaceAll(f.Classes(), ", ", ",")}, " ")
			if f.Shown() == nil {
				line += " !"
			} else {
				witnesses++
			}
			got = append(got, line)
			confirm(t, l.Name, before, after, f.Witness)
			confirm(t, l.Name, after, before, f.Backward)
		}
		slices.Sort(got)
		slices.Sort(l.Break)
		breaking += len(l.Break)
		if !slices.Equal(got, l.Break) {
			t.Errorf("%s: got %q, want %q", l.Name, got, l.Break)
			for _, f := range report.Findings {
				t.Logf("  %s: %s", f.Title(), f.Outcome("old", "new"))
			}
		}
	}
	t.Logf("%d changes, %d breaks, %d with witness", len(table), breaking, witnesses)
	if len(table) < 80 {
		t.Errorf("%d labeled changes, want 80", len(table))
	}
}

// confirm checks a witness with new servers.
func confirm(t *testing.T, name string, lenient, strict *apiextensionsv1.CustomResourceDefinition, w *witness.Witness) {
	t.Helper()
	if w == nil {
		return
	}
	if reason := witness.Confirm(witness.NewServer(lenient), witness.NewServer(strict), w); reason != "" {
		t.Errorf("%s: the witness %v is none: %s", name, w.Object, reason)
	}
}
