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

// TooLarge returns a problem if etcd rejects a CRD of this size.
func TooLarge(crd *apiextensionsv1.CustomResourceDefinition) []Problem {
	size, from := sizes(crd)
	if size <= stored {
		return nil
	}
	return []Problem{whole(fmt.Sprintf("the CRD has %d bytes in JSON, but etcd stores at most %d per object; %s", size,
		stored, from))}
}

// Large returns a problem if client-side apply fails for a CRD of this size.
func Large(crd *apiextensionsv1.CustomResourceDefinition) []Problem {
	size, from := sizes(crd)
	if size <= lastApplied || size > stored {
		return nil
	}
	p := whole(fmt.Sprintf("the CRD has %d bytes in JSON, but kubectl apply writes at most %d into its annotation; %s",
		size, lastApplied, from))
	p.Hint = "apply it with kubectl apply --server-side, or shorten descriptions (--crd-max-desc-len of kctrl manifests)"
	return []Problem{p}
}

func whole(message string) Problem {
	return Problem{
		Path: Path{Steps: []string{"metadata", "name"}, Version: -1, Index: -1}, Code: CodeSize, Message: message,
		Hint: "shorten descriptions (--crd-max-desc-len of kctrl manifests), or serve fewer versions",
	}
}

// sizes returns the length of a CRD as JSON, and a string with the share of its descriptions.
func sizes(crd *apiextensionsv1.CustomResourceDefinition) (size int, from string) {
	text, err := json.Marshal(crd)
	if err != nil {
		return 0, ""
	}
	described := 0
	for i := range crd.Spec.Versions {
		if s := crd.Spec.Versions[i].Schema; s != nil {
			described += descriptions(s.OpenAPIV3Schema)
		}
	}
	return len(text), fmt.Sprintf("descriptions take %d %%", described*100/max(len(text), 1))
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
