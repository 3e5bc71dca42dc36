package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

const (
	samplesFolder = "config/samples"
	crdFolder     = "config/crd/bases"
)

// checkSamples validates the objects of config/samples as API servers would that have the CRDs of the project.
func checkSamples(ctx context.Context, p *Project) []Finding {
	generated, err := p.generated(ctx)
	if err != nil {
		return nil
	}
	kinds, err := p.kinds(generated)
	if err != nil {
		return problems(err)
	}
	names, err := yamlFiles(generated, samplesFolder)
	if err != nil {
		return problems(err)
	}
	var found []Finding
	for _, name := range names {
		text, err := generated.Read(name)
		if err != nil {
			found = append(found, problems(err)...)
			continue
		}
		docs, err := edit.Documents(text)
		if err != nil {
			found = append(found, problems(diagnostic.YAML(name, text, err, "repair it"))...)
			continue
		}
		for _, doc := range docs {
			found = append(found, problems(kinds.check(name, doc.Content[0]))...)
		}
	}
	return found
}

// yamlFiles returns the YAML files of a folder and those below it, but kustomizations, on disk or planned.
func yamlFiles(p *plan.Plan, folder string) ([]string, error) {
	var names []string
	add := func(name string) {
		base := path.Base(name)
		isYAML := path.Ext(base) == ".yaml" || path.Ext(base) == ".yml"
		if isYAML && strings.TrimSuffix(base, path.Ext(base)) != "kustomization" {
			names = append(names, name)
		}
	}
	err := fs.WalkDir(p.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.Type().IsRegular():
			add(name)
		}
		return nil
	})
	for c := range p.Files() {
		if strings.HasPrefix(c.Path, folder+"/") {
			add(c.Path)
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		_, err := p.Read(name)
		return errors.Is(err, fs.ErrNotExist)
	})
	return names, err
}

// kinds are what the CRDs of a project say of its kinds.
type kinds struct {
	schemas map[schema.GroupVersionKind]kindSchema
	groups  map[string]bool
}

// kindSchema is the schema of one version of a kind: in the form that fields are dropped and defaulted by, and in that which checks
// values, of the same libraries as those of API servers.
type kindSchema struct {
	props  *apiextensions.JSONSchemaProps
	values *spec.Schema
}

// kinds reads the CRDs of the project, as they are to be.
func (p *Project) kinds(generated *plan.Plan) (*kinds, error) {
	all := &kinds{map[schema.GroupVersionKind]kindSchema{}, map[string]bool{}}
	names, err := yamlFiles(generated, crdFolder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := generated.Read(name)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := sigsyaml.Unmarshal(text, &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
			continue // generated CRDs are right, and others are none of kctrl's
		}
		all.groups[crd.Spec.Group] = true
		for _, v := range crd.Spec.Versions {
			if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
				continue
			}
			props := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil); err != nil {
				return nil, diagnostic.AtFile(name, "cannot read the schema", err)
			}
			values, err := valuesOf(v.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, diagnostic.AtFile(name, "cannot read the schema", err)
			}
			all.schemas[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = kindSchema{props, values}
		}
	}
	return all, nil
}

