// Package change lists the differences between two CRDs with the same name that may break clients or objects.
//
// It compares keywords, and reports too many changes rather than too few. A change to a schema breaks something only if
// an object exists that one CRD accepts and the other rejects or changes; package witness searches for such an object.
// If the comparison itself shows that no such object can exist, the change contains the reason.
package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/expression"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
)

// Class is the kind of breakage of a change.
type Class string

// The classes, in the order of reports.
const (
	// Writers are clients that write: the new CRD rejects their objects or drops part of them.
	Writers Class = "writers"
	// Readers are clients that read: fields or resources that they expect are missing, or fields have values that they do
	// not know.
	Readers Class = "readers"
	// Stored objects change without a write, or can no longer be updated.
	Stored Class = "stored"
	// Downgrade is the return to the old CRD: it rejects or changes objects written with the new one.
	Downgrade Class = "downgrade"
)

// Classes are all classes.
var Classes = []Class{Writers, Readers, Stored, Downgrade}

// Schema is a schema of a CRD.
type Schema = apiextensionsv1.JSONSchemaProps

// The keywords of changes outside of schemas.
const (
	KeywordCRD        = "crd"
	KeywordScope      = "scope"
	KeywordNames      = "names"
	KeywordVersion    = "version"
	KeywordStorage    = "storage"
	KeywordConversion = "conversion"
	KeywordColumn     = "printer-column"
	KeywordSelectable = "selectable-field"
	KeywordStatus     = "status-subresource"
	KeywordScale      = "scale-subresource"
	KeywordPruning    = "preserve-unknown-fields"
	KeywordField      = "field"
	KeywordType       = "type"
	KeywordDefault    = "default"
	KeywordRequired   = "required"
	KeywordNullable   = "nullable"
	KeywordEnum       = "enum"
	KeywordFormat     = "format"
	KeywordPattern    = "pattern"
	KeywordListType   = "list-type"
	KeywordMapType    = "map-type"
	KeywordRule       = "rule"
	KeywordValues     = "additional-properties"
	KeywordEmbedded   = "embedded-resource"
)

// Change is one difference, described from the stricter side.
type Change struct {
	// Version is the API version. Empty means all versions.
	Version string
	// Path is the field, as in expression.RuleProblem.
	Path    []string
	Keyword string
	// Name is the subject of the keyword: a required field, a column, a rule.
	Name    string
	Message string
	Breaks  []Class
	// Backward reports whether the old CRD is the stricter one.
	Backward bool
	// Lenient and Strict are the schemas of the field on both sides. They are nil outside of schemas.
	Lenient, Strict *Schema
	// Why is the reason why no object can show the change. Empty means that an object may show it.
	Why string
	// Otherwise is used as Why if the search finds no object.
	Otherwise string
}

// Field returns the field, such as spec.ports[].name.
func (c *Change) Field() string {
	return expression.RuleProblem{Path: c.Path}.Field()
}

// Key identifies the change independently of its direction.
func (c *Change) Key() string {
	name := c.Name
	if c.Keyword == KeywordRequired || c.Keyword == KeywordField {
		return strings.Join([]string{c.Version, c.Field(), c.Keyword, name}, "\x00")
	}
	if c.Lenient != nil && c.Keyword != KeywordRule && c.Keyword != KeywordStorage {
		name = ""
	}
	return strings.Join([]string{c.Version, c.Field(), c.Keyword, name}, "\x00")
}

// keys maps keywords to their keys in manifests if the names differ.
var keys = map[string]string{
	KeywordListType: "x-kubernetes-list-type", KeywordMapType: "x-kubernetes-map-type",
	KeywordRule:   "x-kubernetes-validations",
	KeywordValues: "additionalProperties", KeywordPruning: "x-kubernetes-preserve-unknown-fields",
	KeywordEmbedded: "x-kubernetes-embedded-resource", KeywordField: "properties", KeywordStorage: "properties",
}

// Problem returns the change as a problem of a CRD, for callers that find the source of such problems.
func (c *Change) Problem(crd *apiextensionsv1.CustomResourceDefinition) definition.Problem {
	version := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == c.Version
	})
	p := definition.Path{Version: version, Index: -1, Steps: []string{"spec"}}
	if version >= 0 {
		p.Steps = append(p.Steps, "versions", strconv.Itoa(version))
	}
	switch {
	case c.Lenient != nil && version >= 0:
		p.InSchema, p.Object = true, c.Path
		p.Steps = append(p.Steps, "schema", "openAPIV3Schema")
		if c.Keyword == KeywordRequired || c.Keyword == KeywordField && c.Backward {
			p.Object = below(c.Path, c.Name)
		}
		for _, step := range p.Object {
			p.Steps = append(p.Steps, stepsOf(step)...)
		}
		p.Key = c.Keyword
		if key, ok := keys[c.Keyword]; ok {
			p.Key = key
		}
		if c.Keyword == KeywordRequired || c.Keyword == KeywordField {
			p.Key = "properties" // no marker creates "properties": the position is the field, or the type that contained it
		}
		p.Steps = append(p.Steps, p.Key)
	case c.Keyword == KeywordColumn:
		p.Key = "additionalPrinterColumns"
		p.Steps = append(p.Steps, p.Key)
		p.Index = slices.IndexFunc(columns(crd, version),
			func(column apiextensionsv1.CustomResourceColumnDefinition) bool { return column.Name == c.Name })
		if p.Index < 0 && version >= 0 {
			p.Key, p.Index = "", -1
		} else {
			p.Steps = append(p.Steps, strconv.Itoa(p.Index))
		}
	case c.Keyword == KeywordStatus, c.Keyword == KeywordScale:
		p.Key = "subresources"
		p.Steps = append(p.Steps, p.Key)
	case c.Keyword == KeywordScope, c.Keyword == KeywordNames, c.Keyword == KeywordConversion:
		p.Key = c.Keyword
		p.Steps = append(p.Steps, p.Key)
	}
	problem := definition.Problem{Path: p, Code: "diff-" + c.Keyword, Message: c.Message}
	if c.Keyword == KeywordRule {
		problem.Rule = c.Name
	}
	return problem
}

func columns(crd *apiextensionsv1.CustomResourceDefinition,
	version int) []apiextensionsv1.CustomResourceColumnDefinition {
	if version < 0 {
		return nil
	}
	return crd.Spec.Versions[version].AdditionalPrinterColumns
}

// stepsOf returns the schema steps that lead to a part of an object.
func stepsOf(step string) []string {
	switch step {
	case expression.Items:
		return []string{"items"}
	case expression.Values:
		return []string{"additionalProperties"}
	}
	return []string{"properties", step}
}

// changed describes the change of a keyword: added, removed or another value. before and after are the values in the
// old and the new CRD.
func changed(keyword, before, after string) string {
	switch {
	case before == "":
		return fmt.Sprintf("%s %s was added", keyword, after)
	case after == "":
		return fmt.Sprintf("%s %s was removed", keyword, before)
	}
	return fmt.Sprintf("%s changed from %s to %s", keyword, before, after)
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
