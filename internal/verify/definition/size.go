package definition

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	// lastApplied is the maximum total length of the annotations of an object, in bytes. kubectl apply without
	// --server-side writes the whole manifest into an annotation.
	lastApplied = 262144
	// stored is the maximum size of an object in etcd's default configuration, in bytes.
	stored = 1536 << 10
)

// Size returns a problem of a CRD that is too large: in refused if etcd rejects it, and in dead if only client-side
// apply fails.
func Size(crd *apiextensionsv1.CustomResourceDefinition) (refused, dead []Problem) {
	text, err := json.Marshal(crd)
	if err != nil || len(text) <= lastApplied {
		return nil, nil
	}
	described := 0
	for i := range crd.Spec.Versions {
		if s := crd.Spec.Versions[i].Schema; s != nil {
			described += descriptions(s.OpenAPIV3Schema)
		}
	}
	p := Problem{
		Path: Path{Steps: []string{"metadata", "name"}, Version: -1, Index: -1}, Code: CodeSize,
		Hint: "shorten descriptions (--crd-max-desc-len of kctrl manifests), or serve fewer versions",
	}
	isStored, limit := len(text) <= stored, fmt.Sprintf("etcd stores at most %d per object", stored)
	if isStored {
		limit = fmt.Sprintf("kubectl apply writes at most %d into its annotation", lastApplied)
		p.Hint = "apply it with kubectl apply --server-side, or shorten descriptions (--crd-max-desc-len of kctrl manifests)"
	}
	p.Message = fmt.Sprintf("the CRD has %d bytes in JSON, but %s; descriptions take %d %%", len(text), limit,
		described*100/len(text))
	if isStored {
		return nil, []Problem{p}
	}
	return []Problem{p}, nil
}

// descriptions returns the total length of the descriptions in a schema.
func descriptions(s *apiextensionsv1.JSONSchemaProps) int {
	if s == nil {
		return 0
	}
	sum := len(s.Description)
	for _, property := range s.Properties {
		sum += descriptions(&property)
	}
	if s.Items != nil {
		sum += descriptions(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		sum += descriptions(s.AdditionalProperties.Schema)
	}
	return sum
}
