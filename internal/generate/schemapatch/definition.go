package schemapatch

import (
	"encoding/json"
	"fmt"
	"go/token"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// added is the style in which controller-gen adds a key.
var added = yamlnode.Insert{Style: yaml.DoubleQuotedStyle}

// definition is a CustomResourceDefinition as written in a file.
type definition struct {
	name     string // of the file
	path     string // of the file, for messages
	kind     schema.GroupKind
	versions []string
	node     *yaml.Node
}

// parse returns nil for a file that is not a CustomResourceDefinition, or not YAML.
func parse(m manifest) (*definition, error) {
	var meta metav1.TypeMeta
	if err := kyaml.Unmarshal(m.content, &meta); err != nil || meta.APIVersion == "" ||
		meta.Kind != "CustomResourceDefinition" {
		return nil, nil
	}
	if supported := apiextensionsv1.SchemeGroupVersion.String(); meta.APIVersion != supported {
		return nil, diagnostic.In(m.path, fmt.Sprintf("apiVersion %s is not supported", meta.APIVersion),
			"convert the definition to "+supported)
	}
	var content struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct{ Name string }
		}
	}
	var node yaml.Node
	if kyaml.Unmarshal(m.content, &content) != nil || yaml.Unmarshal(m.content, &node) != nil {
		return nil, nil
	}
	kind := schema.GroupKind{Group: content.Spec.Group, Kind: content.Spec.Names.Kind}
	d := &definition{name: m.name, path: m.path, kind: kind, node: &node}
	for _, version := range content.Spec.Versions {
		d.versions = append(d.versions, version.Name)
	}
	return d, nil
}

// patch puts schemas, by version, into the definition.
func (d *definition) patch(schemas map[string]apiextensionsv1.JSONSchemaProps) error {
	spec := yamlnode.Value(d.node.Content[0], "spec")
	yamlnode.Remove(spec, "validation")
	versions := yamlnode.Value(spec, "versions")
	if versions == nil {
		return d.errorAt(spec, "spec.versions is missing")
	}
	if versions.Kind != yaml.SequenceNode {
		return d.errorAt(versions, "spec.versions is no list")
	}
	for _, version := range versions.Content {
		name := yamlnode.Value(version, "name")
		if name == nil || name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" || name.Value == "" {
			return d.errorAt(version, "the name of a version is missing, or no string")
		}
		props, known := schemas[name.Value]
		if !known {
			yamlnode.Remove(version, "schema")
			continue
		}
		node, err := asNode(props)
		if err != nil {
			return fmt.Errorf("schema of %s version %s: %w", d.kind, name.Value, err)
		}
		added.Set(added.Ensure(version, "schema"), "openAPIV3Schema", node)
	}
	return nil
}

func (d *definition) errorAt(node *yaml.Node, message string) error {
	pos := token.Position{Filename: d.path}
	if node != nil {
		pos.Line, pos.Column = node.Line, node.Column
	}
	return diagnostic.At(pos, message, "write versions as a list of mappings, each with a name")
}

// untyped returns an error about a version whose package does not declare the kind.
func (d *definition) untyped(version, importPath string) error {
	err := diagnostic.In(d.path,
		fmt.Sprintf("version %s has no Go type: package %s does not declare %s", version, importPath, d.kind.Kind),
		"take the version out of the file, or declare the type")
	versions := yamlnode.Value(d.node.Content[0], "spec", "versions")
	for i := 0; versions != nil && i < len(versions.Content); i++ {
		if name := yamlnode.Value(versions.Content[i], "name"); name != nil && name.Value == version {
			err.Pos.Line, err.Pos.Column = name.Line, name.Column
		}
	}
	return err
}

// asNode converts value to YAML, in the style of the encoder.
func asNode(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	plain(document.Content[0])
	return document.Content[0], nil
}

func plain(node *yaml.Node) {
	node.Style = 0
	for _, child := range node.Content {
		plain(child)
	}
}