// check validates one object, and returns what is wrong with where it stands. Objects of kinds that are not the project's are right.
func (k *kinds) check(file string, node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	gv, err := schema.ParseGroupVersion(scalarOf(node, "apiVersion"))
	kind := gv.WithKind(scalarOf(node, "kind"))
	if err != nil || !k.groups[kind.Group] {
		return nil
	}
	of, found := k.schemas[kind]
	if !found {
		return &diagnostic.Error{
			Pos:     edit.Position(file, cmp.Or(yamlnode.Value(node, "kind"), node)),
			Message: fmt.Sprintf("no CRD of the project has %s %s", gv, kind.Kind),
			Hint:    "name a kind and a version that there is, or delete the sample",
		}
	}
	var object map[string]any
	text, err := yaml.Marshal(node)
	if err == nil {
		text, err = sigsyaml.YAMLToJSON(text)
	}
	if err == nil {
		err = utiljson.Unmarshal(text, &object) // with whole numbers as they are
	}
	if err != nil {
		return diagnostic.AtFile(file, "cannot read", err)
	}
	structural, err := structuralschema.NewStructural(of.props)
	if err != nil {
		return nil // of which the check of markers has said why
	}
	var errs []error
	unknown := pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	told, misspelt := map[string]bool{}, map[string]bool{}
	for _, field := range unknown {
		hint := "take it out, or add it to the Go type"
		if near, ok := nearField(of.props, field); ok {
			hint = "did you mean " + near + "?"
			misspelt[strings.TrimSuffix(field, lastStep(field))+near] = true
		}
		errs = append(errs, &diagnostic.Error{
			Pos:     edit.Position(file, nodeAt(node, field)),
			Message: fmt.Sprintf("%s has no field %s, so that API servers drop it", kind.Kind, field),
			Hint:    hint,
		})
	}
	setDefaults(object, structural)
	for _, problem := range validate.NewSchemaValidator(of.values, nil, "", strfmt.Default).Validate(object).Errors {
		name := ""
		if e, ok := errors.AsType[*openapierrors.Validation](problem); ok {
			name = e.Name
			if e.Code() == openapierrors.RequiredFailCode && misspelt[name] {
				continue // it is there, under another name
			}
		}
		if told[name] || name == "" && len(told) > 0 {
			continue // the same in other words
		}
		told[name] = true
		errs = append(errs, &diagnostic.Error{
			Pos:     edit.Position(file, nodeAt(node, name)),
			Message: diagnostic.OneLine(strings.Replace(problem.Error(), name+" in body ", name+" ", 1)),
			Hint:    "write a value that the markers of the field allow, or leave it out where they do not want one",
		})
	}
	return errors.Join(errs...)
}

// valuesOf returns a schema of a CRD in the form that values are checked by.
func valuesOf(props *apiextensionsv1.JSONSchemaProps) (*spec.Schema, error) {
	var tree map[string]any
	text, err := json.Marshal(props)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		return nil, err
	}
	allowBoth(tree)
	if text, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	values := &spec.Schema{}
	return values, json.Unmarshal(text, values)
}

// allowBoth has schemas of integers or strings say so in the way of JSON schemas.
func allowBoth(node any) {
	switch node := node.(type) {
	case map[string]any:
		if node["x-kubernetes-int-or-string"] == true {
			node["type"] = []string{"integer", "string"}
		}
		for _, child := range node {
			allowBoth(child)
		}
	case []any:
		for _, child := range node {
			allowBoth(child)
		}
	}
}

// setDefaults fills in what is left out and has a default, as API servers do before they validate.
func setDefaults(value any, s *structuralschema.Structural) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			old, found := value[name]
			if property.Default.Object != nil && (!found || old == nil && !property.Nullable) {
				value[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
			setDefaults(value[name], &property)
		}
		if s.AdditionalProperties != nil {
			for name, child := range value {
				if _, known := s.Properties[name]; !known {
					setDefaults(child, s.AdditionalProperties.Structural)
				}
			}
		}
	case []any:
		for _, child := range value {
			setDefaults(child, s.Items)
		}
	}
}

func scalarOf(node *yaml.Node, key string) string {
	if value := yamlnode.Value(node, key); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// lastStep returns the name of the field that a path ends in.
func lastStep(name string) string {
	steps := stepsOf(name)
	return steps[len(steps)-1]
}

// nearField names the field that was meant, beside those that the path leads to.
func nearField(props *apiextensions.JSONSchemaProps, name string) (string, bool) {
	steps := stepsOf(name)
	at := props
	for _, step := range steps[:len(steps)-1] {
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

// stepsOf takes the path of a field apart: keys, and indexes as their digits.
func stepsOf(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// nodeAt returns the node that a path of a field leads to, or the last one on the way that there is: a key that is missing is told of
// at what should have it.
func nodeAt(node *yaml.Node, name string) *yaml.Node {
	for _, step := range stepsOf(name) {
		var next *yaml.Node
		switch node.Kind {
		case yaml.MappingNode:
			if i := yamlnode.Index(node, step, 0); i >= 0 {
				next = node.Content[i+1]
				if next.Kind == yaml.MappingNode || next.Kind == yaml.SequenceNode {
					next.Line, next.Column = node.Content[i].Line, node.Content[i].Column
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(step); err == nil && i < len(node.Content) {
				next = node.Content[i]
			}
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

// position returns the place of a line in a file.
func position(name string, line int) token.Position {
	return token.Position{Filename: name, Line: line}
}
