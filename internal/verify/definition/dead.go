package definition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kube-openapi/pkg/validation/spec"
	openapi "k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/expression"
)

// Dead returns the parts of a CRD that API servers accept but that have no effect, or an effect other than the apparent
// one. It omits parts that are among the problems for which API servers reject the CRD.
func Dead(crd *apiextensionsv1.CustomResourceDefinition, refused []Problem) []Problem {
	var problems []Problem
	for i := range crd.Spec.Versions {
		v := &versionCheck{version: &crd.Spec.Versions[i], index: i}
		if s := v.version.Schema; s != nil && s.OpenAPIV3Schema != nil {
			v.schema = s.OpenAPIV3Schema
			v.columns()
			v.scale()
			v.status()
			v.keywords(v.schema, nil, nil)
		}
		problems = append(problems, v.found...)
	}
	return slices.DeleteFunc(append(problems, conversion(crd)...), func(d Problem) bool {
		return slices.ContainsFunc(refused, func(r Problem) bool {
			sameField := strings.TrimSuffix(r.Path.Field(), items) == strings.TrimSuffix(d.Path.Field(), items)
			return r.Code == d.Code && r.Path.Version == d.Path.Version && sameField && r.Path.Index == d.Path.Index
		})
	})
}

// versionCheck finds dead parts of one version.
type versionCheck struct {
	version *apiextensionsv1.CustomResourceDefinitionVersion
	schema  *apiextensionsv1.JSONSchemaProps
	index   int
	found   []Problem
}

// report adds a problem in a part of the version.
func (v *versionCheck) report(code, message, hint string, steps ...string) {
	path := Path{Steps: append([]string{"spec", "versions", strconv.Itoa(v.index)}, steps...), Version: v.index, Index: -1,
		Key: steps[0]}
	if len(steps) > 1 {
		path.Argument = steps[len(steps)-1]
		if i, err := strconv.Atoi(steps[1]); err == nil {
			path.Index = i
		}
	}
	v.found = append(v.found, Problem{Path: path, Code: code, Message: message, Hint: hint})
}

func (v *versionCheck) columns() {
	for i, column := range v.version.AdditionalPrinterColumns {
		if _, message, hint := v.resolve(column.JSONPath); message != "" {
			v.report(CodeColumn, message+": the column is always empty", hint, "additionalPrinterColumns", strconv.Itoa(i),
				"jsonPath")
		}
	}
}

func (v *versionCheck) scale() {
	if v.version.Subresources == nil || v.version.Subresources.Scale == nil {
		return
	}
	scale := v.version.Subresources.Scale
	paths := map[string]string{"specReplicasPath": scale.SpecReplicasPath, "statusReplicasPath": scale.StatusReplicasPath}
	types := map[string]string{"specReplicasPath": "integer", "statusReplicasPath": "integer",
		"labelSelectorPath": "string"}
	if scale.LabelSelectorPath != nil {
		paths["labelSelectorPath"] = *scale.LabelSelectorPath
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		at, message, hint := v.resolve(paths[name])
		if at != nil && at.Type != "" && at.Type != types[name] {
			message = fmt.Sprintf("%s has type %s, but must have type %s", paths[name], at.Type, types[name])
		}
		if message != "" {
			v.report(CodeScale, message+": the subresource scale does not work", hint, "subresources", "scale", name)
		}
	}
}

// status reports a status field without the status subresource, because clients can then write the status together with
// the spec. It also reports a status subresource without a status field in the schema.
func (v *versionCheck) status() {
	_, has := v.schema.Properties["status"]
	serves := v.version.Subresources != nil && v.version.Subresources.Status != nil
	switch {
	case has && !serves:
		v.report(CodeScale, "the schema has a status, but the version has no subresource status: clients write spec and "+
			"status together",
			"add +kubebuilder:subresource:status to the type, which is subresources: {status: {}}", "subresources")
	case serves && !has && !isTrue(v.schema.XPreserveUnknownFields) && len(v.schema.Properties) > 0:
		v.report(CodeScale, "the version serves the subresource status, but the schema has no status: API servers drop "+
			"writes to it",
			"add the field status, or remove the subresource", "subresources", "status")
	}
}

// keywords reports keywords that API servers ignore in a schema and its parts.
func (v *versionCheck) keywords(s *apiextensionsv1.JSONSchemaProps, object, steps []string) {
	if s == nil {
		return
	}
	report := func(code, key, message, hint string) {
		v.report(code, message, hint, append([]string{"schema", "openAPIV3Schema"}, append(slices.Clip(steps), key)...)...)
		last := &v.found[len(v.found)-1].Path
		last.InSchema, last.Object, last.Key, last.Argument, last.Index = true, object, key, "", -1
	}
	if s.Format != "" && !knownFormat(s.Type, s.Format) {
		report(CodeFormat, "format", fmt.Sprintf("unrecognized format %q: API servers ignore it", s.Format), formatHint)
	}
	for _, bound := range []struct {
		key   string
		value *float64
	}{{"minimum", s.Minimum}, {"maximum", s.Maximum}, {"multipleOf", s.MultipleOf}} {
		if bound.value != nil && openapi.IsValueValidAgainstRange(*bound.value, s.Type, s.Format, "", "") != nil {
			message := fmt.Sprintf("%.0f does not fit into %s: API servers reject each object that has the field",
				*bound.value, cmp.Or(s.Format, s.Type))
			report(CodeBound, bound.key, message, "use format int64, or a bound in its range")
		}
	}
	if s.XListType != nil && *s.XListType == "set" && s.Items != nil && s.Items.Schema != nil &&
		(s.Items.Schema.Type == "object" || s.Items.Schema.Type == "array") {
		report(CodeListKey, "x-kubernetes-list-type", fmt.Sprintf("set for items of type %s is not supported by "+
			"server-side apply and CEL", s.Items.Schema.Type),
			"write map with the key of the items, or atomic")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		v.keywords(&child, append(slices.Clip(object), name), append(slices.Clip(steps), "properties", name))
	}
	if s.Items != nil {
		v.keywords(s.Items.Schema, append(slices.Clip(object), expression.Items), append(slices.Clip(steps), "items"))
	}
	if s.AdditionalProperties != nil {
		v.keywords(s.AdditionalProperties.Schema, append(slices.Clip(object), expression.Values),
			append(slices.Clip(steps), "additionalProperties"))
	}
}

