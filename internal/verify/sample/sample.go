// Package sample checks objects against the CRDs of a project with the libraries of API servers: unknown fields,
// defaults, schemas, lists and CEL validation rules.
package sample

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The codes of problems.
const (
	CodeKind    = "sample-kind"    // no CRD serves the kind and version
	CodeField   = "sample-field"   // the schema has no such field
	CodeValue   = "sample-value"   // the schema rejects a value
	CodeRule    = "sample-rule"    // a validation rule is false
	CodeExample = "sample-example" // an invalid example is accepted, or rejected for another reason
)

// Problem is one reason why an API server rejects or changes an object.
type Problem struct {
	// Field is the field with the problem, such as spec.ports[0].name. Empty means the object.
	Field               string
	Code, Message, Hint string
}

// Kinds are the kinds of a set of CRDs. The zero value is empty.
type Kinds struct {
	schemas map[schema.GroupVersionKind]*Schema
	groups  map[string]bool
}

// Schema is the schema of one version of a kind.
type Schema struct {
	given    *apiextensionsv1.JSONSchemaProps
	unserved bool
	// The forms of the schema that the libraries require, computed on first use. err is set if that failed.
	props      *apiextensions.JSONSchemaProps
	structural *structuralschema.Structural
	openapi    *spec.Schema
	rules      *schemacel.Validator
	made       bool
	err        error
}

// NewSchema returns the schema of the objects of a kind that clients can write.
func NewSchema(given *apiextensionsv1.JSONSchemaProps) *Schema { return &Schema{given: given} }

// Add adds the kind of a CRD.
func (k *Kinds) Add(crd *apiextensionsv1.CustomResourceDefinition) {
	if k.schemas == nil {
		k.schemas, k.groups = map[schema.GroupVersionKind]*Schema{}, map[string]bool{}
	}
	k.groups[crd.Spec.Group] = true
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			k.schemas[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name,
				Kind: crd.Spec.Names.Kind}] = &Schema{given: v.Schema.OpenAPIV3Schema, unserved: !v.Served}
		}
	}
}

// HasGroup reports whether a CRD defines kinds of a group.
func (k *Kinds) HasGroup(group string) bool { return k.groups[group] }

// Check returns the problems of creating an object, and changes the object as API servers would. It returns nil for an
// object of a group that no CRD defines.
func (k *Kinds) Check(gvk schema.GroupVersionKind, object map[string]any) []Problem {
	return k.CheckUpdate(gvk, object, nil)
}

// Reshape removes unknown fields from an object and sets defaults, as an API server does when it reads an object from
// its store.
func (k *Kinds) Reshape(gvk schema.GroupVersionKind, object map[string]any) {
	if of := k.schemas[gvk]; of != nil && of.prepare() == nil {
		pruning.Prune(object, of.structural, true)
		of.setDefaults(object)
	}
}

// Prune removes the fields from an object that the schema of its version does not have.
func (k *Kinds) Prune(gvk schema.GroupVersionKind, object map[string]any) {
	if of := k.schemas[gvk]; of != nil && of.prepare() == nil {
		pruning.Prune(object, of.structural, true)
	}
}

// CheckUpdate is like Check for an object that replaces before. A nil before means creation.
func (k *Kinds) CheckUpdate(gvk schema.GroupVersionKind, object, before map[string]any) []Problem {
	if !k.groups[gvk.Group] {
		return nil
	}
	of := k.schemas[gvk]
	if of == nil {
		return []Problem{{
			Field: "kind", Code: CodeKind,
			Message: fmt.Sprintf("no CRD of the project has %s %s", gvk.GroupVersion(), gvk.Kind),
			Hint:    "use an existing kind and version, or delete the sample",
		}}
	}
	return of.CheckUpdate(gvk.Kind, object, before)
}

// CheckUpdate returns the problems of an object of the named kind that replaces before, and changes the object as API
// servers would. A nil before means creation. It returns nil if API servers reject the schema.
func (s *Schema) CheckUpdate(name string, object, before map[string]any) []Problem {
	if s.prepare() != nil {
		return nil
	}
	c := &check{Schema: s, name: name, object: object, before: before, reported: map[string]bool{},
		misspelt: map[string]bool{}}
	c.unknown()
	s.setDefaults(object)
	c.values()
	if !slices.ContainsFunc(c.found, func(p Problem) bool { return p.Code == CodeValue }) {
		c.listsAndRules()
	}
	return c.found
}

func (s *Schema) setDefaults(object map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
}

// prepare computes the forms of the schema.
func (s *Schema) prepare() error {
	if s.made {
		return s.err
	}
	s.made = true
	s.props = &apiextensions.JSONSchemaProps{}
	s.err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.given, s.props, nil)
	if s.err == nil {
		s.structural, s.err = structuralschema.NewStructural(s.props)
	}
	if s.err == nil {
		_, s.openapi, s.err = validation.NewSchemaValidator(s.props)
	}
	if s.err == nil {
		s.rules = schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	}
	return s.err
}

// check is the check of one object.
type check struct {
	*Schema
	name   string
	object map[string]any
	before map[string]any
	found  []Problem
	// reported has the fields with a reported problem. misspelt has the names that unknown fields probably mean.
	reported, misspelt map[string]bool
}

