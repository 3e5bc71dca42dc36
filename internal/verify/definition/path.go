package definition

import (
	"cmp"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/expression"
)

// Path is a place in a CRD of version v1.
type Path struct {
	// Steps are the keys of mappings, and the indexes of lists as digits, from the root of the manifest.
	Steps []string
	// Version is the index in spec.versions, or -1.
	Version int
	// Object is the field of objects that the schema at this place describes, as in expression.RuleProblem. InSchema
	// reports whether the place is in a schema. The schema of whole objects has an empty Object. schema is the schema
	// itself, if the path comes from an error of the API server's validation.
	Object   []string
	InSchema bool
	schema   *apiextensionsv1.JSONSchemaProps
	// Key is the keyword with the problem: the first step after the schema of the field, or after the version. Index is
	// the index in the list of Key, or -1.
	Key   string
	Index int
	// Argument is the last step below Key, such as "rule" of a validation rule or "jsonPath" of a column.
	Argument string
}

// Field returns the field of objects at the path, such as spec.ports[].name.
func (p Path) Field() string { return expression.RuleProblem{Path: p.Object}.Field() }

// String returns the field in the notation of kubectl explain, followed by the keyword: spec.ports[]
// x-kubernetes-list-map-keys.
func (p Path) String() string {
	if !p.InSchema {
		var text strings.Builder
		for _, step := range p.Steps {
			if _, err := strconv.Atoi(step); err == nil {
				text.WriteString("[" + step + "]")
			} else {
				text.WriteString("." + step)
			}
		}
		return strings.TrimPrefix(text.String(), ".")
	}
	return strings.TrimSuffix(cmp.Or(p.Field(), "the schema")+" "+p.Key, " ")
}

// moved maps fields to their places in v1. The internal form of a CRD has these fields at its top level if they are the
// same in all versions.
var moved = []struct{ internal, v1 string }{
	{"spec.validation", "spec.versions[0].schema"},
	{"spec.subresources", "spec.versions[0].subresources"},
	{"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"},
	{"spec.selectableFields", "spec.versions[0].selectableFields"},
	{"spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"},
	{"spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"},
	{"spec.schema", "spec.versions[0].schema"},
}

// parsePath converts a path in the internal form, as in errors of the API server's validation, to a place.
func parsePath(text string, crd *apiextensionsv1.CustomResourceDefinition) Path {
	if text == "spec.version" {
		text = "spec.versions[0].name"
	}
	for _, m := range moved {
		if rest, ok := strings.CutPrefix(text, m.internal); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			text = m.v1 + rest
			break
		}
	}
	p := pathParser{rest: text, Path: Path{Version: -1, Index: -1}}
	p.parse(crd)
	return p.Path
}

// pathParser splits a path. Keys of maps are in brackets and may contain brackets, so it looks them up in the schema.
type pathParser struct {
	Path
	rest string
}

func (p *pathParser) parse(crd *apiextensionsv1.CustomResourceDefinition) {
	if rest, ok := strings.CutPrefix(p.rest, "spec.versions["); ok {
		index, after, _ := strings.Cut(rest, "]")
		if i, err := strconv.Atoi(index); err == nil && i < len(crd.Spec.Versions) {
			p.Version, p.rest = i, after
			p.Steps = append(p.Steps, "spec", "versions", index)
			if inSchema, ok := strings.CutPrefix(after, ".schema.openAPIV3Schema"); ok && crd.Spec.Versions[i].Schema != nil {
				p.Steps = append(p.Steps, "schema", "openAPIV3Schema")
				p.InSchema, p.rest, p.schema = true, inSchema, crd.Spec.Versions[i].Schema.OpenAPIV3Schema
				p.parseSchema()
			}
		}
	}
	p.parseRest()
}

// parseSchema follows the steps that lead to schemas of fields.
func (p *pathParser) parseSchema() {
	for p.schema != nil {
		switch {
		case strings.HasPrefix(p.rest, ".properties["):
			name, ok := longestKey(p.rest[len(".properties["):], p.schema.Properties)
			if !ok {
				return
			}
			child := p.schema.Properties[name]
			p.enter(&child, name, len(".properties[")+len(name)+1, "properties", name)
		case p.rest == ".items" || strings.HasPrefix(p.rest, ".items."):
			if p.schema.Items == nil {
				return
			}
			p.enter(p.schema.Items.Schema, expression.Items, len(".items"), "items")
		case p.rest == ".additionalProperties" || strings.HasPrefix(p.rest, ".additionalProperties."):
			if p.schema.AdditionalProperties == nil {
				return
			}
			p.enter(p.schema.AdditionalProperties.Schema, expression.Values, len(".additionalProperties"),
				"additionalProperties")
		default:
			return
		}
	}
}

func (p *pathParser) enter(schema *apiextensionsv1.JSONSchemaProps, field string, length int, steps ...string) {
	p.schema, p.rest = schema, p.rest[length:]
	p.Object = append(p.Object, field)
	p.Steps = append(p.Steps, steps...)
}

// longestKey returns the longest key of a map that is a prefix of text and precedes a closing bracket.
func longestKey[V any](text string, of map[string]V) (longest string, found bool) {
	for key := range of {
		if strings.HasPrefix(text, key+"]") && (!found || len(key) > len(longest)) {
			longest, found = key, true
		}
	}
	return longest, found
}

// parseRest splits the rest into names separated by dots, and indexes and keys in brackets.
func (p *pathParser) parseRest() {
	first := true
	for p.rest != "" {
		var step string
		if p.rest[0] == '[' {
			step, p.rest, _ = strings.Cut(p.rest[1:], "]")
			if i, err := strconv.Atoi(step); err == nil && p.Index < 0 && p.Argument == "" {
				p.Index = i
			}
		} else {
			p.rest = strings.TrimPrefix(p.rest, ".")
			end := strings.IndexAny(p.rest, ".[")
			if end < 0 {
				end = len(p.rest)
			}
			step, p.rest = p.rest[:end], p.rest[end:]
			if step == "JSONPath" {
				step = "jsonPath"
			}
			if first {
				p.Key, first = step, false
			} else {
				p.Argument = step
			}
		}
		p.Steps = append(p.Steps, step)
	}
}

// Steps splits a path in the notation of decoders, such as spec.versions[0].schema.openAPIV3Schema.properties.size.typ.
func Steps(path string, crd *apiextensionsv1.CustomResourceDefinition) []string {
	return parsePath(path, crd).Steps
}
