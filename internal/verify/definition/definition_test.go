package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const widget = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: x}
              tags:
                type: array
                items: {type: string}
                x-kubernetes-validations:
                - rule: self.all(t, t.contains("x"))
              items:
                type: array
                items:
                  type: object
                  properties: {name: {type: string}, sub: {type: array, items: {type: string}}}
                  x-kubernetes-validations:
                  - rule: self.sub.all(t, self.name.contains(t))
`

func read(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// change returns the widget CRD with a part replaced.
func change(t *testing.T, old, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	if !strings.Contains(widget, old) {
		t.Fatalf("no %q", old)
	}
	return read(t, strings.Replace(widget, old, text, 1))
}

func TestCostNamesTheBoundThatDominates(t *testing.T) {
	problems, err := Refused(change(t, ", default: x", ""))
	if err != nil {
		t.Fatal(err)
	}
	var hints []string
	for _, p := range problems {
		hints = append(hints, p.Path.Field()+": "+p.Hint)
	}
	want := []string{
		"spec.items[]: spec.items has no maxItems, which dominates the cost: the rule fits with maxItems=64 on spec.items " +
			"and maxItems=64 on spec.items[].sub and maxLength=64 on spec.items[].name and maxLength=200 on spec.items[].sub[]",
		"spec.tags: spec.tags has no maxItems, which dominates the cost: the rule fits with maxItems=20",
	}
	if diff := cmp.Diff(want, hints); diff != "" {
		t.Error(diff)
	}
	fits := change(t, ", default: x}", "}\n              unused: {type: string}")
	tags := fits.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["tags"]
	tags.MaxItems = new(int64(20))
	fits.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["tags"] = tags
	for _, p := range must(t, fits) {
		if p.Path.Field() == "spec.tags" {
			t.Errorf("with the bound of the hint: %s", p.Text())
		}
	}
}

func must(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) []Problem {
	t.Helper()
	problems, err := Refused(crd)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

func TestPathsWithBracketsInNames(t *testing.T) {
	crd := change(t, "size: {type: integer, default: x}", `"a].b[0]": {type: integer, default: x}`)
	problems := must(t, crd)
	if len(problems) != 1 || problems[0].Path.Field() != "spec.a].b[0]" || problems[0].Path.Key != "default" {
		t.Errorf("%+v", problems)
	}
}

func TestDeadParts(t *testing.T) {
	for part, want := range map[string]string{
		"additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.sizes}]":                   "did you mean size?",
		"additionalPrinterColumns: [{name: A, type: string, jsonPath: '.spec.items[0].name'}]":         "",
		"additionalPrinterColumns: [{name: A, type: date, jsonPath: .metadata.creationTimestamp}]":     "",
		"additionalPrinterColumns: [{name: A, type: string, jsonPath: '.spec.items[?(@.name)].nope'}]": "did you mean name?",
		"subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}":      "the fields here are spec",
		"subresources: {status: {}}": "add the field status, or remove the subresource",
	} {
		crd := change(t, "    storage: true\n", "    storage: true\n    "+part+"\n")
		var hints []string
		for _, p := range Dead(crd, nil) {
			hints = append(hints, p.Hint)
		}
		if got := strings.Join(hints, "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
}

// TestBoundsFitIntoTheirFormats checks bounds with which an API server accepts the CRD but rejects each object.
func TestBoundsFitIntoTheirFormats(t *testing.T) {
	for field, want := range map[string]string{
		"size: {type: integer, format: int32, maximum: 4294967295}": "maximum: 4294967295 does not fit into int32",
		"size: {type: integer, format: int64, maximum: 4294967295}": "",
		"size: {type: integer, maximum: 4294967295}":                "",
		"size: {type: integer, minimum: -1e30}":                     "does not fit into integer",
		"size: {type: number, maximum: 1e30}":                       "",
	} {
		crd := change(t, "size: {type: integer, default: x}", field)
		var messages []string
		for _, p := range Dead(crd, nil) {
			messages = append(messages, p.Path.Field()+"."+p.Path.Key+": "+p.Message)
		}
		if got := strings.Join(messages, "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
