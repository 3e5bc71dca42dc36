package definition

import (
	"testing"

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

func TestProbe(t *testing.T) {
	crd := read(t, widget)
	for range 2 {
		problems, err := Refused(crd)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Logf("%s %s: %s\n hint %s\n %q", p.Code, p.Text(), "", p.Hint, p.Path.Steps)
		}
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		size := spec.Properties["size"]
		size.Default = nil
		spec.Properties["size"] = size
	}
}