const formatHint = "remove it, or check the value with a pattern or a validation rule"

// knownFormat reports whether API servers support a format for a type.
func knownFormat(kind, format string) bool {
	schema := &spec.Schema{SchemaProps: spec.SchemaProps{Format: format, Type: []string{kind}}}
	return len(validation.GetUnrecognizedFormats(schema, environment.DefaultCompatibilityVersion())) == 0
}

// resolve returns the schema of the field at a path. If there is no such field, it returns the problem and a hint. It
// returns nil and no problem if the field may exist.
func (v *versionCheck) resolve(path string) (at *apiextensionsv1.JSONSchemaProps, message, hint string) {
	steps, ok := fieldsOf(path)
	if !ok || len(steps) > 0 && slices.Contains([]string{"metadata", "apiVersion", "kind"}, steps[0]) {
		return nil, "", ""
	}
	at = v.schema
	for _, step := range steps {
		next, open := below(at, step)
		if open {
			return nil, "", ""
		}
		if next == nil {
			known := slices.Sorted(maps.Keys(at.Properties))
			if near, ok := diagnostic.Near(step, known); ok {
				hint = "did you mean " + near + "?"
			} else if len(known) > 0 {
				hint = "the fields here are " + diagnostic.Cut(strings.Join(known, ", "))
			}
			return nil, fmt.Sprintf("%s: the schema has no field %s", path, step), hint
		}
		at = next
	}
	return at, "", ""
}

// items is the path step into a list: an index, a filter or a wildcard.
const items = "[]"

// fieldsOf splits a path. It returns false for recursive descent, unions and other parts that may match any field.
func fieldsOf(path string) (steps []string, ok bool) {
	parser, err := jsonpath.Parse("path", "{"+path+"}")
	if err != nil || len(parser.Root.Nodes) != 1 {
		return nil, false
	}
	list, isList := parser.Root.Nodes[0].(*jsonpath.ListNode)
	if !isList {
		return nil, false
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *jsonpath.FieldNode:
			if node.Value != "" {
				steps = append(steps, node.Value)
			}
		case *jsonpath.ArrayNode, *jsonpath.FilterNode:
			steps = append(steps, items)
		default:
			return nil, false
		}
	}
	return steps, true
}

// below returns the schema of a child, or nil. open is true if the schema allows any value there.
func below(s *apiextensionsv1.JSONSchemaProps, step string) (child *apiextensionsv1.JSONSchemaProps, open bool) {
	if isTrue(s.XPreserveUnknownFields) || s.XEmbeddedResource || s.XIntOrString {
		if known, found := s.Properties[step]; found {
			return &known, false
		}
		return s, true
	}
	switch {
	case step == items && s.Items != nil:
		return s.Items.Schema, s.Items.Schema == nil
	case step == items:
		return nil, s.AdditionalProperties != nil
	}
	if known, found := s.Properties[step]; found {
		return &known, false
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema, s.AdditionalProperties.Schema == nil
	}
	return nil, false
}

func isTrue(b *bool) bool { return b != nil && *b }

// conversion reports fields that are lost between versions if the conversion strategy is None. It ignores a CRD without
// a strategy, because patches of a kustomization may set it.
func conversion(crd *apiextensionsv1.CustomResourceDefinition) []Problem {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
		return nil
	}
	versions := crd.Spec.Versions
	at := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if at < 0 {
		return nil
	}
	stored := versions[at]
	var problems []Problem
	for i, v := range versions {
		if i == at || !v.Served || v.Schema == nil || stored.Schema == nil {
			continue
		}
		field, why := lost(v.Schema.OpenAPIV3Schema, stored.Schema.OpenAPIV3Schema, "")
		if field == "" {
			continue
		}
		problems = append(problems, Problem{
			Path: Path{Steps: []string{"spec", "conversion", "strategy"}, Version: -1, Index: -1},
			Code: CodeConversion,
			Message: fmt.Sprintf("the conversion strategy is None, but %s of %s %s in %s, the storage version: API servers "+
				"drop it", field, v.Name, why, stored.Name),
			Hint: "convert with a webhook, or give the versions the same fields",
		})
	}
	return problems
}

// lost returns the first field of a schema that another schema does not have, or has with another type.
func lost(from, to *apiextensionsv1.JSONSchemaProps, path string) (field, why string) {
	if from == nil || to == nil || isTrue(to.XPreserveUnknownFields) || isTrue(from.XPreserveUnknownFields) {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(from.Properties)) {
		child := from.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		other, found := to.Properties[name]
		switch {
		case !found:
			return at, "is not"
		case child.Type != other.Type && !child.XIntOrString && !other.XIntOrString:
			return at, "has another type"
		}
		if field, why := lost(&child, &other, at); field != "" {
			return field, why
		}
	}
	if from.Items != nil && to.Items != nil {
		return lost(from.Items.Schema, to.Items.Schema, path+"[]")
	}
	return "", ""
}
