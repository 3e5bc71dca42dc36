package upgrade

import (
	"bytes"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"go.yaml.in/yaml/v3"
)

// sameRequests reports whether two versions of a file select the same requests, in a webhook marker or in a policy. It
// is necessary because older versions of kctrl did not record these flags in PROJECT.
func sameRequests(name string, one, other []byte) bool {
	switch path.Ext(name) {
	case ".go":
		return slices.Equal(gosource.WebhookMarkers(one), gosource.WebhookMarkers(other))
	case ".yaml":
		return bytes.Equal(constraints(one), constraints(other))
	}
	return true
}

// constraints returns, as YAML, the fields with which a file's policies select requests.
func constraints(text []byte) []byte {
	docs, err := edit.Documents(text)
	if err != nil {
		return nil
	}
	var all []byte
	for _, doc := range docs {
		for _, field := range []string{"failurePolicy", "matchConstraints", "matchConditions"} {
			if node := yamlnode.Value(doc.Content[0], "spec", field); node != nil {
				var value any
				if node.Decode(&value) != nil {
					return nil
				}
				if text, err := yaml.Marshal(map[string]any{field: value}); err == nil {
					all = append(all, text...)
				}
			}
		}
	}
	return all
}