// unknown reports fields that the schema does not have, and removes them.
func (c *check) unknown() {
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, name := range pruning.PruneWithOptions(c.object, c.structural, true, options) {
		hint := "remove it, or add it to the Go type"
		if near, ok := nearField(c.props, name); ok {
			hint = "did you mean " + near + "?"
			c.misspelt[strings.TrimSuffix(name, lastStep(name))+near] = true
		}
		c.found = append(c.found, Problem{
			Field: name, Code: CodeField, Hint: hint,
			Message: fmt.Sprintf("%s has no field %s, so API servers drop it", c.name, name),
		})
	}
}

// values reports values that the schema rejects.
func (c *check) values() {
	for _, problem := range validate.NewSchemaValidator(c.openapi, nil, "", strfmt.Default).Validate(c.object).Errors {
		name := ""
		if e, ok := errors.AsType[*openapierrors.Validation](problem); ok {
			name = e.Name
			if e.Code() == openapierrors.RequiredFailCode && c.misspelt[name] {
				continue // the field exists under another name
			}
		}
		if c.reported[name] || name == "" && len(c.reported) > 0 {
			continue // another message about the same problem
		}
		c.reported[name] = true
		c.found = append(c.found, Problem{
			Field: name, Code: CodeValue,
			Message: diagnostic.OneLine(strings.Replace(problem.Error(), name+" in body ", name+" ", 1)),
			Hint:    "write a value that the markers of the field allow, or omit the field if they allow none",
		})
	}
}

// listsAndRules reports duplicate list items and rules that are false.
func (c *check) listsAndRules() {
	for _, e := range objectmeta.Validate(context.Background(), nil, c.object, c.structural, false) {
		c.report(CodeValue, e, "write it like a separate object")
	}
	for _, e := range listtype.ValidateListSetsAndMaps(nil, c.structural, c.object) {
		c.report(CodeValue, e, "remove one of them")
	}
	if c.rules == nil {
		return
	}
	var before any
	if c.before != nil {
		before = c.before
	}
	found, _ := c.rules.Validate(context.Background(), nil, c.structural, c.object, before, celconfig.RuntimeCELCostBudget)
	for _, e := range found {
		c.report(CodeRule, e, "write values that the rule allows, or change the rule")
	}
}

func (c *check) report(code string, e *field.Error, hint string) {
	name := strings.TrimPrefix(e.Field, "<nil>")
	name = strings.TrimPrefix(name, ".")
	detail := e.Detail
	if e.Type == field.ErrorTypeDuplicate || detail == "" {
		detail = e.ErrorBody()
	}
	message := detail
	if name != "" {
		message = name + ": " + detail
	}
	c.found = append(c.found, Problem{Field: name, Code: code, Message: diagnostic.OneLine(message), Hint: hint})
}

// lastStep returns the name of the last field in a path.
func lastStep(name string) string {
	steps := Steps(name)
	if len(steps) == 0 {
		return ""
	}
	return steps[len(steps)-1]
}

// nearField returns the existing field with the most similar name.
func nearField(props *apiextensions.JSONSchemaProps, name string) (string, bool) {
	steps := Steps(name)
	at := props
	for _, step := range steps[:max(len(steps)-1, 0)] {
		next, found := at.Properties[step]
		switch {
		case found:
			at = &next
		case at.Items != nil && at.Items.Schema != nil:
			at = at.Items.Schema
		case at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
			at = at.AdditionalProperties.Schema
		}
	}
	var names []string
	for known := range at.Properties {
		names = append(names, known)
	}
	slices.Sort(names)
	return diagnostic.Near(lastStep(name), names)
}

// Steps splits the path of a field into keys, and indexes as digits.
func Steps(name string) []string {
	steps := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for i, step := range steps {
		if unquoted, err := strconv.Unquote(step); err == nil {
			steps[i] = unquoted
		}
	}
	return steps
}

// CheckText checks an object in YAML that a client sends, so its version must be served. It returns no problems for
// values that are not Kubernetes objects, and an error for values that cannot be decoded.
func (k *Kinds) CheckText(version, kind string, text []byte) ([]Problem, error) {
	gv, err := schema.ParseGroupVersion(version)
	if err != nil || !k.groups[gv.Group] {
		return nil, nil
	}
	var object map[string]any
	converted, err := sigsyaml.YAMLToJSON(text)
	if err == nil {
		err = utiljson.Unmarshal(converted, &object) // decodes whole numbers as integers
	}
	if err != nil {
		return nil, err
	}
	gvk := gv.WithKind(kind)
	if of := k.schemas[gvk]; of != nil && of.unserved {
		return []Problem{{
			Field: "apiVersion", Code: CodeKind, Message: fmt.Sprintf("API servers do not serve %s %s", gv, gvk.Kind),
			Hint: "use a version that is served, or delete the sample",
		}}, nil
	}
	return k.Check(gvk, object), nil
}

// Unexpected returns an error if an example that API servers must reject has no problems, or if no problem's message
// contains words. at is the position of the example.
func Unexpected(at token.Position, words string, problems []Problem) error {
	e := &diagnostic.Error{Pos: at, Code: CodeExample, Hint: "make the example invalid, or add the rule that rejects it"}
	if len(problems) == 0 {
		e.Message = "the example is valid, but is marked as invalid"
		return e
	}
	var messages []string
	for _, p := range problems {
		if strings.Contains(p.Message, words) {
			return nil
		}
		messages = append(messages, p.Message)
	}
	e.Message = fmt.Sprintf("the example is rejected, but not with %s: %s", diagnostic.Quote(words),
		strings.Join(messages, "; "))
	e.Hint = "write the words of the message, or change the example"
	return e
}
