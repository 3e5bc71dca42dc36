// Package labeled contains CRD changes, each labeled with the clients and objects that it breaks.
package labeled

import (
	_ "embed"
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed changes.yaml
var changes []byte

// base is the CRD that changes patch.
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

// Change is a change of a CRD.
type Change struct {
	Name string
	// Old and New are the schemas of the field spec.f before and after the change, OldSpec and NewSpec the schemas of
	// spec, and OldCRD and NewCRD merge patches for the whole CRD.
	Old, New         json.RawMessage
	OldSpec, NewSpec json.RawMessage
	OldCRD, NewCRD   json.RawMessage
	// Break has a line for each breaking change: the field, the keyword and the classes, followed by "!" if no witness
	// exists.
	Break []string
}

// Changes returns all changes.
func Changes() ([]Change, error) {
	var all []Change
	err := yaml.Unmarshal(changes, &all)
	return all, err
}

// CRDs returns the CRD before and after the change. A missing CRD is nil.
func (c *Change) CRDs() (before, after *apiextensionsv1.CustomResourceDefinition, err error) {
	patched := c.OldCRD != nil || c.NewCRD != nil
	if before, err = crdOf(c.Old, c.OldSpec, c.OldCRD, patched); err == nil {
		after, err = crdOf(c.New, c.NewSpec, c.NewCRD, patched)
	}
	return before, after, err
}

// crdOf returns a CRD with a schema of spec.f, a schema of spec, or a patch. It is nil if a patch is missing.
func crdOf(field, spec, patch json.RawMessage, patched bool) (*apiextensionsv1.CustomResourceDefinition, error) {
	if patched && patch == nil {
		return nil, nil
	}
	text, err := yaml.YAMLToJSON([]byte(base))
	if err == nil && patched {
		text, err = jsonpatch.MergePatch(text, patch)
	}
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil || patched {
		return crd, err
	}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	var s apiextensionsv1.JSONSchemaProps
	switch {
	case spec != nil:
		err = json.Unmarshal(spec, &s)
		root.Properties["spec"] = s
	case field != nil:
		err = json.Unmarshal(field, &s)
		root.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object",
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"f": s}}
	}
	return crd, err
}
